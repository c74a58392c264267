"""What is compared: depth images, and depth maps made of a laser's points."""

from __future__ import annotations

from typing import Any

import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.evaluate.transforms import Matrix
from depth_anything_ros.types import Float32Array, Intrinsics

_FORMATS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
"""Of ``sensor_msgs/msg/PointField``."""


def depth_of(image: Any) -> Float32Array:
    """float32 [H, W], metres (or the unit of a 32FC1), of a 32FC1 or 16UC1 Image, invalid as it came (NaN, 0). Raises InputError."""
    kinds = {"32FC1": "f4", "16UC1": "u2", "mono16": "u2"}
    if image.encoding not in kinds:
        raise InputError("input.encoding", f"Encoding {image.encoding!r} is no depth; known: {', '.join(kinds)}.")
    kind = np.dtype(kinds[image.encoding]).newbyteorder(">" if image.is_bigendian else "<")
    data = np.frombuffer(image.data, np.uint8)
    if image.step < image.width * kind.itemsize or data.size < image.height * image.step:
        raise InputError("input.shape", f"A depth image of {image.width}x{image.height} holds {data.size} bytes with step {image.step}.")
    rows = data[: image.height * image.step].reshape(image.height, image.step)[:, : image.width * kind.itemsize]
    values = np.ascontiguousarray(rows).view(kind).astype(np.float32)
    return values if image.encoding == "32FC1" else values * np.float32(1e-3)


def points_of(cloud: Any) -> np.ndarray:
    """float64 [n, 3], the finite points of a PointCloud2 with fields x, y, z. Raises InputError."""
    fields = {field.name: field for field in cloud.fields}
    if missing := [name for name in "xyz" if name not in fields or fields[name].datatype not in _FORMATS]:
        raise InputError("input.encoding", f"The cloud has no field {missing[0]}; it has {', '.join(fields) or 'none'}.")
    order = ">" if cloud.is_bigendian else "<"
    layout = np.dtype(
        {
            "names": list("xyz"),
            "formats": [order + _FORMATS[fields[name].datatype] for name in "xyz"],
            "offsets": [fields[name].offset for name in "xyz"],
            "itemsize": cloud.point_step,
        }
    )
    data = np.frombuffer(cloud.data, np.uint8)
    width = cloud.width * cloud.point_step
    if cloud.row_step < width or data.size < cloud.height * cloud.row_step:
        raise InputError(
            "input.shape", f"A cloud of {cloud.width}x{cloud.height} points holds {data.size} bytes, row step {cloud.row_step}."
        )
    rows = data[: cloud.height * cloud.row_step].reshape(cloud.height, -1)[:, :width]
    values = np.ascontiguousarray(rows).reshape(-1).view(layout)
    xyz = np.stack([values[name].astype(np.float64) for name in "xyz"], axis=1)
    return xyz[np.isfinite(xyz).all(axis=1)]


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
    """The depth [h, w] at the pixels of a map of `shape`, each from the nearest pixel: no value is mixed with an invalid one."""
    if depth.shape == shape:
        return depth
    rows = ((np.arange(shape[0]) + 0.5) * depth.shape[0] / shape[0]).astype(np.intp)
    columns = ((np.arange(shape[1]) + 0.5) * depth.shape[1] / shape[1]).astype(np.intp)
    return depth[rows[:, np.newaxis], columns]
