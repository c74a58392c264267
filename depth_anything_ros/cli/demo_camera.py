"""The camera of the verb demo: a scene, or own pictures, as a bag."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from depth_anything_ros.cli.sample import LONGEST

if TYPE_CHECKING:
    from depth_anything_ros.ros.camera_bag import Shot

FRAMES, RATE = 40, 10.0
_SCENES = {
    "drive": "a computed street that the nano models were not trained on, with exact depth",
    "motorcycle": "Motorcycle (Middlebury 2014, from scikit-image), a photograph with real intrinsics and true depth",
}


def shots_of(arguments: argparse.Namespace) -> Callable[[], Iterator[Shot]]:
    """Begins the pictures anew at every call. Raises InputError when nothing is found."""
    from depth_anything_ros.files import find_pictures
    from depth_anything_ros.ros.sample_shots import own_pictures, scene_shots

    if not arguments.images:
        return lambda: scene_shots(arguments.scene, FRAMES)
    paths = find_pictures(arguments.images)
    return lambda: own_pictures(paths, arguments.fov, LONGEST)


def write_bag(arguments: argparse.Namespace, folder: Path, shots: Iterator[Shot]) -> int:
    """Number of frames in the new bag."""
    from depth_anything_ros.ros.camera_bag import IMAGE, write_camera_bag

    count = write_camera_bag(folder, shots, RATE)[IMAGE]
    if arguments.images:
        print(f"     {count} pictures; calibration ASSUMED: horizontal field of view {arguments.fov:g} degrees (--fov)")
    else:
        print(f"     {count} frames, {RATE:g} Hz: {_SCENES[arguments.scene]}")
    print(f"     {folder}", flush=True)
    return count
