"""Near is small in relative depth and large in inverse depth, through the engine, the pipeline and the files.

No trained weights are at hand, so networks are built whose answer is known: one channel carries the brightness of each patch through blocks
that pass everything on, to an output that falls (Depth Anything 3) or rises (V2) with it. The scene is lit from the camera: near is bright.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from toy_model import SMALLEST_ANY_VIEW

from depth_anything_ros import DepthKind, Engine
from depth_anything_ros.cli import main
from depth_anything_ros.convert.hyper_parameters import HyperParameters, Identity, Size, depth_anything_v2
from depth_anything_ros.convert.layout import TensorSpec, metadata, tensors
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.pipeline import ProcessingOptions, WantedProducts, process
from depth_anything_ros.types import Frame

pytestmark = pytest.mark.native

V2 = depth_anything_v2(
    Size(32, 4, 2, (0, 1, 2, 3), 8, (4, 4, 8, 8), pos_embed_grid=5), Identity("built-v2", "relative_inverse_depth", "CC0-1.0")
)
SLOPES = {"da3": -0.1, "v2": 0.1}
"""Of the output over brightness."""
NETWORKS = {"da3": SMALLEST_ANY_VIEW, "v2": V2}
KINDS = {"da3": DepthKind.RELATIVE_DEPTH, "v2": DepthKind.RELATIVE_INVERSE_DEPTH}
IDENTITIES = ("head.resize.3", "head.scratch.layer", "head.scratch.out")
NEAR_BOX, FAR_WALL = (slice(40, 80), slice(50, 90)), (slice(0, 20), slice(0, 140))
"""Rows and columns of the scene, which is 140 x 112."""


def built(spec: TensorSpec, slope: float) -> np.ndarray:
    """Values of one tensor, in the shape of PyTorch."""
    values = np.zeros(spec.shape, np.float32)
    part = spec.name.rpartition(".")[2]
    if "norm" in spec.name and part == "weight":
        values[:] = 1.0
    elif spec.name == "vit.patch_embed.weight":  # brightness up in one channel and down in another: their mean stays zero
        values[0], values[1] = 1.0 / values[0].size, -1.0 / values[0].size
    elif spec.name == "vit.patch_embed.bias":
        values[2::2], values[3::2] = 3.0, -3.0
    elif spec.name.startswith("head.proj.") and part == "weight":
        values[0, -SMALLEST_ANY_VIEW.embed_dim] = 1.0  # of the last features
    elif spec.name.startswith("head.proj."):
        values[0] = 5.0  # what follows cuts negative values off
    elif spec.name in ("head.resize.0.weight", "head.resize.1.weight"):
        values[0, 0] = 1.0
    elif spec.name.endswith("out2b.weight"):
        values[0, 0] = slope
    elif spec.name.endswith("out2b.bias"):
        values[0] = 1.0
    elif (part == "weight" and spec.name.startswith(IDENTITIES)) or ".out.weight" in spec.name:
        values[0, 0, values.shape[2] // 2, values.shape[3] // 2] = 1.0
    return values


@pytest.fixture(params=NETWORKS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str, tmp_path: Path) -> Path:
    return write(name, tmp_path)


def write(name: str, folder: Path) -> Path:
    parameters: HyperParameters = NETWORKS[name]
    path = folder / f"{name}.gguf"
    arrays: Iterator[np.ndarray] = (built(spec, SLOPES[name]) for spec in tensors(parameters))
    write_model(path, metadata(parameters), list(tensors(parameters)), arrays)
    return path


def scene() -> np.ndarray:
    """uint8 [112, 140, 3]: a wall at 4 m and a box at 1 m, as bright as they are near."""
    z = np.full((112, 140), 4.0)
    z[NEAR_BOX] = 1.0
    return np.repeat((255.0 / z).astype(np.uint8)[:, :, np.newaxis], 3, axis=2)


def near_and_far(values: np.ndarray) -> tuple[float, float]:
    values = cv2.resize(values, (140, 112))
    return float(np.median(values[NEAR_BOX])), float(np.median(values[FAR_WALL]))


def test_the_engine_gives_what_its_kind_says(name: str, model: Path) -> None:
    with Engine.load(model, threads=1, resolution=112 if name == "v2" else 140) as engine:
        prediction = engine.infer(scene())
    near, far = near_and_far(prediction.depth)
    assert prediction.kind is KINDS[name]
    assert (1.05 * near < far) if name == "da3" else (near > 1.05 * far), (near, far)


@pytest.mark.case(28)
def test_inverse_depth_gives_no_metres_and_no_points(name: str, model: Path) -> None:
    camera = centred_intrinsics(100.0, 140, 112)
    with Engine.load(model, threads=1, resolution=112) as engine:
        options = ProcessingOptions(scale_source="constant", scale_value=2.0)
        products = process(Frame(scene(), False, camera, 0, ""), engine, options, WantedProducts(depth=True, points=True))
    assert products.metric is (name == "da3") and (products.points is not None) is (name == "da3")
    near, far = near_and_far(products.depth)
    assert (near < far) is (name == "da3")


def test_near_has_the_same_colour_in_both(tmp_path: Path) -> None:
    picture = tmp_path / "scene.png"
    cv2.imwrite(str(picture), scene())
    colours = {}
    for name in NETWORKS:
        size = "112" if name == "v2" else "140"
        assert main(["infer", str(picture), "--model", str(write(name, tmp_path)), "-o", str(tmp_path / name), "--resolution", size]) == 0
        painted = cv2.imread(str(tmp_path / name / "scene_depth.png")).astype(float)
        colours[name] = {"near": painted[NEAR_BOX].mean(axis=(0, 1)), "far": painted[FAR_WALL].mean(axis=(0, 1))}
    apart = {name: np.linalg.norm(painted["near"] - painted["far"]) for name, painted in colours.items()}
    assert min(apart.values()) > 60.0, colours
    assert np.linalg.norm(colours["da3"]["near"] - colours["v2"]["near"]) < 0.2 * min(apart.values()), colours


@pytest.mark.parametrize("form", ["mm", "glb", "ply", "colmap", "colmap-text"])
def test_files_of_metres_and_points_are_refused(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "scene.png"
    cv2.imwrite(str(picture), scene())
    model = write("v2", tmp_path)
    assert main(["infer", str(picture), "--model", str(model), "-o", str(tmp_path / "out"), "--focal", "100", "--formats", form]) == 2
    assert "inverse" in capsys.readouterr().err and list((tmp_path / "out").iterdir()) == []
