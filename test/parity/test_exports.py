"""The same scene exported by the official code and by ours: the same points, colours, cameras, lines and Gaussians."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from glb_reader import arrays
from plyfile import PlyData
from wall import PICTURE, two_views

from depth_anything_ros.export.colmap import write_colmap
from depth_anything_ros.export.gaussians import write_gaussians
from depth_anything_ros.export.glb import write_glb
from depth_anything_ros.export.views import View
from depth_anything_ros.types import DepthKind, Gaussians, Prediction, Timings

pytestmark = pytest.mark.parity

ROOT = Path(__file__).parents[2]
BOUND = 1e-6
"""Of coordinates of some metres: float32."""


@pytest.fixture(scope="module")
def views() -> list[View]:
    return two_views().views


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory, views: list[View]) -> Path:
    folder = tmp_path_factory.mktemp("official")
    k = views[0].intrinsics
    np.savez(
        folder / "scene.npz",
        depth=np.stack([view.depth for view in views]),
        conf=np.stack([view.confidence for view in views]),
        processed_images=np.stack([view.pixels for view in views]),
        intrinsics=np.stack([[[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]]] * len(views)),
        extrinsics=np.stack([view.camera_from_world for view in views]),
        picture_size=PICTURE,
        names=[view.name for view in views],
    )
    run_official("official_exports.py", folder / "scene.npz", folder)
    return folder


def run_official(script: str, *arguments: Path) -> None:
    python = ROOT / ".local" / "parity" / "bin" / "python"
    command = [str(python), str(ROOT / "tools/reference" / script), *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def segments(vertices: np.ndarray) -> np.ndarray:
    """float32 [n, 2, 3] of line ends, in an order of their own: libraries change order and direction."""
    ends = vertices.reshape(-1, 2, 3)
    ends = np.array([sorted(pair, key=tuple) for pair in np.round(ends, 4).tolist()])
    return ends[np.lexsort(ends.reshape(-1, 6).T)]


def test_glb(tmp_path: Path, official: Path, views: list[View]) -> None:
    write_glb(tmp_path / "scene.glb", views)
    (_, their_points, their_colours), *their_cameras = arrays(official / "scene.glb")
    (_, our_points, our_colours), *our_cameras = arrays(tmp_path / "scene.glb")
    np.testing.assert_allclose(our_points, their_points, atol=BOUND)
    np.testing.assert_array_equal(our_colours, their_colours)
    assert len(our_cameras) == len(their_cameras) == 2
    for (_, theirs, their_colour), (_, ours, our_colour) in zip(their_cameras, our_cameras):
        np.testing.assert_allclose(segments(ours), segments(theirs), atol=1e-4)
        assert len(segments(ours)) == 8
        np.testing.assert_array_equal(our_colour, their_colour)


def test_colmap(tmp_path: Path, official: Path, views: list[View]) -> None:
    write_colmap(tmp_path, views)
    theirs, ours = (pycolmap.Reconstruction(str(folder)) for folder in (official, tmp_path))
    assert sorted(ours.points3D) == sorted(theirs.points3D) and len(ours.points3D) > 400
    for number, point in theirs.points3D.items():
        np.testing.assert_allclose(ours.points3D[number].xyz, point.xyz, atol=BOUND)
        np.testing.assert_array_equal(ours.points3D[number].color, point.color)
    assert sorted(ours.images) == sorted(theirs.images) == [1, 2]
    for number, image in theirs.images.items():
        own = ours.images[number]
        assert own.name == image.name
        np.testing.assert_allclose(own.cam_from_world().matrix(), image.cam_from_world().matrix(), atol=1e-12)
        np.testing.assert_allclose(ours.cameras[number].params, theirs.cameras[number].params, rtol=1e-12)
        assert [(point.point3D_id, *point.xy) for point in own.points2D] == [(point.point3D_id, *point.xy) for point in image.points2D]


def test_gaussians(tmp_path: Path) -> None:
    views, height, width = 2, 40, 70
    random = np.random.default_rng(3)
    count = views * height * width
    depth = random.random((views, height, width)).astype(np.float32) + 0.5
    shapes = {"means": (3,), "scales": (3,), "rotations": (4,), "harmonics": (3, 9), "opacities": ()}
    values = {name: random.random((count, *shape)).astype(np.float32) * 0.9 + 0.05 for name, shape in shapes.items()}
    np.savez(tmp_path / "gaussians.npz", depth=depth, **values)
    run_official("official_gaussian_ply.py", tmp_path / "gaussians.npz", tmp_path / "theirs.ply")
    parts = [{name: array[view * height * width :][: height * width] for name, array in values.items()} for view in range(views)]
    predictions = [
        Prediction(DepthKind.RELATIVE_DEPTH, own, None, None, None, None, Timings(0.0, 0.0, 0.0), {}, None, Gaussians(kind, **part))
        for own, part, kind in zip(depth, parts, [DepthKind.RELATIVE_DEPTH] * views)
    ]
    write_gaussians(tmp_path / "ours.ply", predictions)
    theirs, ours = (PlyData.read(tmp_path / name)["vertex"].data for name in ("theirs.ply", "ours.ply"))
    assert ours.dtype == theirs.dtype and len(ours) == len(theirs) > 4000
    for name in ours.dtype.names:
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-5)
