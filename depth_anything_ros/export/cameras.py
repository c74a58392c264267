"""The cameras of a scene as JSON: what `reconstruct` found, or what it is given (`--cameras`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.export.views import View, unit_of
from depth_anything_ros.files import write_file
from depth_anything_ros.types import Intrinsics, KnownCamera

_LONGEST = 200


def write_cameras(path: Path, views: list[View]) -> None:
    """Intrinsics of the original pictures (the centre of the first pixel is (0, 0)) and poses, with the unit of the translations.

    Raises InputError ``input.file`` when the file cannot be written.
    """
    cameras = [
        {"picture": view.name, "intrinsics": asdict(_of_picture(view)), "camera_from_world": view.camera_from_world.tolist()}
        for view in views
    ]
    write_file(path, json.dumps({"unit": unit_of(views), "cameras": cameras}, indent=1).encode())


def read_cameras(path: Path, names: list[str]) -> list[KnownCamera]:
    """The cameras of the pictures of those names; others in the file are passed over. Translations must be in metres.

    Raises InputError ``input.file`` for a file that cannot be read, has another unit, or lacks a picture.
    """
    try:
        scene = json.loads(path.read_text(encoding="utf-8"))
        unit, cameras = scene["unit"], {str(entry["picture"]): _camera(entry) for entry in scene["cameras"]}
    except (OSError, ValueError, ArithmeticError, TypeError, KeyError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]  # texts of others may hold the whole file
        raise InputError("input.file", f"{path} is no file of cameras as `reconstruct` writes them ({why}).") from error
    if unit != "metre":
        raise InputError("input.file", f"{path} has cameras in the unit {unit!r}; known cameras must be in metres (unit metre).")
    if missing := [name for name in names if name not in cameras]:
        raise InputError("input.file", f"{path} has no camera for {missing[0]}; known: {', '.join(sorted(cameras)[:8]) or 'none'}.")
    return [cameras[name] for name in names]


def _camera(entry: dict[str, Any]) -> KnownCamera:
    k = entry["intrinsics"]
    intrinsics = Intrinsics(int(k["width"]), int(k["height"]), *(float(k[name]) for name in ("fx", "fy", "cx", "cy")))
    return KnownCamera(intrinsics, np.asarray(entry["camera_from_world"], np.float64))


def _of_picture(view: View) -> Intrinsics:
    k, (width, height) = view.intrinsics, view.picture_size
    sx, sy = width / k.width, height / k.height
    return Intrinsics(width, height, k.fx * sx, k.fy * sy, k.cx * sx - 0.5, k.cy * sy - 0.5)
