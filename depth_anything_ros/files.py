"""Pictures in, depth maps out: the files that people use outside of ROS."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.types import Float32Array, UInt8Array

PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})

VIDEO_SUFFIXES = frozenset({".avi", ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpg", ".mpeg", ".ts", ".webm", ".wmv"})


def find_pictures(patterns: Sequence[str]) -> list[Path]:
    """Files named by paths or glob patterns (videos too), a folder standing for the pictures in it; each pattern's files are sorted.

    Raises InputError ``input.file`` when a pattern names nothing.
    """
    found: list[Path] = []
    for pattern in patterns:
        whole = Path(pattern).expanduser()
        paths = [whole] if whole.exists() else [Path(name) for name in sorted(glob.glob(str(whole), recursive=True))]
        files = [file for path in paths for file in (_pictures_in(path) if path.is_dir() else [path])]
        if not files:
            raise InputError("input.file", f"No picture found at {pattern}.")
        found += files
    return found


def read_picture(path: Path) -> UInt8Array:
    """uint8 RGB [H, W, 3], upright by its EXIF orientation. Raises InputError ``input.file``."""
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise InputError("input.file", f"Picture {path} cannot be read: {error.strerror}.") from error
    bgr = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if bgr is None:
        raise InputError("input.file", f"{path} is no picture that OpenCV can decode.")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def read_pictures(path: Path) -> Iterator[tuple[str, UInt8Array]]:
    """The picture of a file, or each picture of a video in turn, with a name: that of the file, for videos and the picture's number.

    uint8 RGB [H, W, 3]. Raises InputError ``input.file``.
    """
    if path.suffix.lower() not in VIDEO_SUFFIXES:
        yield path.stem, read_picture(path)
        return
    capture = cv2.VideoCapture(str(path))
    try:
        number = 0
        while capture.grab():
            _, bgr = capture.retrieve()
            yield f"{path.stem}_{number:06d}", np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)
            number += 1
    finally:
        capture.release()
    if number == 0:
        raise InputError("input.file", f"{path} is no video that OpenCV can decode.")


def count_pictures(path: Path) -> int:
    """How many pictures `read_pictures` will give, by what a video says of itself: an estimate, and 0 where it does not know."""
    if path.suffix.lower() not in VIDEO_SUFFIXES:
        return 1
    capture = cv2.VideoCapture(str(path))
    try:
        return max(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), 0)
    finally:
        capture.release()


def write_png(path: Path, values: NDArray[np.uint8] | NDArray[np.uint16]) -> None:
    """A PNG of uint8 RGB [H, W, 3], uint8 or uint16 [H, W]. Raises InputError ``input.file`` when it cannot be written."""
    picture = cv2.cvtColor(values, cv2.COLOR_RGB2BGR) if values.ndim == 3 else values
    write_file(path, cv2.imencode(".png", picture)[1].tobytes())


def write_pfm(path: Path, values: Float32Array) -> None:
    """A Portable Float Map of float32 [H, W]: rows from the bottom up, little endian; NaN and Inf stay what they are."""
    height, width = values.shape
    write_file(path, f"Pf\n{width} {height}\n-1.0\n".encode() + values[::-1].astype("<f4").tobytes())


def write_file(path: Path, data: bytes) -> None:
    """Raises InputError ``input.file`` when it cannot be written."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError("input.file", f"{path} cannot be written: {error.strerror}.") from error


def make_folder(folder: Path) -> None:
    """Raises InputError ``input.file`` when it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("input.file", f"Folder {folder} cannot be made: {error.strerror}.") from error


def _pictures_in(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.suffix.lower() in PICTURE_SUFFIXES)
