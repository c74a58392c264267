"""Files that `infer` writes for one picture, by format. Each takes the path without suffix, and the products with depth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from depth_anything_ros.colors import colourise, shade
from depth_anything_ros.depth import to_millimetres
from depth_anything_ros.errors import OptionError
from depth_anything_ros.files import write_file, write_pfm, write_png
from depth_anything_ros.types import DepthKind, Products


def _color(stem: Path, products: Products) -> None:
    paint = shade if products.prediction.kind is DepthKind.RELATIVE_INVERSE_DEPTH else colourise
    write_png(Path(f"{stem}_depth.png"), paint(products.depth))


def _npz(stem: Path, products: Products) -> None:
    maps = {"depth": products.depth, "confidence": products.confidence, "sky_mask": products.sky_mask}
    unit = "metre" if products.metric else products.prediction.kind.value
    np.savez_compressed(f"{stem}.npz", unit=unit, **{name: one for name, one in maps.items() if one is not None})


def _pfm(stem: Path, products: Products) -> None:
    write_pfm(Path(f"{stem}.pfm"), products.depth)


def _mm(stem: Path, products: Products) -> None:
    if not products.metric:
        raise OptionError("option.range", f"Format mm needs metres; the model gave {products.prediction.kind.value}.")
    write_png(Path(f"{stem}_mm.png"), to_millimetres(products.depth))


def _pose(stem: Path, products: Products) -> None:
    prediction = products.prediction
    if prediction.intrinsics is None or prediction.extrinsics is None:
        raise OptionError("option.range", "Format pose: this model estimates no camera.")
    pose = {"intrinsics": asdict(prediction.intrinsics), "camera_from_world": prediction.extrinsics.tolist()}
    write_file(Path(f"{stem}_pose.json"), json.dumps(pose, indent=1).encode())


WRITERS: dict[str, Callable[[Path, Products], None]] = {"color": _color, "npz": _npz, "pfm": _pfm, "mm": _mm, "pose": _pose}
