"""Pictures in, depth maps out: the files that people use outside of ROS."""

from __future__ import annotations

import errno
import glob
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.compressed import check_whole
from depth_anything_ros.errors import InputError
from depth_anything_ros.images import full_scale, to_eight_bits
from depth_anything_ros.paths import user_path
from depth_anything_ros.types import Float32Array, UInt8Array

PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})

VIDEO_SUFFIXES = frozenset({".avi", ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpg", ".mpeg", ".ts", ".webm", ".wmv"})


def find_pictures(patterns: Sequence[str]) -> list[Path]:
    """Files named by paths or glob patterns (videos too), a folder standing for the pictures in it; each pattern's files are sorted.

    Raises InputError ``input.file`` when a pattern names nothing, or what it names cannot be reached.
    """
    found: list[Path] = []
    for pattern in patterns:
        try:
            files = [file for path in _named(pattern) for file in (_pictures_in(path) if path.is_dir() else [path])]
        except OSError as error:
            raise InputError("input.file", f"{pattern} cannot be read: {error.strerror}.") from error
        if not files:
            raise InputError("input.file", f"No picture found at {pattern}.")
        found += dict.fromkeys(files)  # a pattern can name a folder and what is in it
    return found


def read_picture(path: Path) -> UInt8Array:
    """uint8 RGB [H, W, 3], upright by its EXIF orientation. 16 bits become 8 as those of a camera do (`images`); alpha is dropped.

    Raises InputError: ``input.file``, and ``input.shape`` for a JPEG or PNG that is cut.
    """
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise InputError("input.file", f"Picture {path} cannot be read: {error.strerror}.") from error
    try:
        check_whole(data.tobytes())
        picture = cv2.imdecode(data, cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH) if data.size else None
    except InputError as error:
        raise InputError(error.code, f"Picture {path}: {error}") from error
    except cv2.error as error:  # larger than OpenCV reads
        raise InputError("input.file", f"{path} is no picture that OpenCV can decode: {error.err}.") from error
    if picture is None:
        raise InputError("input.file", f"{path} is no picture that OpenCV can decode.")
    if picture.dtype == np.uint16:
        picture = to_eight_bits(picture) if picture.ndim == 2 else full_scale(picture)
    if picture.dtype != np.uint8:
        raise InputError("input.file", f"{path} has pixels of type {picture.dtype}; save it with 8 or 16 bits.")
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2RGB if picture.ndim == 2 else cv2.COLOR_BGR2RGB), np.uint8)


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
            yield f"{path.stem}_{number:06d}", grabbed_picture(capture, path, number)
            number += 1
    finally:
        capture.release()
    if number == 0:
        raise InputError("input.file", f"{path} is no video that OpenCV can decode.")


def grabbed_picture(capture: cv2.VideoCapture, path: Path, number: int) -> UInt8Array:
    """uint8 RGB [H, W, 3]: what was grabbed last of a video, its picture of that number. Raises InputError ``input.file``."""
    good, bgr = capture.retrieve()
    if not good:
        raise InputError("input.file", f"Picture {number} of the video {path} cannot be decoded; cut the video before it.")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new name beside `path` to write to: at the end that file takes the name `path`, after an error it is removed.

    A link stays one, and what it leads to is replaced. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EEXIST, "something else than a file is there", str(path))
    partial = target.with_name(f".{secrets.token_hex(8)}.partial")  # short, since names may be as long as a file system takes
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_file(path: Path, data: bytes) -> None:
    """The whole file or none: what was there stays until the new one is complete.

    Raises InputError ``input.file`` when it cannot be written.
    """
    try:
        with replacing(path) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise InputError("input.file", f"{path} cannot be written: {error.strerror}.") from error


def make_folder(folder: Path) -> None:
    """Raises InputError ``input.file`` when it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("input.file", f"Folder {folder} cannot be made: {error.strerror}.") from error


def _named(pattern: str) -> list[Path]:
    """What a path or pattern names, sorted. Raises OSError."""
    whole = user_path(pattern)
    try:
        whole.stat()
        return [whole]
    except (FileNotFoundError, NotADirectoryError):
        pass
    # What exists of a pattern is meant as it is: folders have brackets in their names too.
    fixed = next((parent for parent in whole.parents if parent.exists()), whole.parents[-1])
    names = glob.glob(os.path.join(glob.escape(str(fixed)), whole.relative_to(fixed)), recursive=True)
    return [Path(name) for name in sorted(names)]


def _pictures_in(folder: Path) -> list[Path]:
    """Without hidden files, which other systems leave beside pictures (``._photo.jpg``)."""
    files = (child for child in folder.iterdir() if child.suffix.lower() in PICTURE_SUFFIXES and not child.name.startswith("."))
    return sorted(file for file in files if file.is_file())
