"""What is compared: depth images, and depth maps made of a laser's points."""

from __future__ import annotations

from typing import Any

import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.sensor_values import cloud_values
from depth_anything_ros.ros.transform_tree import Matrix
from depth_anything_ros.types import Float32Array, Intrinsics


def points_of(cloud: Any) -> np.ndarray:
    """float64 [n, 3], the finite points of a PointCloud2 with fields x, y, z. Raises InputError."""
    points = cloud_values(cloud)
    return points[np.isfinite(points).all(axis=1)]


def projected(points: np.ndarray, camera_from_points: Matrix, camera: Intrinsics) -> Float32Array:
    """float32 [H, W], metres along z of the nearest point of each pixel, NaN where there is none.

    points: float64 [n, 3]. camera: of the depth map; the centre of the top left pixel is (0, 0).
    """
    seen = points @ camera_from_points[:3, :3].T + camera_from_points[:3, 3]
    seen = seen[seen[:, 2] > 1e-3]
    columns = np.rint(seen[:, 0] / seen[:, 2] * camera.fx + camera.cx)
    rows = np.rint(seen[:, 1] / seen[:, 2] * camera.fy + camera.cy)
    inside = (columns >= 0) & (columns < camera.width) & (rows >= 0) & (rows < camera.height)
    depth = np.full(camera.height * camera.width, np.inf)
    np.minimum.at(depth, (rows[inside] * camera.width + columns[inside]).astype(np.intp), seen[inside, 2])
    depth[np.isinf(depth)] = np.nan
    return depth.reshape(camera.height, camera.width).astype(np.float32)


def at_size(depth: Float32Array, shape: tuple[int, int]) -> Float32Array:
    """The depth [h, w] at the pixels of a map of `shape`, each from the nearest pixel: no value is mixed with an invalid one.

    Raises InputError ``input.shape`` where the two are no sizes of one picture (up to the pixel that rounding may take).
    """
    if depth.shape == shape:
        return depth
    (height, width), (true_height, true_width) = depth.shape, shape
    if abs(height * true_width - true_height * width) > max(width, true_width):
        sizes = f"{true_width}x{true_height} pixels, the depth {width}x{height}"
        raise InputError("input.shape", f"the truth has {sizes}: another shape, so that their pixels do not belong together")
    rows = ((np.arange(shape[0]) + 0.5) * depth.shape[0] / shape[0]).astype(np.intp)
    columns = ((np.arange(shape[1]) + 0.5) * depth.shape[1] / shape[1]).astype(np.intp)
    return depth[rows[:, np.newaxis], columns]
