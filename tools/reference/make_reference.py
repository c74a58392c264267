"""Makes the checked-in reference tensors of the tiny networks from the official code: make_reference.py [FOLDER]

FOLDER (default test/data/reference) gets one .npz per case and manifest.json. Run in the parity environment, from the repository root.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import family_cases
import numpy as np
import official
import official_v2
import official_views
import torch
from numpy.typing import NDArray

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import HyperParameters, Size, with_pose_encoder
from depth_anything_ros.convert.seeded import (
    SEEDED_ANY_VIEW,
    SEEDED_METRIC,
    SEEDED_MONO,
    SEEDED_RAYS,
    SEEDED_SWIGLU,
    SEEDED_V2,
    SEEDED_V2_METRIC,
    write_seeded,
)

SEED = 7
RESOLUTION = 98
V2_RESOLUTION = 70
"""Of the short side: pictures of 150x100 and 100x138 become 112x70 and 70x98."""
NETWORKS = {
    "any_view": SEEDED_ANY_VIEW,
    "mono": SEEDED_MONO,
    "swiglu": SEEDED_SWIGLU,
    "optional_parts": with_pose_encoder(SEEDED_RAYS),
}
ARCHITECTURES = {"swiglu": "any_view", "optional_parts": "any_view"}
"""Name of the architecture where it is not that of the network."""
V2_NETWORKS = {"v2": SEEDED_V2, "v2_metric": SEEDED_V2_METRIC}
V2_CASES = {"v2": "landscape", "v2_metric": "portrait"}
VIEWS_RESOLUTION = 56
LANDSCAPE, PORTRAIT = (80, 60), (60, 80)
VIEWS = {"views_two": (SEEDED_SWIGLU, [LANDSCAPE] * 2), "views_four": (SEEDED_ANY_VIEW, [LANDSCAPE] * 3 + [PORTRAIT])}
"""Networks and the sizes of the pictures that they see together; those of different orientation are cropped to 42x42."""
CASES = dict.fromkeys(("any_view", "mono"), ("landscape", "portrait")) | {"swiglu": ("portrait",)}
"""Network to the pictures that it is given."""
SQUARE = ("any_view", "mono")
PICTURES = {"landscape": (150, 100), "portrait": (100, 138)}
"""Width and height; they are processed to 98x70 and 70x98 by an area resize, the first through a second, cubic one."""
SQUARE_PATCHES = 37
"""Patches per side of the square case, where the position table is used as it is."""
SQUARE_TOKEN_STRIDE = 34
"""One token in so many is kept of the square case."""


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    models = {name: _model_sha256(name, parameters) for name, parameters in NETWORKS.items()}
    rounding = {}
    for name in SQUARE:
        np.savez_compressed(folder / f"{name}_square.npz", patch_tokens=_square_tokens(NETWORKS[name]))
    for name, orientations in CASES.items():
        for orientation in orientations:
            case = f"{name}_{orientation}"
            rounding[case] = _write_case(folder / f"{case}.npz", NETWORKS[name], official.picture(PICTURES[orientation]))
    for name, orientation in V2_CASES.items():
        case = f"{name}_{orientation}"
        models[name] = _seeded_sha256(V2_NETWORKS[name])
        rounding[case] = _write_v2_case(folder / f"{case}.npz", V2_NETWORKS[name], official.picture(PICTURES[orientation]))
    _write_views(folder)
    rounding["rays"] = _write_rays(folder)
    family_cases.write(folder, SEED)
    _write_manifest(folder, models, rounding)


def _write_case(path: Path, parameters: HyperParameters, picture: NDArray[np.uint8]) -> dict[str, float]:
    """Write what the official code makes of a picture; gives its own rounding errors."""
    net = official.network(parameters, SEED)
    pixels = official.processed(picture, RESOLUTION)
    x = official.normalised(pixels, parameters)
    found = official.forward(net, x)
    np.savez_compressed(path, picture=picture, processed=pixels, **found)
    return {name: float(f"{error:.2g}") for name, error in official.rounding(net, x, found).items()}


def _write_v2_case(path: Path, parameters: HyperParameters, picture: NDArray[np.uint8]) -> dict[str, float]:
    net = official_v2.network(parameters, SEED)
    x = official_v2.normalised(net, picture, V2_RESOLUTION)
    found = official_v2.forward(net, x, parameters)
    np.savez_compressed(path, picture=picture, **found)
    return {name: float(f"{error:.2g}") for name, error in official_v2.rounding(net, x, found, parameters).items()}


def _write_views(folder: Path) -> None:
    nets = {name: (official.network(parameters, SEED), sizes) for name, (parameters, sizes) in VIEWS.items()}
    nets["nested"] = official_views.pair(SEEDED_ANY_VIEW, SEEDED_METRIC, SEED), [LANDSCAPE] * 2
    for name, (net, sizes) in nets.items():
        shots = official_views.pictures(sizes)
        found = official_views.forward(net, official_views.normalised(shots, VIEWS_RESOLUTION, SEEDED_ANY_VIEW))
        given = {f"picture_{number}": shot for number, shot in enumerate(shots)}
        np.savez_compressed(folder / f"{name}.npz", **given, **found)


def _write_rays(folder: Path) -> dict[str, float]:
    picture = official.picture(LANDSCAPE)
    x = official.normalised(official.processed(picture, VIEWS_RESOLUTION), SEEDED_RAYS)
    net = official.network(SEEDED_RAYS, SEED)
    found = official.rays(net, x)
    np.savez_compressed(folder / "rays.npz", picture=picture, **found)
    official.in_float64(net)
    exact = official.rays(net, x.double())
    return {name: float(f"{official.worst_error(name, found[name], exact[name]):.2g}") for name in found}


def _square_tokens(parameters: HyperParameters) -> NDArray[np.float32]:
    """Some of the tokens of a flat grey picture of 37 x 37 patches."""
    side = SQUARE_PATCHES * parameters.patch_size
    pixels = np.full((side, side, 3), 128, np.uint8)
    tokens = official.forward(official.network(parameters, SEED), official.normalised(pixels, parameters))["patch_tokens"]
    return tokens[::SQUARE_TOKEN_STRIDE]


def _model_sha256(name: str, parameters: HyperParameters) -> str:
    """SHA-256 of the GGUF file that the converter makes of the official checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder)
        official.save_checkpoint(official.network(parameters, SEED), checkpoint / "model.safetensors")
        size = {field.name: getattr(parameters, field.name) for field in fields(Size)}
        identity = {key: getattr(parameters, key) for key in ("checkpoint_name", "depth_kind", "license")}
        config = {"hyper_parameters": {"architecture": ARCHITECTURES.get(name, name), **identity, **size}}
        (checkpoint / "config.json").write_text(json.dumps(config))
        options = {"rays": parameters.head_has_rays is not None, "pose_encoder": parameters.pose_encoder}
        convert(checkpoint, checkpoint / "model.gguf", **options)
        return _sha256(checkpoint / "model.gguf")


def _seeded_sha256(parameters: HyperParameters) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write_seeded(path, parameters, SEED)
        return _sha256(path)


def _write_manifest(folder: Path, models: dict[str, str], rounding: dict[str, dict[str, float]]) -> None:
    packages = ("torch", "depth-anything-3", "jkp-depth-anything-v2", "numpy", "opencv-python-headless", "scikit-image")
    manifest = {
        "made_by": "tools/reference/make_reference.py",
        "seed": SEED,
        "resolution": RESOLUTION,
        "v2_resolution": V2_RESOLUTION,
        "views_resolution": VIEWS_RESOLUTION,
        "square_token_stride": SQUARE_TOKEN_STRIDE,
        "family": {
            "resolution": family_cases.RESOLUTION,
            "choice_seed": family_cases.CHOICE_SEED,
            "cases": {name: case.options for name, case in family_cases.CASES.items()},
        },
        "versions": {package: version(package) for package in packages},
        "models": models,
        "rounding": rounding,
        "files": {path.name: _sha256(path) for path in sorted(folder.glob("*.npz"))},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "test/data/reference"))
