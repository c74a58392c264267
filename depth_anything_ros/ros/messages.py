"""ROS messages to plain values and back. Headers are passed through whole; the bytes of an output are copied once, into its message.

Nothing here imports ROS: messages of rclpy and those of rosbags have the same fields, and new ones come from a `MakeMessage`, which the
live node and the replay of bags each have one of (`live_messages`, `bag_messages`). So both send the same bytes.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.types import Intrinsics, UInt8Array

_FLOAT32 = 7
"""``sensor_msgs/msg/PointField.FLOAT32``."""


class MakeMessage(Protocol):
    """Makes a message of a type such as ``sensor_msgs/msg/Image``; fields that are not given are zero or empty.

    A field `data` is any buffer of bytes, single bytes are `bytes`, arrays of numbers are lists.
    """

    def __call__(self, type_name: str, /, **fields: Any) -> Any: ...


def stamp_ns(stamp: Any) -> int:
    """Nanoseconds of a ``builtin_interfaces/msg/Time``."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def calibration_from(info: Any) -> Calibration:
    roi = info.roi
    return Calibration(
        width=info.width,
        height=info.height,
        k=tuple(map(float, info.k)),
        p=tuple(map(float, info.p)),
        d=tuple(map(float, info.d)),
        distortion_model=info.distortion_model,
        binning=(info.binning_x, info.binning_y),
        roi=(roi.x_offset, roi.y_offset, roi.width, roi.height),
    )


def image_from(make: MakeMessage, header: Any, values: NDArray[np.generic], encoding: str) -> Any:
    """Image of a [H, W] or [H, W, channels] array whose dtype is that of the encoding."""
    height, width = values.shape[:2]
    return make(
        "sensor_msgs/msg/Image",
        header=header,
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=int(sys.byteorder == "big"),
        step=values.nbytes // height,
        data=_bytes_of(values),
    )


def jpeg_from(make: MakeMessage, header: Any, rgb: UInt8Array, quality: int = 90) -> Any:
    """CompressedImage of uint8 RGB [H, W, 3], with the format string of image_transport."""
    done, data = cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise InputError("input.shape", f"A picture of {rgb.shape[1]}x{rgb.shape[0]} pixels cannot be written as JPEG.")
    return make("sensor_msgs/msg/CompressedImage", header=header, format="rgb8; jpeg compressed bgr8", data=_bytes_of(data))


def camera_info_from(make: MakeMessage, header: Any, intrinsics: Intrinsics | None, size: tuple[int, int], lens: Calibration | None) -> Any:
    """CameraInfo of a picture of `size` (width, height): K = P, R identity, no binning, no ROI.

    intrinsics: None gives zero matrices, which means uncalibrated. lens: of a picture that is not rectified, else None (D is zero).
    """
    width, height = size
    k, p = [0.0] * 9, [0.0] * 12
    if intrinsics is not None:
        fx, fy, cx, cy = intrinsics.fx, intrinsics.fy, intrinsics.cx, intrinsics.cy
        k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
        p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return make(
        "sensor_msgs/msg/CameraInfo",
        header=header,
        width=width,
        height=height,
        distortion_model="plumb_bob" if lens is None else lens.distortion_model,
        d=[0.0] * 5 if lens is None else list(lens.d),
        k=k,
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=p,
    )


def cloud_from(make: MakeMessage, header: Any, points: NDArray[np.void]) -> Any:
    """Organised PointCloud2 of a structured [h, w] array of float32 fields."""
    height, width = points.shape
    offsets = [(name, points.dtype.fields[name][1]) for name in points.dtype.names or ()]  # type: ignore[index]
    return make(
        "sensor_msgs/msg/PointCloud2",
        header=header,
        height=height,
        width=width,
        fields=[make("sensor_msgs/msg/PointField", name=name, offset=offset, datatype=_FLOAT32, count=1) for name, offset in offsets],
        is_bigendian=False,
        point_step=points.dtype.itemsize,
        row_step=width * points.dtype.itemsize,
        data=_bytes_of(points),
        is_dense=False,
    )


def _bytes_of(values: NDArray[np.generic]) -> memoryview:
    return memoryview(np.ascontiguousarray(values).view(np.uint8).reshape(-1))
