"""Files for other programs that `infer` writes for one picture and `reconstruct` for a scene, by format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from depth_anything_ros.export.cameras import write_cameras
from depth_anything_ros.export.colmap import write_colmap
from depth_anything_ros.export.gaussians import write_gaussians
from depth_anything_ros.export.glb import write_glb
from depth_anything_ros.export.ply import write_ply
from depth_anything_ros.export.views import View
from depth_anything_ros.types import Prediction

EXPORTS: dict[str, Callable[[Path, View], None]] = {
    "glb": lambda stem, view: write_glb(Path(f"{stem}.glb"), [view]),
    "ply": lambda stem, view: write_ply(Path(f"{stem}.ply"), [view]),
    "colmap": lambda stem, view: write_colmap(Path(f"{stem}_colmap"), [view]),
    "colmap-text": lambda stem, view: write_colmap(Path(f"{stem}_colmap_text"), [view], text=True),
}
"""Of one picture. Each takes the path without suffix, and the view."""


@dataclass(frozen=True)
class Scene:
    """Several views of one world, and what they were made of."""

    views: list[View]
    predictions: list[Prediction]
    metres_per_unit: float | None
    """Of the Gaussians, see `write_gaussians`."""


SCENE_EXPORTS: dict[str, tuple[str, Callable[[Path, Scene], object]]] = {
    "cameras": ("cameras.json", lambda path, scene: write_cameras(path, scene.views)),
    "glb": ("scene.glb", lambda path, scene: write_glb(path, scene.views)),
    "ply": ("scene.ply", lambda path, scene: write_ply(path, scene.views)),
    "colmap": ("colmap", lambda path, scene: write_colmap(path, scene.views)),
    "colmap-text": ("colmap_text", lambda path, scene: write_colmap(path, scene.views, text=True)),
    "gaussians": ("gaussians.ply", lambda path, scene: write_gaussians(path, scene.predictions, scene.metres_per_unit)),
}
"""Of a scene: name of the file or folder, and its writer."""
