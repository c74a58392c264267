"""A snapshot on disk: one picture of each camera, what was made of it, and the parameters."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import make_folder, write_file, write_png
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.types import Products, UInt8Array


class Snapshot:
    """Folder of a snapshot that is asked for. `write` is called on a thread of the engine room, the rest on the executor's."""

    def __init__(self, folder: Path, cameras: list[str], parameters: dict[str, Any]) -> None:
        """parameters: name to value, written at once. Raises InputError ``input.file``."""
        self.folder = folder
        make_folder(folder)
        write_file(folder / "parameters.yaml", parameters_yaml(parameters).encode())
        self._lock = threading.Lock()
        self._waiting = set(cameras)
        self._error = ""

    @property
    def done(self) -> bool:
        with self._lock:
            return not self._waiting

    @property
    def problem(self) -> str:
        """What went wrong, or which cameras have given no picture yet; empty when all is written."""
        with self._lock:
            if self._error:
                return self._error
            missing = ", ".join(name or "the camera" for name in sorted(self._waiting))
            return f"no picture from {missing} was processed in time" if missing else ""

    def write(self, camera: str, products: Products, header: Any) -> None:
        """Once for each camera; a frame that was on its way when it was written changes nothing.

        When the disk refuses, that becomes the `problem`: the frame itself went out.
        """
        with self._lock:
            if camera not in self._waiting:
                return
        try:
            _write(self.folder / camera, products, header)
        except Exception as error:
            refused = f"{self.folder} cannot be written: {error.strerror}." if isinstance(error, OSError) else str(error)
            with self._lock:
                self._error = refused
            if not isinstance(error, (OSError, InputError)):
                raise
        finally:
            with self._lock:
                self._waiting.discard(camera)


def _write(folder: Path, products: Products, header: Any) -> None:
    make_folder(folder)
    frame = products.frame
    write_png(folder / "picture.png", frame.pixels[:, :, ::-1] if frame.bgr else frame.pixels)
    maps = {"depth": products.depth, "confidence": products.confidence, "sky_mask": products.sky_mask}
    unit = "metre" if products.metric else products.prediction.kind.value
    np.savez_compressed(folder / "depth.npz", unit=unit, **{name: one for name, one in maps.items() if one is not None})
    if products.color is not None:
        write_png(folder / "depth.png", products.color)
    if products.points is not None:
        write_file(folder / "points.ply", ply_of(products.points))
    facts = {
        "stamp_ns": stamp_ns(header.stamp),
        "frame_id": frame.frame_id,
        "unit": unit,
        "intrinsics": None if products.intrinsics is None else asdict(products.intrinsics),
    }
    write_file(folder / "frame.json", json.dumps(facts, indent=1).encode())


def ply_of(points: NDArray[np.void]) -> bytes:
    """Binary PLY of the valid points of a cloud (`geometry.POINT`): x, y, z in metres, red, green, blue."""
    valid = points[np.isfinite(points["z"])]
    vertices = np.empty(valid.shape, [(name, "<f4") for name in "xyz"] + [(name, "u1") for name in ("red", "green", "blue")])
    for name in "xyz":
        vertices[name] = valid[name]
    colours: UInt8Array = np.ascontiguousarray(valid["rgb"]).view(np.uint8).reshape(-1, 4)
    for name, column in (("red", 2), ("green", 1), ("blue", 0)):
        vertices[name] = colours[:, column]
    properties = "".join(f"property {'float' if name in 'xyz' else 'uchar'} {name}\n" for name in vertices.dtype.names or ())
    form = "format binary_little_endian 1.0\ncomment unit: metre, optical frame"
    return f"ply\n{form}\nelement vertex {len(vertices)}\n{properties}end_header\n".encode() + vertices.tobytes()


def parameters_yaml(parameters: dict[str, Any]) -> str:
    """A file that `--params-file` takes. JSON's scalars and lists are YAML's."""
    rows = "".join(f"    {name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in parameters.items())
    return "/**:\n  ros__parameters:\n" + rows
