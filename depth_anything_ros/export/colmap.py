"""A COLMAP model (cameras, images, points3D) in its binary or text form: one pinhole camera and one picture per view.

Layout: https://colmap.github.io/format.html. Written here because pycolmap brings the whole of COLMAP for 60 lines of layout.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.export.points import LEAST_SURE, Cloud, confidence_percentile, gather
from depth_anything_ros.export.views import View, unit_of
from depth_anything_ros.files import make_folder, write_file
from depth_anything_ros.geometry import quaternion_of

_PINHOLE = 1
_POINT_2D = np.dtype([("xy", "<f8", 2), ("point", "<i8")])
_POINT_3D = np.dtype(
    [("id", "<u8"), ("xyz", "<f8", 3), ("rgb", "u1", 3), ("error", "<f8"), ("track", "<u8"), ("image", "<i4"), ("index", "<i4")]
)


@dataclass(frozen=True)
class _Image:
    """One view as COLMAP has it; camera and image have the same id, from 1."""

    id: int
    name: str
    size: tuple[int, int]
    """Width and height of the original picture, pixels."""
    pinhole: tuple[float, float, float, float]
    """fx, fy, cx, cy at that size, counted from the corner."""
    pose: tuple[float, ...]
    """Camera from world: quaternion w, x, y, z, then translation."""
    points: NDArray[np.void]
    """`_POINT_2D` [n]."""


def write_colmap(folder: Path, views: list[View], *, text: bool = False) -> None:
    """Three files in `folder`, which is made; points in the world frame, unit of the depth.

    Raises InputError ``input.file`` for a name with a space in the text form, and when a file cannot be written.
    """
    if text:
        check_text_names(view.name for view in views)
    cloud = gather(views, confidence_percentile(views, LEAST_SURE))
    points = np.zeros(len(cloud.xyz), _POINT_3D)
    points["id"] = np.arange(1, len(points) + 1)
    points["xyz"], points["rgb"], points["track"], points["image"] = cloud.xyz, cloud.rgb, 1, cloud.view + 1
    images = [_image(view, index, cloud, points) for index, view in enumerate(views)]
    files = _text(images, points, unit_of(views)) if text else _binary(images, points)
    make_folder(folder)
    for name, data in files.items():
        write_file(folder / name, data)


def check_text_names(names: Iterable[str]) -> None:
    """Raises InputError ``input.file`` for a picture's name that the text form cannot hold."""
    for name in names:
        if len(name.split()) != 1:
            raise InputError("input.file", f"{name!r} has a space, which COLMAP's text form cuts off; rename it or write the binary form.")


def _image(view: View, index: int, cloud: Cloud, points: NDArray[np.void]) -> _Image:
    """The picture of a view; fills in where its points lie in it (`index` of `points`)."""
    k = view.intrinsics
    scale = np.array(view.picture_size) / (k.width, k.height)
    own = cloud.view == index
    seen = np.empty(np.count_nonzero(own), _POINT_2D)
    seen["xy"] = np.trunc(cloud.uv[own] * scale)
    seen["point"] = points["id"][own]
    points["index"][own] = np.arange(len(seen))
    sx, sy = map(float, scale)
    x, y, z, w = quaternion_of(view.camera_from_world[:, :3])
    pose = (w, x, y, z, *view.camera_from_world[:, 3].tolist())
    return _Image(index + 1, view.name, view.picture_size, (k.fx * sx, k.fy * sy, k.cx * sx, k.cy * sy), pose, seen)


def _binary(images: list[_Image], points: NDArray[np.void]) -> dict[str, bytes]:
    count = struct.pack("<Q", len(images))
    cameras = [struct.pack("<iiQQ4d", one.id, _PINHOLE, *one.size, *one.pinhole) for one in images]
    pictures = [
        struct.pack("<i7di", one.id, *one.pose, one.id) + os.fsencode(one.name) + struct.pack("<xQ", len(one.points)) + one.points.tobytes()
        for one in images
    ]
    return {
        "cameras.bin": count + b"".join(cameras),
        "images.bin": count + b"".join(pictures),
        "points3D.bin": struct.pack("<Q", len(points)) + points.tobytes(),
    }


def _text(images: list[_Image], points: NDArray[np.void], unit: str) -> dict[str, bytes]:
    cameras = [f"{one.id} PINHOLE {one.size[0]} {one.size[1]} {_numbers(one.pinhole)}" for one in images]
    pictures = []
    for one in images:
        pictures.append(f"{one.id} {_numbers(one.pose)} {one.id} {one.name}")
        pictures.append(" ".join(f"{x:.17g} {y:.17g} {point}" for (x, y), point in one.points.tolist()))
    solid = [
        f"{number} {_numbers(xyz)} {red} {green} {blue} {error:.17g} {image} {index}"
        for number, xyz, (red, green, blue), error, _, image, index in points.tolist()
    ]
    head = f"# depth_anything_ros, unit: {unit}"
    lines = {"cameras.txt": cameras, "images.txt": pictures, "points3D.txt": solid}
    return {name: os.fsencode("\n".join([head, *rows]) + "\n") for name, rows in lines.items()}


def _numbers(values: tuple[float, ...] | NDArray[np.float64]) -> str:
    return " ".join(f"{value:.17g}" for value in values)
