"""Pictures of one scene from files: several pictures, or some of a video, with a name for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import VIDEO_SUFFIXES, find_pictures, grabbed_picture, read_picture
from depth_anything_ros.types import UInt8Array


def read_scene(patterns: Sequence[str], frames: int) -> dict[str, UInt8Array]:
    """Name to uint8 RGB [H, W, 3], in order.

    patterns: of pictures, see `find_pictures`, or of one video, of which `frames` pictures are taken.

    Raises InputError ``input.file`` for what cannot be read, and for two pictures of one name.
    """
    paths = find_pictures(patterns)
    if any(path.suffix.lower() in VIDEO_SUFFIXES for path in paths):
        if len(paths) > 1:
            raise InputError("input.file", f"A video is a scene of its own; {len(paths)} files were given.")
        return read_video(paths[0], frames)
    pictures: dict[str, UInt8Array] = {}
    for path in paths:
        if path.name in pictures:
            raise InputError("input.file", f"Two pictures are called {path.name}; names in a scene must differ.")
        pictures[path.name] = read_picture(path)
    return pictures


def read_video(path: Path, frames: int) -> dict[str, UInt8Array]:
    """`frames` pictures at even distances over the whole video, all where it has fewer; named ``frame_000123.png`` by their number.

    Raises InputError ``input.file`` for a video that cannot be read.
    """
    # Containers do not always know how many pictures they hold, nor lead to the right one: all are passed, twice.
    count = sum(1 for _ in iter(cv2.VideoCapture(str(path)).grab, False))
    if count == 0:
        raise InputError("input.file", f"{path} is no video that OpenCV can decode.")
    wanted = set(np.unique(np.linspace(0, count - 1, frames).round().astype(int)).tolist())
    video, pictures = cv2.VideoCapture(str(path)), {}
    for number in range(count):
        if video.grab() and number in wanted:
            pictures[f"frame_{number:06}.png"] = grabbed_picture(video, path, number)
    return pictures
