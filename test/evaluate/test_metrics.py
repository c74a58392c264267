"""The numbers against their definitions written out pixel by pixel, and against cases that can be solved by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from depth_anything_ros.evaluate.alignment import factor_of
from depth_anything_ros.evaluate.metrics import Drift, ErrorSums, in_band, known_truth


def by_definition(predicted: list[float], true: list[float]) -> dict[str, float]:
    """Straight from the papers, in plain Python: D. Eigen et al. 2014 (equations of section 4), KITTI's SILog."""
    pairs = [(p, t) for p, t in zip(predicted, true) if math.isfinite(p) and p > 0]
    count = len(pairs)
    logs = [math.log(p) - math.log(t) for p, t in pairs]
    ratios = [max(p / t, t / p) for p, t in pairs]
    return {
        "abs_rel": sum(abs(p - t) / t for p, t in pairs) / count,
        "rmse": math.sqrt(sum((p - t) ** 2 for p, t in pairs) / count),
        "delta1": sum(ratio < 1.25 for ratio in ratios) / count,
        "delta2": sum(ratio < 1.25**2 for ratio in ratios) / count,
        "delta3": sum(ratio < 1.25**3 for ratio in ratios) / count,
        "silog": 100.0 * math.sqrt(sum(one**2 for one in logs) / count - (sum(logs) / count) ** 2),
        "coverage": count / len(true),
    }


@pytest.mark.parametrize("noise", [0.02, 0.3, 1.0])
def test_numbers_are_those_of_the_definitions(noise: float) -> None:
    random = np.random.default_rng(3)
    true = random.uniform(0.5, 80.0, 500)
    predicted = true * np.exp(random.normal(0.1, noise, 500))
    predicted[::17] = np.nan
    predicted[5::50] = np.inf
    predicted[7::90] = -1.0
    expected = by_definition(predicted.tolist(), true.tolist())
    assert ErrorSums.of(predicted, true).numbers() == pytest.approx(expected, rel=1e-9)


def test_a_wrong_scale_alone() -> None:
    true = np.linspace(1.0, 10.0, 100)
    numbers = ErrorSums.of(1.1 * true, true).numbers()
    assert numbers["abs_rel"] == pytest.approx(0.1)
    assert numbers["rmse"] == pytest.approx(0.1 * math.sqrt(np.mean(true**2)))
    assert numbers["silog"] == pytest.approx(0.0, abs=1e-4)
    assert numbers["delta1"] == numbers["delta3"] == numbers["coverage"] == 1.0
    assert ErrorSums.of(1.3 * true, true).numbers()["delta1"] == 0.0
    assert ErrorSums.of(1.3 * true, true).numbers()["delta2"] == 1.0


def test_sums_of_parts_are_those_of_the_whole() -> None:
    random = np.random.default_rng(4)
    true, predicted = random.uniform(1, 50, 900), random.uniform(1, 50, 900)
    whole, parts = ErrorSums.of(predicted, true), ErrorSums()
    for number in range(9):
        parts += ErrorSums.of(predicted[number * 100 : (number + 1) * 100], true[number * 100 : (number + 1) * 100])
    assert parts.numbers() == pytest.approx(whole.numbers(), rel=1e-12)
    assert (parts.pixels, parts.missing) == (900, 0)


def test_without_pixels_there_are_no_numbers() -> None:
    numbers = ErrorSums().numbers()
    assert all(math.isnan(number) for number in numbers.values())
    only_missing = ErrorSums.of(np.array([np.nan]), np.array([1.0])).numbers()
    assert only_missing["coverage"] == 0.0 and math.isnan(only_missing["abs_rel"])


def test_truth_is_unknown_where_sensors_say_so() -> None:
    true = np.array([[1.0, np.nan, np.inf], [0.0, -1.0, 3.0]], np.float32)
    predicted = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept, known = known_truth(predicted, true)
    assert kept.tolist() == [0.0, 5.0] and known.tolist() == [1.0, 3.0]
    assert in_band(known, 1.0, 3.0).tolist() == [True, False]


def test_scale_is_the_median_ratio() -> None:
    assert factor_of(np.array([1.0, 2.0, np.nan, 10.0]), np.array([2.0, 6.0, 1.0, 20.0])).factor == 2.0
    assert math.isnan(factor_of(np.array([np.nan]), np.array([1.0])).factor)


def test_drift_of_a_growing_scale() -> None:
    seconds = np.arange(0.0, 120.0, 0.5)
    drift = Drift.of(seconds, 2.0 * 1.05 ** (seconds / 60.0))
    assert drift.total == pytest.approx(1.05 ** (seconds[-1] / 60.0)) and drift.spread == pytest.approx(0.0, abs=1e-9)
    noise = np.exp(np.random.default_rng(0).normal(0.0, 0.02, seconds.size))
    noisy = Drift.of(seconds, 2.0 * 1.05 ** (seconds / 60.0) * noise)
    assert noisy.total == pytest.approx(drift.total, abs=0.02) and noisy.spread == pytest.approx(0.02, rel=0.15)
    assert math.isnan(Drift.of([0.0, 1.0], [1.0, 1.0]).total)
