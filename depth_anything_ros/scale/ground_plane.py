"""Scale from the camera's height above the ground: a plane is fitted to relative depth, and its distance is that height."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.scale.camera import of_map
from depth_anything_ros.scale.estimate import Deliver, Estimate, Refusal, WithoutMemory
from depth_anything_ros.types import DepthKind, Float32Array, Frame, Intrinsics, Prediction, Scale

Float64Array = NDArray[np.float64]

_SAMPLES = 4000
_TRIALS = 200
_BAND = 0.06
"""A point belongs to a plane if its depth is within this share of the plane's."""
_FINEST_BAND = 1e-3
_LEAST_SHARE = 0.3
"""Of the points that look down, how many the ground must hold."""
_MOST_BELOW = 0.05
"""Of them, how many may lie below the ground: below a table there is a floor."""
_STEEPEST = np.sin(np.radians(3.0))
"""Rays that look down less than this never meet the ground nearby."""
_FEWEST = 100


@dataclass(frozen=True)
class Ground:
    """A plane below the camera, in units of the depth that it was fitted to."""

    down: Float64Array
    """float64 [3], unit vector from the camera to the plane, optical frame."""
    distance: float
    spread: float
    """Relative deviation (1.48 MAD) of the depth of its points from the plane's."""
    share: float
    """Of the points that look down, those on the plane."""


@dataclass(frozen=True)
class CameraHeight:
    """Where the ground is expected."""

    height: float
    """Of the camera above the ground, metres."""
    down: Float64Array
    """float64 [3], unit vector of gravity in the optical frame."""
    tolerance: float
    """How far the ground's normal may be from `down`, radians."""


def fit_ground(
    depth: Float32Array, intrinsics: Intrinsics, down: Float64Array, tolerance: float, usable: NDArray[np.bool_] | None = None
) -> Ground | None:
    """The plane that the ground is, or None where none can be told.

    depth: float32 [h, w] along z, any unit. intrinsics: of the map. down, tolerance: see `CameraHeight`. usable: bool [h, w], points that
    may count. RANSAC (Fischler and Bolles 1981) over planes a with a . ray = 1 / z, then least squares over the points in its band. The
    same map gives the same plane.
    """
    rays, z = _points_that_look_down(depth, intrinsics, down, usable)
    if len(z) < _FEWEST:
        return None
    planes = _candidates(rays, z, down, np.cos(tolerance))
    if not len(planes):
        return None
    ratios = (rays @ planes.T) * z[:, np.newaxis]
    """Depth over the plane's, [points, planes]: 1 on it, more below it."""
    counts = np.count_nonzero(np.abs(ratios - 1.0) < _BAND, axis=0)
    below = np.count_nonzero(ratios > 1.0 + 2.0 * _BAND, axis=0)
    counts[below > _MOST_BELOW * len(z)] = 0
    best = int(np.argmax(counts))
    if counts[best] < max(_FEWEST / 2, _LEAST_SHARE * len(z)):
        return None
    return _refined(rays, z, planes[best])


def _points_that_look_down(
    depth: Float32Array, intrinsics: Intrinsics, down: Float64Array, usable: NDArray[np.bool_] | None
) -> tuple[Float64Array, Float64Array]:
    """Rays [n, 3] with z = 1 and depths [n] of a grid over the map."""
    height, width = depth.shape
    stride = max(1, round((height * width / _SAMPLES) ** 0.5))
    v, u = np.mgrid[stride // 2 : height : stride, stride // 2 : width : stride]
    z = depth[v, u].astype(np.float64)
    rays = np.stack([(u - intrinsics.cx) / intrinsics.fx, (v - intrinsics.cy) / intrinsics.fy, np.ones(u.shape)], axis=-1)
    with np.errstate(invalid="ignore"):
        keep = np.isfinite(z) & (z > 0.0) & (rays @ down > _STEEPEST * np.linalg.norm(rays, axis=-1))
    if usable is not None:
        keep &= usable[v, u]
    return rays[keep], z[keep]


def _candidates(rays: Float64Array, z: Float64Array, down: Float64Array, least_cosine: float) -> Float64Array:
    """Planes [k, 3] through three random points each that lie as the ground may."""
    picks = np.random.default_rng(0).integers(0, len(z), (_TRIALS, 3))
    corners = rays[picks]
    corners = corners[np.abs(np.linalg.det(corners)) > 1e-4]
    picks = picks[np.abs(np.linalg.det(rays[picks])) > 1e-4]
    planes = np.linalg.solve(corners, (1.0 / z[picks])[..., np.newaxis])[..., 0]
    lengths = np.linalg.norm(planes, axis=1)
    return np.asarray(planes[(planes @ down) > least_cosine * lengths], np.float64)


def _refined(rays: Float64Array, z: Float64Array, plane: Float64Array) -> Ground | None:
    """Least squares over the points in a band that narrows to the noise, so that the feet of walls fall out of it."""
    band = _BAND
    for _ in range(5):
        near = np.abs(rays @ plane * z - 1.0) < band
        if np.count_nonzero(near) < 3:
            return None
        plane = np.asarray(np.linalg.lstsq(rays[near] * z[near, np.newaxis], np.ones(np.count_nonzero(near)), rcond=None)[0], np.float64)
        residuals = np.abs(rays @ plane * z - 1.0)
        spread = 1.4826 * float(np.median(residuals[near]))
        band = min(max(3.0 * spread, _FINEST_BAND), _BAND)
    length = float(np.linalg.norm(plane))
    return Ground(plane / length, 1.0 / length, spread, float(np.mean(residuals < _BAND)))


class CameraHeightSource(WithoutMemory):
    """Every frame: the ground's distance in the frame's own unit against the camera's height."""

    least = 3
    kinds = frozenset({DepthKind.RELATIVE_DEPTH})

    def __init__(self, where: Callable[[Frame], CameraHeight | Refusal]) -> None:
        """where: what is known about the ground at the moment of a frame."""
        self._where = where

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        intrinsics = of_map(frame, prediction)
        if intrinsics is None:
            deliver(Refusal("the ground cannot be found without camera_info, focal, or the model's own estimate"))
            return
        expected = self._where(frame)
        if isinstance(expected, Refusal):
            deliver(expected)
            return
        ground = fit_ground(prediction.depth, intrinsics, expected.down, expected.tolerance)
        if ground is None:
            deliver(Refusal("no ground is seen"))
            return
        deliver(Estimate(frame.stamp_ns, Scale(expected.height / ground.distance), ground.spread))
