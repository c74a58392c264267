"""The picture for people."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.colors import colourise, shade

WARM, COLD = (cv2.applyColorMap(np.full((1, 1), level, np.uint8), cv2.COLORMAP_TURBO)[0, 0, ::-1] for level in (255, 0))


def test_near_is_warm_far_and_sky_are_cold_invalid_is_black() -> None:
    depth = np.array([[1.0, 2.0, 50.0, np.inf, np.nan, -1.0]], np.float32)
    picture = colourise(depth, percentiles=(0, 100))
    assert picture.dtype == np.uint8 and picture.shape == (1, 6, 3)
    np.testing.assert_array_equal(picture[0, 0], WARM)
    np.testing.assert_array_equal(picture[0, 3], COLD)
    np.testing.assert_array_equal(picture[0, 4:], np.zeros((2, 3)))


def test_order_is_kept() -> None:
    ramp = np.linspace(1.0, 2.0, 256, dtype=np.float32)[np.newaxis]
    expected = cv2.applyColorMap(np.arange(256, dtype=np.uint8)[np.newaxis], cv2.COLORMAP_TURBO)[:, :, ::-1]
    np.testing.assert_array_equal(shade(ramp, percentiles=(0, 100)), expected)


def test_maps_without_a_range() -> None:
    assert not shade(np.full((3, 4), np.nan, np.float32)).any()
    flat = shade(np.full((3, 4), 5.0, np.float32))
    assert (flat == flat[0, 0]).all()
