"""Messages of range sensors to points: LaserScan, PointCloud2, Range, and depth images with their CameraInfo. Imports no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros import geometry
from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.messages import calibration_from

Float64Array = NDArray[np.float64]

_MOST_POINTS = 2000
"""A scale needs no more; they are taken evenly."""
_FLOATS = {7: "f4", 8: "f8"}
"""PointField datatypes that coordinates may have."""


def scan_points(scan: Any) -> Float64Array:
    """float64 [n, 3] of a LaserScan in its own frame; readings that are no hit (REP 117, or out of its range) are left out."""
    ranges = np.asarray(scan.ranges, np.float64)
    angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
    with np.errstate(invalid="ignore"):
        hit = np.isfinite(ranges) & (ranges >= scan.range_min) & (ranges <= scan.range_max)
    ranges, angles = ranges[hit], angles[hit]
    return np.stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(ranges))], axis=1)


def beam_point(reading: Any) -> Float64Array:
    """float64 [n, 3] of a Range: one point on the x axis, or none where nothing is in range (REP 117)."""
    hit = np.isfinite(reading.range) and reading.min_range < reading.range < reading.max_range
    return np.array([[reading.range, 0.0, 0.0]]) if hit else np.empty((0, 3))


def cloud_points(cloud: Any) -> Float64Array:
    """float64 [n, 3] of a PointCloud2 in its own frame, at most about 2000. Raises InputError for a cloud that is not as it says."""
    fields = {field.name: field for field in cloud.fields}
    if not all(name in fields and fields[name].datatype in _FLOATS for name in "xyz"):
        raise InputError("input.shape", f"The cloud has no float fields x, y, z, but {', '.join(fields) or 'none'}.")
    order = ">" if cloud.is_bigendian else "<"
    layout = {
        "names": list("xyz"),
        "formats": [order + _FLOATS[fields[name].datatype] for name in "xyz"],
        "offsets": [fields[name].offset for name in "xyz"],
        "itemsize": cloud.point_step,
    }
    raw = np.frombuffer(cloud.data, np.uint8)
    if cloud.row_step < cloud.width * cloud.point_step or raw.size < cloud.height * cloud.row_step:
        raise InputError("input.shape", f"The cloud holds {raw.size} bytes, fewer than its {cloud.height} rows of {cloud.row_step} bytes.")
    try:
        dtype = np.dtype(layout)  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError("input.shape", f"The fields of the cloud do not fit its points: {error}.") from error
    if not cloud.width:
        return np.empty((0, 3))
    rows = [np.frombuffer(raw, dtype, cloud.width, row * cloud.row_step) for row in range(cloud.height)]
    points = np.concatenate(rows) if rows else np.empty(0, dtype)
    points = points[:: max(1, len(points) // _MOST_POINTS)]
    return np.stack([points[name].astype(np.float64) for name in "xyz"], axis=1)


def depth_points(image: Any, info: Any) -> Float64Array:
    """float64 [n, 3] of a depth image (32FC1 metres or 16UC1 millimetres, REP 118) in its optical frame, at most about 2000.

    Lens distortion is ignored: feed a rectified image. Raises InputError.
    """
    kinds = {"32FC1": ("f4", 1.0), "16UC1": ("u2", 1e-3)}
    if image.encoding not in kinds:
        raise InputError("input.encoding", f"Depth image encoding {image.encoding[:32]!a} is not supported; publish 32FC1 or 16UC1.")
    name, unit = kinds[image.encoding]
    dtype = np.dtype((">" if image.is_bigendian else "<") + name)
    raw = np.frombuffer(image.data, np.uint8)
    if image.step < image.width * dtype.itemsize or raw.size < image.height * image.step:
        raise InputError("input.shape", f"The depth image holds {raw.size} bytes, fewer than {image.height} rows of {image.step} bytes.")
    rows = raw[: image.height * image.step].reshape(image.height, image.step)[:, : image.width * dtype.itemsize]
    depth = np.ascontiguousarray(rows).view(dtype).astype(np.float64) * unit
    camera = geometry.camera_model(calibration_from(info), image.width, image.height, rectified=True).intrinsics
    stride = max(1, round((depth.size / _MOST_POINTS) ** 0.5))
    v, u = np.mgrid[stride // 2 : image.height : stride, stride // 2 : image.width : stride]
    z = depth[v, u]
    with np.errstate(invalid="ignore"):
        hit = np.isfinite(z) & (z > 0.0)
    u, v, z = u[hit], v[hit], z[hit]
    return np.stack([(u - camera.cx) / camera.fx * z, (v - camera.cy) / camera.fy * z, z], axis=1)
