"""Points in metres from two pictures and the known way between them: features are followed, and their rays intersected."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.types import Intrinsics, UInt8Array

Float64Array = NDArray[np.float64]

_MOST_FEATURES = 600
_LARGEST_ERROR = 1.0
"""Pixels, both pictures together, between a feature and where its point projects to."""
_LEAST_PARALLAX = np.cos(np.radians(1.0))
_WINDOW, _LEVELS = (15, 15), 4
_LARGEST_RETURN = 0.5
"""Pixels by which a feature that is followed there and back may miss itself."""


def triangulate(here: UInt8Array, there: UInt8Array, there_from_here: Float64Array, camera: Intrinsics, *, bgr: bool) -> Float64Array:
    """float64 [n, 3] in the first camera's optical frame, in the unit of the way.

    here, there: uint8 [H, W, 3], the same camera at two places. there_from_here: float64 [4, 4]. Features are followed in a pyramid (Lucas
    and Kanade); points whose rays miss each other or are nearly parallel are left out.
    """
    first, second = _followed(_grey(here, bgr), _grey(there, bgr))
    if not len(first):
        return np.empty((0, 3))
    matrix = np.array([[camera.fx, 0.0, camera.cx], [0.0, camera.fy, camera.cy], [0.0, 0.0, 1.0]])
    homogeneous = cv2.triangulatePoints(matrix @ np.eye(3, 4), matrix @ there_from_here[:3], first.T, second.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = (homogeneous[:3] / homogeneous[3]).T
        moved = points @ there_from_here[:3, :3].T + there_from_here[:3, 3]
        error = _distance(points, first, matrix) + _distance(moved, second, matrix)
        other = points + there_from_here[:3, :3].T @ there_from_here[:3, 3]  # the ray from the second camera, in the first one's axes
        cosine = np.einsum("ni,ni->n", points, other) / np.linalg.norm(points, axis=1) / np.linalg.norm(other, axis=1)
        good = (points[:, 2] > 0.0) & (moved[:, 2] > 0.0) & (error < _LARGEST_ERROR) & (cosine < _LEAST_PARALLAX)
    return np.asarray(points[good], np.float64)


def _followed(here: UInt8Array, there: UInt8Array) -> tuple[Float64Array, Float64Array]:
    """Places [n, 2] of the same features in both pictures."""
    nothing = np.empty((0, 2))
    found = cv2.goodFeaturesToTrack(here, _MOST_FEATURES, 0.01, 5)
    if found is None:
        return nothing, nothing
    moved, seen, _ = cv2.calcOpticalFlowPyrLK(here, there, found, np.empty_like(found), winSize=_WINDOW, maxLevel=_LEVELS)
    back, seen_back, _ = cv2.calcOpticalFlowPyrLK(there, here, moved, np.empty_like(found), winSize=_WINDOW, maxLevel=_LEVELS)
    misses = np.linalg.norm((back - found)[:, 0], axis=1)
    good = (seen[:, 0] > 0) & (seen_back[:, 0] > 0) & (misses < _LARGEST_RETURN)
    return found[good, 0].astype(np.float64), moved[good, 0].astype(np.float64)


def _distance(points: Float64Array, pixels: Float64Array, matrix: Float64Array) -> Float64Array:
    """From pixels [n, 2] to the projections of points [n, 3]."""
    projected = points @ matrix.T
    return np.asarray(np.linalg.norm(projected[:, :2] / projected[:, 2:] - pixels, axis=1), np.float64)


def _grey(pixels: UInt8Array, bgr: bool) -> UInt8Array:
    code = cv2.COLOR_BGR2GRAY if bgr else cv2.COLOR_RGB2GRAY
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels), code), np.uint8)
