"""Pictures for a camera bag: a scene with calibration and true depth, or the user's own.

"drive" is computed and lies in the package (`drive_file`); "motorcycle" is "Motorcycle" of the Middlebury 2014 stereo benchmark
(Scharstein et al., GCPR 2014), as scikit-image ships it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import read_picture
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.ros.drive_file import read_drive
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

# Calibration of the left picture, 741 x 500, from the docstring of skimage.data.stereo_motorcycle.
SCENE = Intrinsics(width=741, height=500, fx=994.978, fy=994.978, cx=311.193, cy=254.877)
BASELINE = 0.193001
"""Metres."""
DISPARITY_OFFSET = 31.086
"""Pixels between the two principal points."""
VIEW_WIDTH, VIEW_HEIGHT = 640, 480


def scene_shots(scene: str, frames: int) -> Iterator[Shot]:
    """The first `frames` pictures of the scene "drive", or that many of "motorcycle". Raises InputError ``input.file``."""
    return islice(read_drive(), frames) if scene == "drive" else motorcycle_pan(frames)


def motorcycle_pan(frames: int) -> Iterator[Shot]:
    """A window of 640 x 480 that glides over the scene from its left edge to its right edge.

    Each picture is an exact crop, so its intrinsics are the scene's with a shifted principal point. Raises InputError ``input.file``
    when scikit-image, or its picture, is not there.
    """
    left, depth = _motorcycle()
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


def _motorcycle() -> tuple[UInt8Array, Float32Array]:
    """The left picture and its depth in metres, NaN where there is none."""
    try:
        from skimage.data import stereo_motorcycle

        left, _, disparity = stereo_motorcycle()
    except (ImportError, OSError, ValueError) as error:
        raise InputError(
            "input.file", f"The sample scene comes with scikit-image 0.25 and later (pip install scikit-image): {error}"
        ) from error
    known = np.isfinite(disparity)
    depth = np.full(disparity.shape, np.nan, np.float32)
    depth[known] = SCENE.fx * BASELINE / (disparity[known] + DISPARITY_OFFSET)
    return left, depth
