"""The numbers in depth images and point clouds. Imports no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.types import Float32Array

_DEPTH = {"32FC1": "f4", "16UC1": "u2", "mono16": "u2"}
DEPTH_ENCODINGS = tuple(_DEPTH)
_FLOATS = {7: "f4", 8: "f8"}
"""``sensor_msgs/msg/PointField`` types that coordinates may have."""


def depth_values(image: Any) -> Float32Array:
    """float32 [H, W] of a depth image (REP 118): metres of 16UC1 and mono16 millimetres, of 32FC1 as they are; invalid as it came.

    Raises InputError.
    """
    if image.encoding not in _DEPTH:
        raise InputError("input.encoding", f"Depth image encoding {image.encoding[:32]!a} is not supported; known: {', '.join(_DEPTH)}.")
    kind = np.dtype(_DEPTH[image.encoding]).newbyteorder(">" if image.is_bigendian else "<")
    data = np.frombuffer(image.data, np.uint8)
    if image.step < image.width * kind.itemsize or data.size < image.height * image.step:
        raise InputError("input.shape", f"A depth image of {image.width}x{image.height} holds {data.size} bytes, row step {image.step}.")
    rows = data[: image.height * image.step].reshape(image.height, image.step)[:, : image.width * kind.itemsize]
    values = np.ascontiguousarray(rows).view(kind).astype(np.float32)
    return values if image.encoding == "32FC1" else values * np.float32(1e-3)


def cloud_values(cloud: Any) -> NDArray[np.float64]:
    """float64 [n, 3], all points of a PointCloud2 with float x, y, z, NaN as it came. Raises InputError where it is not as it says."""
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
    data, width = np.frombuffer(cloud.data, np.uint8), cloud.width * cloud.point_step
    if cloud.row_step < width or data.size < cloud.height * cloud.row_step:
        raise InputError(
            "input.shape", f"A cloud of {cloud.width}x{cloud.height} points holds {data.size} bytes, row step {cloud.row_step}."
        )
    try:
        dtype = np.dtype(layout)  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError("input.shape", f"The fields of the cloud do not fit its points: {error}.") from error
    if not cloud.width or not cloud.height:
        return np.empty((0, 3))
    rows = data[: cloud.height * cloud.row_step].reshape(cloud.height, -1)[:, :width]
    points = np.ascontiguousarray(rows).reshape(-1).view(dtype)
    return np.stack([points[name].astype(np.float64) for name in "xyz"], axis=1)
