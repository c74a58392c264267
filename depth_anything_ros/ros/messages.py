"""ROS messages to plain values and back. Headers are passed through whole; the bytes of an output are copied once, into its message."""

from __future__ import annotations

import sys

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField
from std_msgs.msg import Header

from depth_anything_ros.geometry import Calibration
from depth_anything_ros.images import view_pixels
from depth_anything_ros.types import Frame, Intrinsics


def stamp_ns(stamp: Time) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def frame_from(image: Image, intrinsics: Intrinsics | None) -> Frame:
    """The picture of a message, its pixels a view of the message's data where the encoding allows. Raises InputError."""
    pixels, bgr = view_pixels(image.data, width=image.width, height=image.height, step=image.step, encoding=image.encoding)
    return Frame(pixels, bgr, intrinsics, stamp_ns(image.header.stamp), image.header.frame_id)


def calibration_from(info: CameraInfo) -> Calibration:
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


def image_from(header: Header, values: NDArray[np.generic], encoding: str) -> Image:
    """Image of a [H, W] array whose dtype is that of the encoding."""
    height, width = values.shape
    message = Image(header=header, height=height, width=width, encoding=encoding)
    message.is_bigendian = int(sys.byteorder == "big")
    message.step = width * values.dtype.itemsize
    _fill(message, values)
    return message


def camera_info_from(header: Header, intrinsics: Intrinsics | None, size: tuple[int, int], lens: Calibration | None) -> CameraInfo:
    """CameraInfo of a picture of `size` (width, height): K = P, R identity, no binning, no ROI.

    intrinsics: None gives zero matrices, which means uncalibrated. lens: of a picture that is not rectified, else None (D is zero).
    """
    width, height = size
    message = CameraInfo(header=header, width=width, height=height)
    message.distortion_model = "plumb_bob" if lens is None else lens.distortion_model
    message.d = [0.0] * 5 if lens is None else list(lens.d)
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    if intrinsics is not None:
        fx, fy, cx, cy = intrinsics.fx, intrinsics.fy, intrinsics.cx, intrinsics.cy
        message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
        message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message


def cloud_from(header: Header, points: NDArray[np.void]) -> PointCloud2:
    """Organised PointCloud2 of a structured [h, w] array of float32 fields."""
    height, width = points.shape
    offsets = [(name, points.dtype.fields[name][1]) for name in points.dtype.names or ()]  # type: ignore[index]
    message = PointCloud2(header=header, height=height, width=width, is_bigendian=False, is_dense=False)
    message.fields = [PointField(name=name, offset=offset, datatype=PointField.FLOAT32, count=1) for name, offset in offsets]
    message.point_step = points.dtype.itemsize
    message.row_step = width * points.dtype.itemsize
    _fill(message, points)
    return message


def _fill(message: Image | PointCloud2, values: NDArray[np.generic]) -> None:
    # The setter of `data` goes through the elements of an array or memoryview one by one (half a second for 720p); the fresh
    # message's own array takes the bytes in one copy.
    message.data.frombytes(memoryview(np.ascontiguousarray(values).view(np.uint8).reshape(-1)))
