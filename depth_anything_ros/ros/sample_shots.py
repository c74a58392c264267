"""Pictures for a camera bag: a scene with calibration and true depth, or the user's own.

"drive" is computed and lies in the package (`drive_file`); "motorcycle" is a photograph (`motorcycle`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros.files import read_picture
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.motorcycle import SCENE, read_motorcycle
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.ros.drive_file import read_drive
from depth_anything_ros.types import Intrinsics

VIEW_WIDTH, VIEW_HEIGHT = 640, 480


def scene_shots(scene: str, frames: int) -> Iterator[Shot]:
    """The first `frames` pictures of the scene "drive", or that many of "motorcycle". Raises InputError ``input.file``."""
    return islice(read_drive(), frames) if scene == "drive" else motorcycle_pan(frames)


def motorcycle_pan(frames: int) -> Iterator[Shot]:
    """A window of 640 x 480 that glides over the scene from its left edge to its right edge.

    Each picture is an exact crop, so its intrinsics are the scene's with a shifted principal point. Raises InputError ``input.file``
    when scikit-image, or its picture, is not there.
    """
    left, depth = read_motorcycle()
    top = (SCENE.height - VIEW_HEIGHT) // 2
    for x in np.linspace(0, SCENE.width - VIEW_WIDTH, frames).round().astype(int):
        window = (slice(top, top + VIEW_HEIGHT), slice(int(x), int(x) + VIEW_WIDTH))
        camera = Intrinsics(VIEW_WIDTH, VIEW_HEIGHT, SCENE.fx, SCENE.fy, SCENE.cx - int(x), SCENE.cy - top)
        yield Shot(left[window], camera, depth[window])


def own_pictures(paths: list[Path], fov: float, longest: int) -> Iterator[Shot]:
    """The user's pictures, upright (EXIF), made smaller where a side is longer than `longest`.

    fov: horizontal field of view that is assumed for every picture, degrees. Raises InputError for a file that is no picture.
    """
    for path in paths:
        rgb = read_picture(path)
        height, width = rgb.shape[:2]
        factor = longest / max(height, width)
        if factor < 1.0:
            size = (max(1, round(width * factor)), max(1, round(height * factor)))
            rgb = np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
        height, width = rgb.shape[:2]
        focal = width / 2.0 / math.tan(math.radians(fov) / 2.0)
        yield Shot(rgb, centred_intrinsics(focal, width, height))
