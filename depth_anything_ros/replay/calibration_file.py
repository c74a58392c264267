"""The camera of pictures that come without camera_info: numbers, or a YAML file as `camera_calibration` writes it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.paths import user_path

_MATRICES = {"camera_matrix": 9, "projection_matrix": 12}


def calibration_of_k(k: tuple[float, float, float, float], width: int, height: int) -> Calibration:
    """A camera without distortion. k: fx, fy, cx, cy in pixels. Raises OptionError for numbers that no camera has."""
    fx, fy, cx, cy = k
    if not all(map(math.isfinite, k)) or fx <= 0.0 or fy <= 0.0:
        raise OptionError("option.range", f"--k {' '.join(f'{number:g}' for number in k)}: fx and fy must be above 0, all finite.")
    return Calibration(
        width,
        height,
        (fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0),
        (fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0),
        (0.0,) * 5,
        "plumb_bob",
    )


def read_calibration(path: Path) -> Calibration:
    """The keys image_width, image_height, camera_matrix, distortion_model, distortion_coefficients, projection_matrix.

    Raises InputError ``input.intrinsics`` that names the file and the key.
    """
    try:
        content = YAML(typ="safe").load(user_path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise _wrong(path, f"it cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise _wrong(path, "it is no file of camera_calibration: the key image_width is missing")
    k, p = (_numbers(path, content, name, length) for name, length in _MATRICES.items())
    size = [content.get(name) for name in ("image_width", "image_height")]
    if not all(isinstance(extent, int) and extent > 0 for extent in size):
        raise _wrong(path, f"image_width and image_height must be whole numbers above 0, not {size[0]!r} and {size[1]!r}")
    d = _numbers(path, content, "distortion_coefficients", None)
    return Calibration(*size, k, p, d, str(content.get("distortion_model", "plumb_bob")))


def _numbers(path: Path, content: dict[str, Any], name: str, length: int | None) -> tuple[float, ...]:
    matrix = content.get(name)
    data = matrix.get("data") if isinstance(matrix, dict) else None
    if not isinstance(data, list) or not all(isinstance(number, (int, float)) for number in data):
        raise _wrong(path, f"the key {name} with a list of numbers in data is missing")
    if length is not None and len(data) != length:
        raise _wrong(path, f"{name} holds {len(data)} numbers instead of {length}")
    return tuple(map(float, data))


def _wrong(path: Path, what: str) -> InputError:
    return InputError("input.intrinsics", f"Calibration {path}: {what}.")
