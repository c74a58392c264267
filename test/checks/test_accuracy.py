"""Scores of predictions whose error is known, on the photograph with true depth."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from depth_anything_ros import DepthKind, Prediction
from depth_anything_ros.checks.accuracy import assess, score
from depth_anything_ros.motorcycle import read_motorcycle
from depth_anything_ros.types import Timings

TRUTH = read_motorcycle()[1]
KNOWN = np.isfinite(TRUTH)
METRIC, RELATIVE, INVERSE = DepthKind.METRIC, DepthKind.RELATIVE_DEPTH, DepthKind.RELATIVE_INVERSE_DEPTH


def prediction(kind: DepthKind, depth: np.ndarray) -> Prediction:
    return Prediction(kind, depth.astype(np.float32), None, None, None, None, Timings(0.0, 0.0, 0.0))


def filled() -> np.ndarray:
    return np.where(KNOWN, TRUTH, np.float32(3.0))


def test_the_truth_is_that_of_the_data_set() -> None:
    """Field data: 2.11 to 5.02 m, median 2.75 m; the formula is that of the docstring of skimage.data.stereo_motorcycle."""
    _, _, disparity = skimage.data.stereo_motorcycle()
    expected = 994.978 * 0.193001 / (disparity[np.isfinite(disparity)] + 31.086)
    np.testing.assert_allclose(TRUTH[KNOWN], expected, rtol=1e-6)
    assert (round(float(expected.min()), 2), round(float(expected.max()), 2)) == (2.11, 5.02)


@pytest.mark.parametrize(
    ("kind", "depth", "good"),
    [
        (RELATIVE, 0.01 * filled(), True),
        (METRIC, 1.1 * filled(), True),
        (METRIC, 2.0 * filled(), False),
        (INVERSE, 40.0 / filled() + 3.0, True),
        (INVERSE, filled(), False),
        (RELATIVE, 1.0 / filled(), False),
        (RELATIVE, np.random.default_rng(0).uniform(1.0, 2.0, TRUTH.shape), False),
        (RELATIVE, np.zeros(TRUTH.shape), False),
        (RELATIVE, np.full(TRUTH.shape, np.nan), False),
        (INVERSE, np.full(TRUTH.shape, np.nan), False),
        (INVERSE, np.where(np.indices(TRUTH.shape)[0] < 250, 40.0 / filled(), np.inf), False),
        (INVERSE, np.where(np.indices(TRUTH.shape)[0] % 100, 40.0 / filled(), np.nan), True),
        (RELATIVE, np.where(np.indices(TRUTH.shape)[0] % 100, filled(), np.inf), True),
    ],
)
def test_verdicts(kind: DepthKind, depth: np.ndarray, good: bool) -> None:
    assert assess(prediction(kind, depth), TRUTH).good is good


def test_numbers_of_a_known_error() -> None:
    verdict = assess(prediction(METRIC, 1.2 * filled()), TRUTH)
    assert verdict.metres is not None
    assert verdict.metres.abs_rel == pytest.approx(0.2, abs=1e-5) and verdict.metres.within == 1.0
    assert verdict.fitted.abs_rel == pytest.approx(0.0, abs=1e-5)
    assert assess(prediction(RELATIVE, filled()), TRUTH).metres is None
    half = score(np.array([1.0, 2.0, np.inf, -1.0], np.float32), np.array([1.0, 1.0, 1.0, 1.0], np.float32))
    assert half.abs_rel == pytest.approx(0.75) and half.within == 0.25


def test_the_plane_is_better_than_one_depth_for_all() -> None:
    """What an independent fit of 1/z over the pixel's place gives, by another weighting, is near."""
    plane = assess(prediction(RELATIVE, np.ones(TRUTH.shape)), TRUTH)
    assert plane.fitted.abs_rel > plane.plane.abs_rel
    rows, columns = np.nonzero(KNOWN)
    places = np.stack([rows, columns, np.ones(rows.size)], axis=1)
    other = 1.0 / (places @ np.linalg.lstsq(places, 1.0 / TRUTH[KNOWN], rcond=None)[0])
    assert plane.plane.abs_rel == pytest.approx(score(other.astype(np.float32), TRUTH[KNOWN]).abs_rel, rel=0.15)


def test_small_maps_are_compared_at_the_size_of_the_truth() -> None:
    smooth = filled()[::4, ::4]
    assert assess(prediction(RELATIVE, smooth), TRUTH).fitted.abs_rel < 0.05
