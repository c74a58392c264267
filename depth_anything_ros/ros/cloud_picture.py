"""A picture of a point cloud, drawn with NumPy alone: needs no display and no graphics driver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.types import Float32Array, UInt8Array

BACKGROUND = 24
_DOT = 3
"""Side of the square that a point is drawn as, pixels."""
_FILL = 0.88


def draw_cloud(
    xyz: Float32Array,
    rgb: UInt8Array,
    *,
    framed: Float32Array | None = None,
    width: int = 960,
    height: int = 600,
    yaw: float = -0.35,
    pitch: float = -0.2,
) -> UInt8Array:
    """uint8 RGB [height, width, 3]: the cloud seen from the side of the camera that took it, nearer points in front.

    xyz: float32 [N, 3], optical frame (x right, y down, z forward). rgb: uint8 [N, 3]. framed: the cloud that the picture is framed for,
    so that two clouds can be compared; None for `xyz`. yaw, pitch: radians that the eye moves around the middle of that cloud.
    """
    picture = np.full((height, width, 3), BACKGROUND, np.uint8)
    good = np.isfinite(xyz).all(axis=1)
    reference = _finite(xyz if framed is None else framed)
    if not good.any() or not len(reference):
        return picture
    low, high = np.percentile(reference, (2, 98), axis=0)
    middle, size = (low + high) / 2.0, float(np.linalg.norm(high - low)) or 1.0

    def rays(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
        """Of the points before the eye, far to near, and their indices."""
        turned = (points - middle) @ _rotation(yaw, pitch).T / size + np.array([0.0, 0.0, 1.3])
        order = np.argsort(-turned[:, 2])
        order = order[turned[order, 2] > 0.2]
        return turned[order, :2] / turned[order, 2:], order

    placed, order = rays(_finite(xyz))
    low, high = np.percentile(rays(reference)[0], (1, 99), axis=0)
    scale = _FILL * min(np.array([width, height]) / np.maximum(high - low, 1e-6))
    columns, rows = np.rint((placed - (low + high) / 2.0) * scale + np.array([width, height]) / 2.0).astype(int).T
    _splat(picture, rows, columns, rgb[good][order])
    return picture


def _finite(xyz: Float32Array) -> NDArray[np.float64]:
    return xyz[np.isfinite(xyz).all(axis=1)].astype(np.float64)


def _rotation(yaw: float, pitch: float) -> NDArray[np.float64]:
    cos_yaw, sin_yaw, cos_pitch, sin_pitch = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    around_y = np.array([[cos_yaw, 0.0, -sin_yaw], [0.0, 1.0, 0.0], [sin_yaw, 0.0, cos_yaw]])
    around_x = np.array([[1.0, 0.0, 0.0], [0.0, cos_pitch, sin_pitch], [0.0, -sin_pitch, cos_pitch]])
    return around_x @ around_y


def _splat(picture: UInt8Array, rows: NDArray[np.int_], columns: NDArray[np.int_], colours: UInt8Array) -> None:
    """Later points cover earlier ones."""
    height, width = picture.shape[:2]
    for down in range(_DOT):
        for right in range(_DOT):
            r, c = rows + down, columns + right
            inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
            picture[r[inside], c[inside]] = colours[inside]
