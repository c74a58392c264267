"""Messages of range sensors to points: LaserScan, PointCloud2, Range, and depth images with their CameraInfo. Imports no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros import geometry
from depth_anything_ros.ros.messages import calibration_from
from depth_anything_ros.ros.sensor_values import cloud_values, depth_values

Float64Array = NDArray[np.float64]

_MOST_POINTS = 2000
"""A scale needs no more; they are taken evenly."""


def scan_points(scan: Any) -> Float64Array:
    """float64 [n, 3] of a LaserScan in its own frame; readings that are no hit (REP 117, or out of its range) are left out."""
    ranges = np.asarray(scan.ranges, np.float64)
    with np.errstate(invalid="ignore"):
        angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
        hit = np.isfinite(ranges) & (ranges >= scan.range_min) & (ranges <= scan.range_max) & np.isfinite(angles)
    ranges, angles = ranges[hit], angles[hit]
    return np.stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(ranges))], axis=1)


def beam_point(reading: Any) -> Float64Array:
    """float64 [n, 3] of a Range: one point on the x axis, or none where nothing is in range (REP 117)."""
    hit = np.isfinite(reading.range) and reading.min_range < reading.range < reading.max_range
    return np.array([[reading.range, 0.0, 0.0]]) if hit else np.empty((0, 3))


def cloud_points(cloud: Any) -> Float64Array:
    """float64 [n, 3] of a PointCloud2 in its own frame: of the finite ones about 2000.

    Raises InputError for a cloud that is not as it says.
    """
    points = cloud_values(cloud)
    points = points[np.isfinite(points).all(axis=1)]
    return points[:: max(1, len(points) // _MOST_POINTS)]


def depth_points(image: Any, info: Any) -> Float64Array:
    """float64 [n, 3] of a depth image (32FC1 metres or 16UC1 millimetres, REP 118) in its optical frame, at most about 2000.

    Lens distortion is ignored: feed a rectified image. Raises InputError.
    """
    depth = depth_values(image).astype(np.float64)
    camera = geometry.camera_model(calibration_from(info), image.width, image.height, rectified=True).intrinsics
    stride = max(1, round((depth.size / _MOST_POINTS) ** 0.5))
    v, u = np.mgrid[stride // 2 : image.height : stride, stride // 2 : image.width : stride]
    z = depth[v, u]
    with np.errstate(invalid="ignore"):
        hit = np.isfinite(z) & (z > 0.0)
    u, v, z = u[hit], v[hit], z[hit]
    return np.stack([(u - camera.cx) / camera.fx * z, (v - camera.cy) / camera.fy * z, z], axis=1)
