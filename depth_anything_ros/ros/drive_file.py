"""A recorded drive in one small file: pictures as JPEG, true depth as PNG of its logarithm, calibration, poses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.types import Float32Array

DRIVE = Path(__file__).parents[1] / "samples" / "drive.npz"
"""A street of the nano models' test scenes (docs/nano.md): computed, with exact depth and poses."""
_NEAREST, _STEP = 0.1, 1e-3
"""Metres of code 1, and the logarithm of the ratio between neighbouring codes; code 0 is the sky."""
_QUALITY = 92


def write_drive(path: Path, shots: Iterable[Shot]) -> None:
    """Write the shots of one camera whose principal point is the middle; each has depth (inf is sky) and pose."""
    pictures, depths, poses, focal = [], [], [], 0.0
    for shot in shots:
        pictures.append(_encoded(".jpg", shot.rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY]))
        depths.append(_encoded(".png", _codes(shot.depth), [cv2.IMWRITE_PNG_COMPRESSION, 9]))
        poses.append(shot.pose)
        focal = shot.intrinsics.fx
    sizes = {"picture_sizes": [len(one) for one in pictures], "depth_sizes": [len(one) for one in depths]}
    np.savez(path, focal=focal, poses=np.stack(poses), pictures=np.concatenate(pictures), depths=np.concatenate(depths), **sizes)


def read_drive(path: Path = DRIVE) -> Iterator[Shot]:
    """The shots of a drive, depth within 0.05 %. Raises InputError ``input.file`` when the file is not there."""
    if not path.is_file():
        raise InputError("input.file", f"The recorded drive {path} is part of the package, but is not there; install it again.")
    with np.load(path) as drive:
        pictures, depths = _split(drive["pictures"], drive["picture_sizes"]), _split(drive["depths"], drive["depth_sizes"])
        focal, poses = float(drive["focal"]), drive["poses"]
    for picture, depth, pose in zip(pictures, depths, poses):
        rgb = np.ascontiguousarray(cv2.imdecode(picture, cv2.IMREAD_COLOR)[..., ::-1], np.uint8)
        height, width = rgb.shape[:2]
        yield Shot(rgb, centred_intrinsics(focal, width, height), _metres(cv2.imdecode(depth, cv2.IMREAD_UNCHANGED)), pose)


def _encoded(kind: str, array: NDArray[Any], options: list[int]) -> NDArray[np.uint8]:
    return np.asarray(cv2.imencode(kind, array, options)[1], np.uint8).reshape(-1)


def _split(joined: NDArray[np.uint8], sizes: NDArray[np.int_]) -> list[NDArray[np.uint8]]:
    return np.split(joined, np.cumsum(sizes)[:-1])


def _codes(depth: Float32Array | None) -> NDArray[np.uint16]:
    assert depth is not None
    known = np.isfinite(depth)
    codes = np.log(np.where(known, depth, _NEAREST) / _NEAREST) / _STEP
    return np.where(known, np.rint(codes) + 1, 0).astype(np.uint16)


def _metres(codes: NDArray[np.uint16]) -> Float32Array:
    metres = _NEAREST * np.exp((codes.astype(np.float32) - 1) * np.float32(_STEP))
    return np.where(codes > 0, metres, np.inf).astype(np.float32)
