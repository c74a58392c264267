"""Files that `infer` writes for one picture."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from depth_anything_ros.cli.exports import EXPORTS
from depth_anything_ros.colors import colourise, shade
from depth_anything_ros.depth import to_millimetres
from depth_anything_ros.errors import OptionError
from depth_anything_ros.export.views import view_of
from depth_anything_ros.files import write_file, write_pfm, write_png
from depth_anything_ros.geometry import network_intrinsics
from depth_anything_ros.types import DepthKind, Products


def write_results(files: dict[str, Path], products: Products, picture: str) -> None:
    """files: format to path. products: with depth. picture: its name in the exports."""
    for name, file in files.items():
        if name in WRITERS:
            WRITERS[name](file, products)
        else:
            EXPORTS[name](file, [view_of(products.frame, products.prediction, picture)])


def _color(path: Path, products: Products) -> None:
    paint = shade if products.prediction.kind is DepthKind.RELATIVE_INVERSE_DEPTH else colourise
    write_png(path, paint(products.depth))


def _npz(path: Path, products: Products) -> None:
    maps = {"depth": products.depth, "confidence": products.confidence, "sky_mask": products.sky_mask}
    data = io.BytesIO()
    np.savez_compressed(data, unit=_unit(products), **{name: one for name, one in maps.items() if one is not None})
    write_file(path, data.getvalue())


def _pfm(path: Path, products: Products) -> None:
    write_pfm(path, products.depth)


def _mm(path: Path, products: Products) -> None:
    if not products.metric:
        raise OptionError("option.range", f"{path.name}: format mm needs metres; the model gave {products.prediction.kind.value}.")
    write_png(path, to_millimetres(products.depth))


def _pose(path: Path, products: Products) -> None:
    prediction = products.prediction
    if prediction.intrinsics is None or prediction.extrinsics is None:
        raise OptionError("option.range", f"{path.name}: this model estimates no camera.")
    height, width = products.depth.shape
    pose = {
        "unit": _unit(products),
        "intrinsics": asdict(network_intrinsics(prediction.intrinsics, width, height)),
        "camera_from_world": prediction.extrinsics.tolist(),
    }
    write_file(path, json.dumps(pose, indent=1).encode())


def _unit(products: Products) -> str:
    return "metre" if products.metric else products.prediction.kind.value


WRITERS: dict[str, Callable[[Path, Products], None]] = {"color": _color, "npz": _npz, "pfm": _pfm, "mm": _mm, "pose": _pose}
"""By format; each takes its path, and the products."""
