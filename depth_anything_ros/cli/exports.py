"""Files for other programs that `infer` writes for one picture, by format. Each takes the path without suffix, and the view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from depth_anything_ros.export.colmap import write_colmap
from depth_anything_ros.export.glb import write_glb
from depth_anything_ros.export.ply import write_ply
from depth_anything_ros.export.views import View

EXPORTS: dict[str, Callable[[Path, View], None]] = {
    "glb": lambda stem, view: write_glb(Path(f"{stem}.glb"), [view]),
    "ply": lambda stem, view: write_ply(Path(f"{stem}.ply"), [view]),
    "colmap": lambda stem, view: write_colmap(Path(f"{stem}_colmap"), [view]),
    "colmap-text": lambda stem, view: write_colmap(Path(f"{stem}_colmap_text"), [view], text=True),
}
