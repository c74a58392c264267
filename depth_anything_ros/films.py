"""Pictures of one scene from files: several pictures, or some of a film, with a name for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import find_pictures, read_picture
from depth_anything_ros.types import UInt8Array

FILM_SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"})


def read_scene(patterns: Sequence[str], frames: int) -> dict[str, UInt8Array]:
    """Name to uint8 RGB [H, W, 3], in order. patterns: those of `find_pictures`, or one film, of which `frames` pictures are taken evenly.

    Raises InputError ``input.file`` for what cannot be read, and for two pictures of one name.
    """
    if any(Path(pattern).suffix.lower() in FILM_SUFFIXES for pattern in patterns):
        if len(patterns) > 1:
            raise InputError("input.file", f"A film stands alone; {len(patterns)} paths were given.")
        return read_film(Path(patterns[0]).expanduser(), frames)
    pictures: dict[str, UInt8Array] = {}
    for path in find_pictures(patterns):
        if path.name in pictures:
            raise InputError("input.file", f"Two pictures are called {path.name}; names in a scene must differ.")
        pictures[path.name] = read_picture(path)
    return pictures


def read_film(path: Path, frames: int) -> dict[str, UInt8Array]:
    """`frames` pictures at even distances over the whole film, all where it has fewer; named ``frame_000123.png`` by their number.

    Raises InputError ``input.file`` for a film that cannot be read.
    """
    # Containers do not always know how many pictures they hold, nor lead to the right one: all are passed, twice.
    count = sum(1 for _ in iter(_opened(path).grab, False))
    if count == 0:
        raise InputError("input.file", f"{path} is no film that OpenCV can decode.")
    wanted = set(np.unique(np.linspace(0, count - 1, frames).round().astype(int)).tolist())
    film, pictures = _opened(path), {}
    for number in range(count):
        if film.grab() and number in wanted:
            pictures[f"frame_{number:06}.png"] = np.asarray(cv2.cvtColor(film.retrieve()[1], cv2.COLOR_BGR2RGB), np.uint8)
    return pictures


def _opened(path: Path) -> cv2.VideoCapture:
    if not path.is_file():
        raise InputError("input.file", f"Film {path} cannot be read: no such file.")
    return cv2.VideoCapture(str(path))
