"""Estimates over time: what is believed, for how long, and what is a jump."""

from __future__ import annotations

import math

import numpy as np
import pytest

from depth_anything_ros.errors import OptionError
from depth_anything_ros.scale.estimate import Estimate
from depth_anything_ros.scale.filter import ScaleFilter
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.types import Scale


def estimate(second: float, factor: float, shift: float = 0.0, spread: float = 0.05) -> Estimate:
    return Estimate(round(second * 1e9), Scale(factor, shift), spread)


def filled(factors: list[float], *, least: int = 1, period: float = 0.1, **options: float) -> ScaleFilter:
    made = ScaleFilter(ScaleOptions(**options), least)
    for index, factor in enumerate(factors):
        made.add(estimate(index * period, factor))
    return made


def at(made: ScaleFilter, second: float) -> float | None:
    scale = made.at(round(second * 1e9))
    return None if scale is None else scale.factor


def test_nothing_is_known_before_enough_estimates_agree() -> None:
    assert at(filled([]), 0.0) is None
    assert at(filled([2.0, 2.1], least=3), 0.1) is None
    assert at(filled([2.0, 2.1, 2.2], least=3), 0.2) == pytest.approx(2.1)
    assert at(filled([2.0]), 0.0) == pytest.approx(2.0)


def test_noise_is_averaged_and_outliers_have_no_say() -> None:
    random = np.random.default_rng(1)
    factors = [3.0 * math.exp(random.normal(0.0, 0.06)) for _ in range(30)]
    factors[10] = factors[17] = 30.0
    made = filled(factors)
    assert at(made, 3.0) == pytest.approx(3.0, rel=0.05)
    assert made.rejected == 2 and made.jumps == 0 and made.doubted == 0
    assert made.spread == pytest.approx(0.06, rel=0.4)


def test_one_wrong_estimate_changes_nothing_and_three_that_agree_are_a_jump() -> None:
    made = filled([2.0] * 10)
    made.add(estimate(1.0, 5.0))
    assert at(made, 1.0) == pytest.approx(2.0) and made.doubted == 1
    made.add(estimate(1.1, 9.0))
    made.add(estimate(1.2, 5.2))
    assert at(made, 1.2) == pytest.approx(2.0) and made.doubted == 3, "they do not agree with one another"
    made.add(estimate(1.3, 5.0))
    made.add(estimate(1.4, 5.1))
    assert at(made, 1.4) == pytest.approx(5.1, rel=0.03) and (made.jumps, made.doubted) == (1, 0)


def test_the_window_is_of_time_but_never_fewer_than_three() -> None:
    fast = filled([1.0] * 50 + [1.2] * 40, window=3.0)
    assert at(fast, 9.0) == pytest.approx(1.2)
    slow = filled([1.0, 1.1, 1.2, 1.21], period=2.0, window=3.0)
    assert at(slow, 6.0) == pytest.approx(1.2)


def test_an_old_scale_is_not_known_any_more() -> None:
    made = filled([2.0] * 5, max_age=4.0)
    assert at(made, 4.0) == pytest.approx(2.0) and made.age(round(4.4e9)) == pytest.approx(4.0)
    assert at(made, 4.5) is None
    made.add(estimate(4.5, 2.1))
    assert at(made, 4.5) is not None


def test_a_scale_that_was_lost_has_no_say_in_the_next_one() -> None:
    """It takes as many estimates as the first one did."""
    made = filled([2.0] * 5, least=3, max_age=4.0)
    for second in (9.0, 9.1):
        made.add(estimate(second, 2.5))
        assert at(made, second) is None
    made.add(estimate(9.2, 2.5))
    assert at(made, 9.2) == pytest.approx(2.5) and (made.rejected, made.jumps) == (0, 0)


def test_shift_is_filtered_beside_the_factor() -> None:
    made = ScaleFilter(ScaleOptions(), 1)
    for index, shift in enumerate((0.1, 0.2, 0.9)):
        made.add(estimate(index * 0.1, 1.0, shift))
    scale = made.at(round(0.2e9))
    assert scale is not None and (scale.factor, scale.shift) == pytest.approx((1.0, 0.2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_age": 0.0},
        {"window": math.nan},
        {"jump": -1.0},
        {"background_threads": -1},
        {"metric_model_every": 0},
        {"metric_model_focal": "lens"},
        {"camera_height_height": math.inf},
        {"range_tolerance": 0.0},
        {"odometry_views": 2},
        {"odometry_baseline": 0.0},
        {"odometry_input": "gps"},
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=r"scale\."):
        ScaleOptions(**wrong)  # type: ignore[arg-type]
