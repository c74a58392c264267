"""Formats that `infer` and `reconstruct` write, by name, and what they need; their writers, which need OpenCV, are elsewhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from depth_anything_ros.errors import InputError, OptionError

if TYPE_CHECKING:
    from depth_anything_ros.types import ModelInfo

PICTURE_FILES = {
    "color": "_depth.png",
    "npz": ".npz",
    "pfm": ".pfm",
    "mm": "_mm.png",
    "pose": "_pose.json",
    "glb": ".glb",
    "ply": ".ply",
    "colmap": "_colmap",
    "colmap-text": "_colmap_text",
}
"""What follows the picture's name in that of the file or folder."""
SCENE_FILES = {
    "cameras": "cameras.json",
    "glb": "scene.glb",
    "ply": "scene.ply",
    "colmap": "colmap",
    "colmap-text": "colmap_text",
    "gaussians": "gaussians.ply",
}
"""Name of the file or folder."""
_WITH_POINTS = {"glb", "ply", "colmap", "colmap-text"}
_WITH_PLYFILE = {"ply", "gaussians"}


def check_formats(formats: Sequence[str], known: Collection[str]) -> None:
    """Raises OptionError for a name that is not known, and for a package that is missing: now, not when the depth was computed."""
    if unknown := [name for name in formats if name not in known]:
        raise OptionError("option.range", f"--formats {unknown[0]} is unknown; known: {', '.join(known)}.")
    if (wanted := _WITH_PLYFILE.intersection(formats)) and find_spec("plyfile") is None:
        raise OptionError("option.unknown", f"Format {min(wanted)} needs plyfile: pip install plyfile")


def check_model(formats: Sequence[str], info: ModelInfo, focal: float) -> None:
    """Raises OptionError or InputError for a format that a picture of this model, with this focal length (0: none), cannot have."""
    kind = info.kind.value if not info.needs_focal or focal else "relative_depth"
    if "mm" in formats and kind != "metric":
        get = "give --focal" if info.needs_focal else "take a metric model, or give --metric-model"
        raise OptionError("option.range", f"Format mm needs metres; {info.checkpoint} gives {kind}: {get}.")
    if "pose" in formats and not info.has_pose:
        raise OptionError("option.range", f"Format pose: {info.checkpoint} estimates no camera; take an any-view model.")
    points = _WITH_POINTS.intersection(formats)
    if points and kind == "relative_inverse_depth":
        raise OptionError(
            "option.range", f"Format {min(points)}: {info.checkpoint} gives inverse depth of unknown scale and shift: no points."
        )
    if points and not (info.has_pose or focal):
        raise InputError("input.intrinsics", f"Format {min(points)}: {info.checkpoint} estimates no camera; give --focal.")


def picture_files(stem: Path, formats: Sequence[str], given: Collection[str]) -> dict[str, Path]:
    """Format to what it is written to for the picture `stem`. Raises what `check_free` raises."""
    files = {name: Path(f"{stem}{PICTURE_FILES[name]}") for name in formats}
    check_free(files.values(), given)
    return files


def check_free(files: Iterable[Path], given: Collection[str]) -> None:
    """Raises OptionError where something that was given lies at one of the files. given: real paths."""
    for file in files:
        if os.path.realpath(file) in given:
            raise OptionError("option.range", f"--output {file.parent}: {file} would replace a file that was given; take another folder.")
