"""Pinhole geometry on plain values: calibration to intrinsics, scaling, depth to an organised cloud.

Convention: the centre of the top left pixel is (0, 0), as in OpenCV. An image resized by s therefore has cx' = (cx + 0.5) * s - 0.5,
and the picture's edge stays its edge. (image_pipeline scales cx without the half pixel; at s = 0.5 that differs by a quarter of a pixel.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.depth import resize_mask
from depth_anything_ros.errors import InputError
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

_XYZRGB = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<f4")]
POINT = np.dtype(_XYZRGB)
"""16 bytes: x right, y down, z forward in metres, then colour as the bytes b, g, r, 0."""
POINT_WITH_CONFIDENCE = np.dtype([*_XYZRGB, ("confidence", "<f4")])
_SHORTEST_FOCAL, _MOST_PIXELS = 1e-3, 1e7
"""What a camera matrix may hold; other numbers are zero, NaN, or memory that nobody has written."""


@dataclass(frozen=True)
class Calibration:
    """The values of a CameraInfo that say how pixels and rays belong together (full resolution, before binning and ROI)."""

    width: int
    height: int
    k: tuple[float, ...]
    p: tuple[float, ...]
    d: tuple[float, ...] = ()
    distortion_model: str = ""
    binning: tuple[int, int] = (1, 1)
    """Horizontal and vertical; 0 means 1."""
    roi: tuple[int, int, int, int] = (0, 0, 0, 0)
    """x, y, width, height in unbinned pixels; width and height 0 mean the whole picture."""

    @property
    def distorted(self) -> bool:
        return any(value != 0.0 for value in self.d)


@dataclass(frozen=True)
class CameraModel:
    """A calibration tied to one picture size."""

    intrinsics: Intrinsics
    matrix: str
    """``K`` or ``P``: where the intrinsics were read."""
    calibrated_size: tuple[int, int]
    """Size (width, height) that the calibration describes, after ROI and binning; the intrinsics are scaled where the picture differs."""


def scale_intrinsics(intrinsics: Intrinsics, width: int, height: int) -> Intrinsics:
    """Intrinsics of the same picture resized to width x height, each axis by its own factor."""
    sx, sy = width / intrinsics.width, height / intrinsics.height
    return Intrinsics(
        width=width,
        height=height,
        fx=intrinsics.fx * sx,
        fy=intrinsics.fy * sy,
        cx=(intrinsics.cx + 0.5) * sx - 0.5,
        cy=(intrinsics.cy + 0.5) * sy - 0.5,
    )


def centred_intrinsics(focal: float, width: int, height: int) -> Intrinsics:
    """Square pixels of the given focal length in pixels, principal point in the middle of the picture."""
    return Intrinsics(width, height, focal, focal, (width - 1) / 2.0, (height - 1) / 2.0)


def network_intrinsics(estimate: Intrinsics, width: int, height: int) -> Intrinsics:
    """The network's own estimate for the picture at width x height.

    The network counts from the corner of the top left pixel (its principal point is always width / 2), hence the half pixel.
    """
    return scale_intrinsics(replace(estimate, cx=estimate.cx - 0.5, cy=estimate.cy - 0.5), width, height)


def camera_model(calibration: Calibration, width: int, height: int, *, rectified: bool) -> CameraModel:
    """Intrinsics of a picture of width x height pixels from a calibration.

    rectified: the picture is rectified, so P holds, else K; where the one is empty or broken, the other is taken.
    ROI and binning are applied; after that the picture may be a resized one of the same shape, never another shape.
    Raises InputError ``input.intrinsics`` with the values that do not fit.
    """
    matrix, (fx, fy, cx, cy) = _pinhole(calibration, rectified)
    if calibration.width < 1 or calibration.height < 1:
        raise InputError(
            "input.intrinsics", f"camera_info has size {calibration.width}x{calibration.height}; set the size that was calibrated."
        )
    x, y, roi_width, roi_height = _region(calibration)
    bin_x, bin_y = (max(1, factor) for factor in calibration.binning)
    size = roi_width // bin_x, roi_height // bin_y
    if min(size) < 1 or not _same_shape(size, (width, height)):
        raise InputError(
            "input.intrinsics",
            f"camera_info describes a picture of {size[0]}x{size[1]} pixels, but the image has {width}x{height}, another shape; "
            "send the camera_info of this image.",
        )
    own = Intrinsics(size[0], size[1], fx / bin_x, fy / bin_y, (cx - x + 0.5) / bin_x - 0.5, (cy - y + 0.5) / bin_y - 0.5)
    return CameraModel(scale_intrinsics(own, width, height), matrix, size)


def project(
    depth: Float32Array,
    intrinsics: Intrinsics,
    pixels: UInt8Array,
    *,
    bgr: bool = False,
    stride: int = 1,
    farthest: float = np.inf,
    without: UInt8Array | None = None,
    confidence: Float32Array | None = None,
) -> NDArray[np.void]:
    """Organised cloud of every `stride`-th pixel: structured [ceil(H / stride), ceil(W / stride)], `POINT` or `POINT_WITH_CONFIDENCE`.

    depth: float32 [H, W], metres along z; where it is not finite and above 0, x, y, z are NaN. intrinsics: of the depth map.
    pixels: uint8 [h, w, 3], the picture that gives the colours, resized where its size differs. confidence: float32 [H, W].
    farthest: largest z. without: uint8 of any size over the whole picture, other than 0 where there are to be no points.
    A point of row i and column j belongs to pixel u = j * stride, v = i * stride.
    """
    height, width = depth.shape
    z = depth[::stride, ::stride].copy()
    z[~((z > 0.0) & (z <= min(farthest, float(np.finfo(np.float32).max))))] = np.nan
    if without is not None:
        z[resize_mask(without, width, height, stride) > 0] = np.nan
    # Pinhole rays are separable: one factor per column and one per row, too small to be worth a cache.
    ray_x = ((np.arange(0, width, stride) - intrinsics.cx) / intrinsics.fx).astype(np.float32)
    ray_y = ((np.arange(0, height, stride) - intrinsics.cy) / intrinsics.fy).astype(np.float32)
    points = np.empty(z.shape, POINT if confidence is None else POINT_WITH_CONFIDENCE)
    np.multiply(z, ray_x, out=points["x"])
    np.multiply(z, ray_y[:, np.newaxis], out=points["y"])
    points["z"] = z
    if confidence is not None:
        points["confidence"] = confidence[::stride, ::stride]
    points.view("<u4").reshape(*z.shape, -1)[:, :, 3] = _packed(_at_size(pixels, width, height)[::stride, ::stride], bgr)
    return points


def quaternion_of(rotation: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Unit quaternion x, y, z, w with w >= 0 of the rotation nearest to a matrix, [3, 3].

    It is the eigenvector of the largest eigenvalue of a symmetric 4 x 4 matrix (I. Bar-Itzhack, J. Guidance 23, 2000): no special cases.
    """
    r = rotation
    k = np.empty((4, 4))
    k[:3, :3] = r + r.T - np.trace(r) * np.eye(3)
    k[3, :3] = k[:3, 3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[3, 3] = np.trace(r)
    vector = np.linalg.eigh(k)[1][:, -1]
    x, y, z, w = (-vector if vector[3] < 0.0 else vector).tolist()
    return x, y, z, w


def pose_matrix(position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """[4, 4] that takes points of the child frame to its parent. position: [3]; quaternion: x, y, z, w of any length but 0."""
    x, y, z, w = quaternion / max(float(np.linalg.norm(quaternion)), 1e-12)
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = position
    return matrix


def _packed(pixels: UInt8Array, bgr: bool) -> NDArray[np.uint32]:
    """Colours [h, w] as the bytes b, g, r, 0. By shifts: NumPy copies strided pixels of three bytes one byte at a time."""
    blue, red = (0, 2) if bgr else (2, 0)
    packed = pixels[:, :, red].astype("<u4")
    for channel in (1, blue):
        packed <<= np.uint32(8)
        packed |= pixels[:, :, channel]
    return packed


def _at_size(pixels: UInt8Array, width: int, height: int) -> UInt8Array:
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _pinhole(calibration: Calibration, rectified: bool) -> tuple[str, tuple[float, float, float, float]]:
    matrices = [("P", _entries(calibration.p, 12, 6)), ("K", _entries(calibration.k, 9, 5))]
    for name, entries in matrices if rectified else reversed(matrices):
        if entries is not None:
            return name, entries
    raise InputError(
        "input.intrinsics",
        f"the camera is not calibrated: neither K {_shown(calibration.k)} nor P {_shown(calibration.p)} has usable focal lengths.",
    )


def _entries(matrix: Sequence[float], length: int, cy: int) -> tuple[float, float, float, float] | None:
    """(fx, fy, cx, cy) of a row-major matrix, or None where they cannot be those of a camera."""
    if len(matrix) != length:
        return None
    values = (float(matrix[0]), float(matrix[cy - 1]), float(matrix[2]), float(matrix[cy]))
    focal, centre = values[:2], values[2:]
    usable = all(_SHORTEST_FOCAL < value < _MOST_PIXELS for value in focal) and all(abs(value) < _MOST_PIXELS for value in centre)
    return values if usable else None


def _region(calibration: Calibration) -> tuple[int, int, int, int]:
    x, y, width, height = calibration.roi
    if width == 0 and height == 0:
        return 0, 0, calibration.width, calibration.height
    if x + width > calibration.width or y + height > calibration.height:
        size = f"{calibration.width}x{calibration.height}"
        raise InputError(
            "input.intrinsics", f"camera_info has the region {width}x{height} at ({x}, {y}), which is not inside of its {size} pixels."
        )
    return x, y, width, height


def _same_shape(calibrated: tuple[int, int], picture: tuple[int, int]) -> bool:
    """Same aspect within the one pixel that rounding a resized side may take."""
    scale = picture[0] / calibrated[0]
    return abs(calibrated[1] * scale - picture[1]) <= 1.0 or abs(calibrated[0] * picture[1] / calibrated[1] - picture[0]) <= 1.0


def _shown(matrix: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:g}" for value in matrix) + "]"
