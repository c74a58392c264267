"""Scale from measured ranges (laser, sonar, another depth camera): their points, seen in the depth map, give the ratio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.scale.camera import of_map
from depth_anything_ros.scale.estimate import Deliver, Estimate, Refusal, WithoutMemory
from depth_anything_ros.types import DepthKind, Float32Array, Frame, Intrinsics, Prediction, Scale

Float64Array = NDArray[np.float64]

_STEEPEST = 0.1
"""Beside an edge (neighbours differ by this share) a small error of the pose would compare two different things."""
_SOLITARY = 4
"""Up to so many points are single beams; from more a majority is asked for."""
_WIDEST_SPREAD = 0.25
_TRIALS = 200
_LEAST_CONTRAST = 0.2
"""Relative range of measured inverse depth below which scale and shift cannot be told apart."""


@dataclass(frozen=True)
class Ranges:
    """Measured points of one moment."""

    points: Float64Array
    """float64 [n, 3], metres, optical frame of the camera at the time of the picture."""
    cone: float = 0.0
    """Half the opening angle of a beam, radians; what counts is the nearest thing in it. 0 is a thin beam."""


def pairs(values: Float32Array, intrinsics: Intrinsics, ranges: Ranges, *, inverse: bool) -> tuple[Float64Array, Float64Array]:
    """What the network and the sensor say of the same points: (values [n], metres along z [n]).

    values: float32 [h, w]. intrinsics: of the map. inverse: near is large. Points outside of the picture and beside edges are left out.
    """
    points = ranges.points[np.isfinite(ranges.points).all(axis=1)]
    points = points[points[:, 2] > 1e-3]
    u = points[:, 0] / points[:, 2] * intrinsics.fx + intrinsics.cx
    v = points[:, 1] / points[:, 2] * intrinsics.fy + intrinsics.cy
    height, width = values.shape
    inside = (u >= 0.0) & (u <= width - 1) & (v >= 0.0) & (v <= height - 1)
    columns, rows, metres = np.rint(u[inside]).astype(int), np.rint(v[inside]).astype(int), points[inside, 2]
    if ranges.cone > 0.0:
        found = [_nearest(values, row, column, ranges.cone * intrinsics.fx, inverse) for row, column in zip(rows, columns)]
        return np.array(found, np.float64), metres
    kernel = np.ones((3, 3), np.uint8)
    high, low = (cv2.dilate(values, kernel)[rows, columns], cv2.erode(values, kernel)[rows, columns])
    here = values[rows, columns].astype(np.float64)
    with np.errstate(invalid="ignore"):
        flat = np.isfinite(here) & (here > 0.0) & (high - low < _STEEPEST * here)
    return here[flat], metres[flat]


def fit_factor(values: Float64Array, metres: Float64Array) -> tuple[float, float, float] | None:
    """Metres per unit of relative depth: (median ratio, its relative spread, share of the points near it); None without points."""
    if not len(values):
        return None
    logs = np.log(metres / values)
    centre = float(np.median(logs))
    deviations = np.abs(logs - centre)
    return float(np.exp(centre)), 1.4826 * float(np.median(deviations)), float(np.mean(deviations < _WIDEST_SPREAD))


def fit_line(values: Float64Array, metres: Float64Array) -> tuple[Scale, float] | None:
    """Scale and shift of inverse depth, 1 / z = factor * value + shift, with the spread of z; None where they cannot be told apart.

    The line through two points that most points agree with (RANSAC), then least squares over those; the same points give the same line.
    """
    inverse = 1.0 / metres
    if len(values) < 2 * _SOLITARY or np.ptp(inverse) < _LEAST_CONTRAST * np.median(inverse):
        return None
    picks = np.random.default_rng(0).integers(0, len(values), (_TRIALS, 2))
    run, rise = np.diff(values[picks], axis=1)[:, 0], np.diff(inverse[picks], axis=1)[:, 0]
    usable = np.abs(run) > 0.1 * np.ptp(values)
    if not usable.any():
        return None
    slopes = rise[usable] / run[usable]
    shifts = inverse[picks[usable, 0]] - slopes * values[picks[usable, 0]]
    off = np.abs(values[:, np.newaxis] * slopes + shifts - inverse[:, np.newaxis]) * metres[:, np.newaxis]
    best = int(np.argmax(np.count_nonzero(off < _STEEPEST, axis=0) * (slopes > 0.0)))
    near = off[:, best] < _STEEPEST
    if slopes[best] <= 0.0 or np.count_nonzero(near) < max(2 * _SOLITARY, len(values) / 2):
        return None
    # Errors of 1 / z are compared as shares of 1 / z, hence the weight z.
    weighted = np.stack([values[near], np.ones(np.count_nonzero(near))], axis=1) * metres[near, np.newaxis]
    factor, shift = np.linalg.lstsq(weighted, np.ones(len(weighted)), rcond=None)[0]
    spread = 1.4826 * float(np.median(np.abs(weighted @ (factor, shift) - 1.0)))
    return (Scale(float(factor), float(shift)), spread) if factor > 0.0 else None


class RangeSource(WithoutMemory):
    """Every frame: the newest measurements near its time against its depth."""

    least = 3
    kinds = frozenset({DepthKind.RELATIVE_DEPTH, DepthKind.RELATIVE_INVERSE_DEPTH})

    def __init__(self, measured: Callable[[Frame], list[Ranges] | Refusal]) -> None:
        """measured: what the sensors saw at the moment of a frame."""
        self._measured = measured

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        intrinsics = of_map(frame, prediction)
        if intrinsics is None:
            deliver(Refusal("ranges cannot be found in the picture without camera_info, focal, or the model's own estimate"))
            return
        measured = self._measured(frame)
        deliver(measured if isinstance(measured, Refusal) else _compared(frame, prediction, intrinsics, measured))


def _compared(frame: Frame, prediction: Prediction, intrinsics: Intrinsics, measured: list[Ranges]) -> Estimate | Refusal:
    inverse = prediction.kind is DepthKind.RELATIVE_INVERSE_DEPTH
    found = [pairs(prediction.depth, intrinsics, ranges, inverse=inverse) for ranges in measured]
    values, metres = (np.concatenate(part) for part in zip(*found))
    if not len(values):
        return Refusal("no measured point lies in the picture, away from edges")
    if inverse:
        line = fit_line(values, metres)
        if line is None:
            return Refusal(f"{len(values)} measured points do not give scale and shift: too few, too alike, or they disagree")
        return Estimate(frame.stamp_ns, *line)
    factor, spread, share = fit_factor(values, metres)  # type: ignore[misc]
    if len(values) > _SOLITARY and (spread > _WIDEST_SPREAD or share < 0.5):
        return Refusal(f"{len(values)} measured points disagree with the depth's shape (spread {spread:.2f})")
    return Estimate(frame.stamp_ns, Scale(factor), spread)


def _nearest(values: Float32Array, row: int, column: int, radius: float, inverse: bool) -> float:
    """The nearest thing (the nearest twentieth of the pixels) in a circle."""
    reach = max(1, round(min(radius, sum(values.shape))))
    top, left = max(0, row - reach), max(0, column - reach)
    part = values[top : row + reach + 1, left : column + reach + 1]
    v, u = np.ogrid[: part.shape[0], : part.shape[1]]
    seen = part[(v + top - row) ** 2 + (u + left - column) ** 2 <= reach * reach]
    return float(np.quantile(seen, 0.95 if inverse else 0.05))
