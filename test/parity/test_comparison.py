"""The measure itself: known errors come out as known numbers, and comparisons that prove nothing are refused."""

import numpy as np
import pytest
from comparison import UselessComparison, worst_error

RAMP = np.linspace(1.0, 2.0, 11, dtype=np.float32)


def test_depth_error_is_relative_to_each_value():
    assert worst_error("depth", RAMP * np.float32(1.001), RAMP) == pytest.approx(1e-3, rel=1e-3)


def test_other_tensors_have_a_floor_of_one_percent_of_the_rms():
    expected = np.array([0.0, 1.0, -1.0], np.float32)
    found = expected + np.array([1e-3, 0, 0], np.float32)
    assert worst_error("tap.0", found, expected) == pytest.approx(1e-3 / (0.01 * np.sqrt(2 / 3)), rel=1e-3)


def test_one_wrong_value_among_many_counts():
    expected = np.linspace(1, 2, 10_000, dtype=np.float32)
    found = expected.copy()
    found[77] *= 1.5
    assert worst_error("depth", found, expected) == pytest.approx(0.5, rel=1e-3)


def test_a_single_number_is_no_constant():
    assert worst_error("scale_factor", np.array(1.001), np.array(1.0)) == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (RAMP[:0], RAMP[:0]),
        (np.ones(4), np.ones(4)),
        (RAMP, np.ones(11)),
        (np.ones(11), RAMP),
        (RAMP[:10], RAMP),
        (RAMP, np.where(RAMP > 1.5, np.nan, RAMP)),
        (np.where(RAMP > 1.5, np.inf, RAMP), RAMP),
    ],
)
def test_useless_comparisons_are_refused(found, expected):
    with pytest.raises(UselessComparison):
        worst_error("depth", found, expected)
