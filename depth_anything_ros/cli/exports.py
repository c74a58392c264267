"""Files for other programs that `infer` writes for one picture and `reconstruct` for a scene, by format; each takes its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from depth_anything_ros.export.cameras import write_cameras
from depth_anything_ros.export.colmap import write_colmap
from depth_anything_ros.export.gaussians import write_gaussians
from depth_anything_ros.export.glb import write_glb
from depth_anything_ros.export.ply import write_ply
from depth_anything_ros.export.views import View
from depth_anything_ros.files import make_folder, write_png
from depth_anything_ros.types import Prediction, UInt8Array

EXPORTS: dict[str, Callable[[Path, list[View]], None]] = {
    "glb": write_glb,
    "ply": write_ply,
    "colmap": write_colmap,
    "colmap-text": partial(write_colmap, text=True),
}
"""Of one view or of several."""


@dataclass(frozen=True)
class Scene:
    """Several views of one world, and what they were made of."""

    views: list[View]
    predictions: list[Prediction]
    metres_per_unit: float | None
    """Of the Gaussians, see `write_gaussians`."""
    images: dict[str, UInt8Array]
    """Pictures that lie in no files of their own, RGB by name; empty where all do."""

    def write(self, name: str, path: Path) -> None:
        """The format of that name; with a COLMAP model, whose readers look for the pictures by name, the images beside it."""
        if name in ("colmap", "colmap-text") and self.images:
            make_folder(path.parent / "images")
            for image, pixels in self.images.items():
                write_png(path.parent / "images" / image, pixels)
        if name == "gaussians":
            write_gaussians(path, self.predictions, self.metres_per_unit)
        else:
            {**EXPORTS, "cameras": write_cameras}[name](path, self.views)
