"""A cloud and its cameras as binary glTF 2.0, one mesh: points first, then the lines of one frustum per view.

Written here because the layout is 30 lines of JSON and two chunks, and the libraries of Python cannot write it: trimesh makes a mesh of
each primitive, pygltflib writes an invalid empty buffer for a scene without points.
"""

from __future__ import annotations

import colorsys
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros import __version__
from depth_anything_ros.errors import InputError
from depth_anything_ros.export.points import LEAST_SURE, confidence_percentile, gather, rays, world_from_camera
from depth_anything_ros.export.views import View, unit_of
from depth_anything_ros.files import write_file
from depth_anything_ros.types import UInt8Array

_POINTS, _LINES = 0, 1
_FLOAT, _UNSIGNED_BYTE = 5126, 5121
_VERTEX_BUFFER = 34962
_FRUSTUM = 0.03
"""Depth of a frustum as a part of the scene's size."""
_MOST_BYTES = 2**32 - 1
"""Of a file: its length is a number of 32 bits."""


def write_glb(path: Path, views: list[View]) -> None:
    """Points and cameras in the first camera's frame with glTF's axes (y up, z back), moved so that the median point is the origin.

    Raises InputError ``input.file`` when the file cannot be written, ``input.shape`` when it would be longer than a GLB can be.
    """
    cloud = gather(views, _threshold(views))
    mesh = _Mesh()
    if len(cloud.xyz):
        turned = _first_camera(views[0], cloud.xyz)
        centre = np.median(turned, axis=0)
        points = turned - centre
        mesh.add(_POINTS, points, cloud.rgb)
        length = _FRUSTUM * _extent(points)
        for index, view in enumerate(views):
            lines = _first_camera(views[0], _frustum(view, length)) - centre
            mesh.add(_LINES, lines, np.tile(_colour(index, len(views)), (len(lines), 1)))
    write_file(path, mesh.glb({"unit": unit_of(views)}))


def _threshold(views: list[View]) -> float | None:
    low, high = confidence_percentile(views, LEAST_SURE), confidence_percentile(views, 90.0)
    return None if low is None or high is None else min(max(1.05, low), high)


def _first_camera(view: View, world: NDArray[np.float64]) -> NDArray[np.float64]:
    """World points in the frame of the view, with y up and z back."""
    pose = view.camera_from_world
    return np.asarray((world @ pose[:, :3].T + pose[:, 3]) * (1.0, -1.0, -1.0))


def _extent(points: NDArray[np.float64]) -> float:
    """Diagonal of the box of the inner 90 percent; 1 for a single point."""
    low, high = np.percentile(points, (5.0, 95.0), axis=0)
    return float(np.linalg.norm(high - low)) or 1.0


def _frustum(view: View, length: float) -> NDArray[np.float64]:
    """float64 [16, 3], world frame: eight segments, centre to the four corners of the picture at z = length, then their rectangle."""
    right, bottom = view.depth.shape[1] - 1, view.depth.shape[0] - 1
    corners = rays(view, np.array([(0, 0), (right, 0), (right, bottom), (0, bottom)])) * length
    ends = np.vstack([np.zeros(3), corners])
    segments = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4), (4, 1)]
    return world_from_camera(view, ends[np.ravel(segments)])


def _colour(index: int, count: int) -> UInt8Array:
    return (np.array(colorsys.hsv_to_rgb((index + 0.5) / count, 0.85, 0.95)) * 255.0).astype(np.uint8)


class _Mesh:
    """Collects primitives of position and colour; every array is a multiple of 4 bytes, so all views are aligned."""

    def __init__(self) -> None:
        self._data = b""
        self._views: list[dict[str, int]] = []
        self._accessors: list[dict[str, Any]] = []
        self._primitives: list[dict[str, Any]] = []

    def add(self, mode: int, positions: NDArray[np.float64], rgb: UInt8Array) -> None:
        xyz = positions.astype("<f4")
        rgba = np.column_stack([rgb, np.full(len(rgb), 255, np.uint8)])
        bounds = {"min": xyz.min(axis=0).tolist(), "max": xyz.max(axis=0).tolist()}
        attributes = {
            "POSITION": self._accessor(xyz.tobytes(), componentType=_FLOAT, count=len(xyz), type="VEC3", **bounds),
            "COLOR_0": self._accessor(rgba.tobytes(), componentType=_UNSIGNED_BYTE, count=len(xyz), type="VEC4", normalized=True),
        }
        self._primitives.append({"attributes": attributes, "mode": mode})

    def _accessor(self, data: bytes, **facts: Any) -> int:
        self._views.append({"buffer": 0, "byteOffset": len(self._data), "byteLength": len(data), "target": _VERTEX_BUFFER})
        self._accessors.append({"bufferView": len(self._views) - 1, **facts})
        self._data += data
        return len(self._accessors) - 1

    def glb(self, extras: dict[str, str]) -> bytes:
        """The whole file; without primitives a scene without buffers. Raises InputError."""
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": f"depth_anything_ros {__version__}", "extras": extras},
            "scene": 0,
            "scenes": [{}],
        }
        if self._primitives:
            document |= {
                "scenes": [{"nodes": [0]}],
                "nodes": [{"mesh": 0}],
                "meshes": [{"primitives": self._primitives}],
                "accessors": self._accessors,
                "bufferViews": self._views,
                "buffers": [{"byteLength": len(self._data)}],
            }
        text = json.dumps(document, separators=(",", ":")).encode()
        body = _chunk(b"JSON", text + b" " * (-len(text) % 4)) + (_chunk(b"BIN\0", self._data) if self._data else b"")
        length = 12 + len(body)
        if length > _MOST_BYTES:
            raise InputError("input.shape", f"The scene has {length} bytes as GLB, which ends at 4 GiB; give fewer pictures, or write PLY.")
        return struct.pack("<4sII", b"glTF", 2, length) + body


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("<I4s", len(data), kind) + data
