"""Meaning of depth values: expected numbers are written out or follow from the definition."""

from __future__ import annotations

import numpy as np
import pytest

from depth_anything_ros import depth
from depth_anything_ros.types import DepthKind, Scale

NAN, INF = np.nan, np.inf


def row(*values: float) -> np.ndarray:
    return np.array([values], np.float32)


@pytest.mark.case(29)
def test_millimetres_never_wrap() -> None:
    metres = row(65.5, 65.6, 70.0, 1e6, INF, -INF, NAN, -1.0, 1e-9, 65.535, 1.2346, 3e38)
    expected = [[65500, 0, 0, 0, 0, 0, 0, 0, 0, 65535, 1235, 0]]
    millimetres = depth.to_millimetres(metres)
    assert millimetres.dtype == np.uint16
    np.testing.assert_array_equal(millimetres, expected)


@pytest.mark.case(28)
def test_millimetres_are_metres_within_one_millimetre() -> None:
    metres = np.random.default_rng(0).uniform(0.001, 65.5, (40, 50)).astype(np.float32)
    assert np.abs(depth.to_millimetres(metres) / 1000.0 - metres).max() <= 0.001


@pytest.mark.case(30)
def test_values_that_are_no_depth_become_nan() -> None:
    values = row(INF, -INF, NAN, 0.0, -1.0, 0.4, 0.5, 8.0, 8.1)
    marked = depth.mark_invalid(values, nearest=0.5, farthest=8.0)
    np.testing.assert_array_equal(marked, row(NAN, NAN, NAN, NAN, NAN, NAN, 0.5, 8.0, NAN))
    assert marked.dtype == np.float32


def test_doubtful_depth_becomes_nan() -> None:
    marked = depth.mark_invalid(row(1, 2, 3), nearest=0.0, farthest=9.0, confidence=row(0.2, 0.5, 0.9), least_confidence=0.5)
    np.testing.assert_array_equal(marked, row(NAN, 2, 3))


def test_a_map_without_anything_to_mark_is_not_copied() -> None:
    """Its ends are valid; one value beyond them, or NaN, is marked in a copy."""
    good = row(0.5, 1.0, 8.0)
    assert depth.mark_invalid(good, nearest=0.5, farthest=8.0) is good
    assert depth.mark_sky(good, np.zeros((1, 3), np.uint8), "inf", 8.0) is good
    for bad in (NAN, 0.4, 8.1, -INF):
        values = row(0.5, bad, 8.0)
        np.testing.assert_array_equal(depth.mark_invalid(values, nearest=0.5, farthest=8.0), row(0.5, NAN, 8.0))
        np.testing.assert_array_equal(values, row(0.5, bad, 8.0))


@pytest.mark.parametrize(("policy", "value"), [("inf", INF), ("nan", NAN), ("max", 50.0)])
def test_sky_policies(policy: str, value: float) -> None:
    mask = np.array([[0, 255, 255]], np.uint8)
    np.testing.assert_array_equal(depth.mark_sky(row(1, 2, NAN), mask, policy, 50.0), row(1, value, value))


def test_sky_without_a_range_takes_the_largest_valid_depth() -> None:
    mask = np.array([[0, 0, 255, 0]], np.uint8)
    np.testing.assert_array_equal(depth.mark_sky(row(1, 7, 99, NAN), mask, "max", INF), row(1, 7, 7, NAN))


def test_all_sky_without_a_range_has_no_depth() -> None:
    assert np.isnan(depth.mark_sky(row(1, 2), np.full((1, 2), 255, np.uint8), "max", INF)).all()


def test_sky_mask_holds_two_values() -> None:
    mask = depth.sky_mask(row(0.0, 0.29, 0.3, 5.0), 0.3)
    assert mask.dtype == np.uint8
    np.testing.assert_array_equal(mask, [[0, 0, 255, 255]])


@pytest.mark.parametrize("size", [(640, 480), (23, 17), (200, 31), (1, 1)])
def test_resizing_keeps_values_on_their_place_in_the_picture(size: tuple[int, int]) -> None:
    """A ramp of the picture coordinate (0 to 1 from edge to edge) stays that ramp at any size, away from the replicated border."""
    width, height = size

    def ramp(columns: int, rows: int) -> np.ndarray:
        x, y = (np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows
        return (x[np.newaxis, :] + 10 * y[:, np.newaxis]).astype(np.float32)

    resized = depth.resize(ramp(56, 42), width, height)
    inside_x = np.abs((np.arange(width) + 0.5) / width - 0.5) < 0.5 - 0.5 / 56
    inside_y = np.abs((np.arange(height) + 0.5) / height - 0.5) < 0.5 - 0.5 / 42
    error = np.abs(resized - ramp(width, height))[np.ix_(inside_y, inside_x)]
    assert resized.shape == (height, width) and error.size and error.max() < 2e-3


def test_confidence_is_between_zero_and_one_and_keeps_order() -> None:
    raw = row(1.0, 1.25, 2.0, 10.0, 1e6, INF)
    np.testing.assert_allclose(depth.confidence_from(raw), row(0.0, 0.2, 0.5, 0.9, 0.999999, 1.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        (DepthKind.METRIC, "model", Scale(1.0)),
        (DepthKind.METRIC, "constant", Scale(1.0)),
        (DepthKind.RELATIVE_DEPTH, "model", None),
        (DepthKind.RELATIVE_DEPTH, "constant", Scale(2.5)),
        (DepthKind.RELATIVE_DEPTH, "range", None),
        (DepthKind.RELATIVE_INVERSE_DEPTH, "constant", None),
    ],
)
def test_metres_are_claimed_only_where_a_scale_is_known(kind: DepthKind, source: str, expected: Scale | None) -> None:
    assert depth.known_scale(kind, source, 2.5) == expected


def test_metres_of_depth_and_of_inverse_depth() -> None:
    values = row(0.0, 0.5, 2.0)
    np.testing.assert_allclose(depth.to_metres(values, DepthKind.RELATIVE_DEPTH, Scale(3.0)), row(0.0, 1.5, 6.0))
    metres = depth.to_metres(values, DepthKind.RELATIVE_INVERSE_DEPTH, Scale(0.5, -0.25))
    np.testing.assert_allclose(metres, row(np.inf, np.inf, 1.0 / 0.75))
