"""How far a prediction is from true depth, and whether that is what a trained network gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depth_anything_ros.depth import resize, to_metres
from depth_anything_ros.types import DepthKind, Float32Array, Prediction, Scale

RATIO = 1.25
BETTER_THAN_PLANE = 0.5
"""A network that sees the scene has at most so much of the error of the best plane through the truth."""
METRES = 0.3
"""AbsRel that metres may have as they come, without a fit."""


@dataclass(frozen=True)
class Score:
    """Over the pixels with truth: mean of |a - b| / b, and share of pixels where a and b are within `RATIO` of each other."""

    abs_rel: float
    within: float


@dataclass(frozen=True)
class Verdict:
    fitted: Score
    """After the best scale (inverse depth: scale and shift)."""
    metres: Score | None
    """As they come; None where the prediction has no metres."""
    plane: Score
    """Of the best plane through the truth: what needs no network."""

    @property
    def good(self) -> bool:
        metres = self.metres is None or self.metres.abs_rel <= METRES
        return self.fitted.abs_rel <= BETTER_THAN_PLANE * self.plane.abs_rel and metres


def assess(prediction: Prediction, truth: Float32Array) -> Verdict:
    """truth: float32 [H, W], metres, NaN where there is none, of the whole picture that the prediction is of."""
    height, width = truth.shape
    known = np.isfinite(truth)
    found, true = resize(prediction.depth, width, height)[known], truth[known]
    fitted = to_metres(found, prediction.kind, _fit(found, true, prediction.kind))
    metres = score(found, true) if prediction.kind is DepthKind.METRIC else None
    return Verdict(score(fitted, true), metres, score(_plane(truth)[known], true))


def score(found: Float32Array, true: Float32Array) -> Score:
    """Of metres [N]; what is infinite or not positive is wrong by all of the truth."""
    usable = np.isfinite(found) & (found > 0.0)
    error = np.where(usable, np.abs(np.where(usable, found, 0.0) - true) / true, 1.0)
    ratio = np.where(usable, np.maximum(found / true, true / np.where(usable, found, 1.0)), np.inf)
    return Score(float(error.mean()), float((ratio < RATIO).mean()))


def _fit(found: Float32Array, true: Float32Array, kind: DepthKind) -> Scale:
    finite = np.isfinite(found)
    if kind is not DepthKind.RELATIVE_INVERSE_DEPTH:
        usable = finite & (found > 0.0)
        return Scale(float(np.median(true[usable] / found[usable])) if usable.any() else 1.0)
    columns = np.stack([found[finite], np.ones_like(found[finite])], axis=1)
    factor, shift = np.linalg.lstsq(columns, 1.0 / true[finite], rcond=None)[0]
    # Near is large: a map that is the wrong way round is fitted by a constant.
    return Scale(float(factor), float(shift)) if factor > 0.0 else Scale(0.0, float(np.median(1.0 / true)))


def _plane(truth: Float32Array) -> Float32Array:
    """Depth of the plane that fits best: of a plane, 1/z is linear in the pixel's place."""
    rows, columns = np.indices(truth.shape, np.float32)
    places = np.stack([rows, columns, np.ones_like(rows)], axis=-1)
    known = np.isfinite(truth)
    # Weights make it the relative error of z that is small.
    weights = truth[known][:, np.newaxis]
    factors = np.linalg.lstsq(places[known] * weights, np.ones(int(known.sum())), rcond=None)[0]
    return np.asarray(1.0 / np.maximum(places @ factors, 1e-6), np.float32)
