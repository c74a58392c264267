"""Removing lens distortion: the picture of the pinhole camera that a calibration describes, by tables that are made once per calibration.

Models are those of sensor_msgs/distortion_models.hpp, computed by OpenCV: ``plumb_bob`` and ``rational_polynomial`` (calib3d) and
``equidistant`` (fisheye, J. Kannala and S. Brandt, PAMI 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration, camera_model
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

_TERMS = {"plumb_bob": (4, 5), "rational_polynomial": (8, 12, 14), "equidistant": (4,)}


@dataclass(frozen=True)
class Lens:
    """Everything that the tables depend on; equal lenses share their tables."""

    raw: Intrinsics
    """K, at the size of the picture."""
    rectified: Intrinsics
    """Of the picture that comes out: P where it is usable, else K."""
    model: str
    terms: tuple[float, ...]


def lens_of(calibration: Calibration, width: int, height: int) -> Lens:
    """The lens of a distorted picture of width x height pixels.

    An empty model name is read by the number of terms (4 and 5 plumb_bob, 8 and more rational_polynomial), which the two share in OpenCV.
    R is not applied: the rectified picture stays in the optical frame that its header names.
    Raises InputError ``input.intrinsics`` for an unknown model, a wrong number of terms, terms that are not finite, an unusable K.
    """
    model = calibration.distortion_model or ("plumb_bob" if len(calibration.d) < 8 else "rational_polynomial")
    if model not in _TERMS:
        raise InputError("input.intrinsics", f"the distortion model {model[:32]!a} is not one of {', '.join(_TERMS)}")
    if len(calibration.d) not in _TERMS[model] or not np.isfinite(calibration.d).all():
        terms = ", ".join(f"{term:g}" for term in calibration.d[:14])
        counts = " or ".join(map(str, _TERMS[model]))
        raise InputError("input.intrinsics", f"D [{terms}] of {model} must be {counts} finite terms")
    raw, ideal = (camera_model(calibration, width, height, rectified=rectified) for rectified in (False, True))
    if raw.matrix != "K":
        raise InputError("input.intrinsics", "K holds no usable focal lengths and centre")
    return Lens(raw.intrinsics, ideal.intrinsics, model, calibration.d)


class Rectifier:
    """The tables of one lens. `apply` may be called from any thread."""

    def __init__(self, lens: Lens) -> None:
        self.lens = lens
        with np.errstate(all="ignore"):
            x, y = _source_pixels(lens)
        width, height = lens.raw.width, lens.raw.height
        # Comparisons are false for NaN, which wild terms can give.
        inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5) & _unfolded(lens)
        if not inside.any():
            raise InputError("input.intrinsics", f"{lens.model} with D {list(lens.terms)} leaves nothing of the picture; calibrate again")
        # Of what is outside the place does not matter, but it must be a place.
        x, y = (np.where(inside, axis, np.float32(-10.0)) for axis in (x, y))
        self._tables = cv2.convertMaps(x, y, cv2.CV_16SC2)
        self.outside: UInt8Array | None = None if inside.all() else np.where(inside, 0, 255).astype(np.uint8)
        """uint8 [H, W], 255 where the camera saw nothing; None when it saw all."""

    def apply(self, pixels: UInt8Array) -> UInt8Array:
        """uint8 [H, W, 3] rectified, bilinear; what lies `outside` repeats some pixel of the border."""
        return np.asarray(cv2.remap(pixels, *self._tables, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def _source_pixels(lens: Lens) -> tuple[Float32Array, Float32Array]:
    """float32 [H, W] each: where in the raw picture a rectified pixel lies."""
    raw, ideal = (np.array([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1]]) for k in (lens.raw, lens.rectified))
    size, terms = (lens.raw.width, lens.raw.height), np.array(lens.terms)
    make = cv2.fisheye.initUndistortRectifyMap if lens.model == "equidistant" else cv2.initUndistortRectifyMap
    x, y = make(raw, terms, np.eye(3), ideal, size, cv2.CV_32FC1)
    return np.asarray(x, np.float32), np.asarray(y, np.float32)


def _unfolded(lens: Lens) -> NDArray[np.bool_]:
    """bool [H, W]: rectified pixels up to where the model's radius first stops growing with that of the ray.

    Polynomials turn back beyond the angles that they were fitted to, and would show the middle of the picture once more out there.
    """
    width, height, ideal = lens.raw.width, lens.raw.height, lens.rectified
    radius = np.hypot((np.arange(width) - ideal.cx) / ideal.fx, (np.arange(height)[:, np.newaxis] - ideal.cy) / ideal.fy)
    rays = np.linspace(0.0, float(radius.max()), 4096)
    with np.errstate(all="ignore"):
        grows = np.diff(_bent(lens, rays)) > 0.0  # false for NaN
    return np.asarray(radius <= (np.inf if grows.all() else rays[np.argmin(grows)]))


def _bent(lens: Lens, rays: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [n]: radius in the raw picture, in focal lengths, of rays by the tangent of their angle; without the tangential terms."""
    if lens.model == "equidistant":
        angle = np.arctan(rays)
        return np.asarray(angle * np.polyval([*reversed(lens.terms), 1.0], angle**2))
    k1, k2, _, _, k3, k4, k5, k6 = (*lens.terms, *[0.0] * 8)[:8]
    return np.asarray(rays * np.polyval([k3, k2, k1, 1.0], rays**2) / np.polyval([k6, k5, k4, 1.0], rays**2))
