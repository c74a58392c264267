"""A coloured cloud as binary PLY (Stanford triangle format), written by plyfile."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import OptionError
from depth_anything_ros.export.points import LEAST_SURE, confidence_percentile, gather
from depth_anything_ros.export.views import View, unit_of
from depth_anything_ros.files import write_file

_VERTEX = [(name, "<f4") for name in "xyz"] + [(name, "u1") for name in ("red", "green", "blue")]


def write_ply(path: Path, views: list[View]) -> None:
    """Points of all views in the world frame (OpenCV axes); the unit stands in a comment.

    Raises OptionError ``option.unknown`` without plyfile, InputError ``input.file`` when the file cannot be written.
    """
    cloud = gather(views, confidence_percentile(views, LEAST_SURE))
    vertices = np.empty(len(cloud.xyz), _VERTEX)
    for names, values in (("xyz", cloud.xyz), (("red", "green", "blue"), cloud.rgb)):
        for name, column in zip(names, values.T):
            vertices[name] = column
    write_vertices(path, vertices, unit_of(views))


def write_vertices(path: Path, vertices: NDArray[np.void], unit: str) -> None:
    """One element ``vertex`` of the structured array's properties, little endian. Raises what `write_ply` raises."""
    try:
        from plyfile import PlyData, PlyElement
    except ImportError as error:
        raise OptionError("option.unknown", "PLY needs plyfile: pip install plyfile") from error
    data = io.BytesIO()
    comments = [f"unit: {unit}", "axes: x right, y down, z forward"]
    PlyData([PlyElement.describe(vertices, "vertex")], byte_order="<", comments=comments).write(data)
    write_file(path, data.getvalue())
