"""Guided upsampling on scenes whose true depth is known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage.data

from depth_anything_ros.upsampling import GuidedUpsampler

SMALL = (42, 28)


def guided(depth: np.ndarray, picture: np.ndarray) -> np.ndarray:
    result = GuidedUpsampler().upsample(depth, picture, bgr=False)
    assert result.dtype == np.float32 and result.shape == picture.shape[:2]
    return result


def bilinear(depth: np.ndarray, picture: np.ndarray) -> np.ndarray:
    return cv2.resize(depth, picture.shape[1::-1], interpolation=cv2.INTER_LINEAR)


def box_before_a_wall(width: int = 168, height: int = 112) -> tuple[np.ndarray, np.ndarray]:
    """True depth [H, W] and its picture: a bright box at 1 m before a dark wall at 3 m."""
    depth = np.full((height, width), 3.0, np.float32)
    depth[30:81, 50:111] = 1.0
    grey = np.where(depth == 1.0, 200, 40).astype(np.uint8)
    return depth, np.repeat(grey[:, :, np.newaxis], 3, axis=2)


@pytest.mark.case(35)
def test_edges_lie_where_the_picture_has_them() -> None:
    depth, picture = box_before_a_wall()
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    between = [((one > 1.1) & (one < 2.9)).sum() for one in (bilinear(small, picture), guided(small, picture))]
    assert between[1] < 0.2 * between[0], "of the pixels between box and wall few are left"


def test_without_contrast_it_is_bilinear() -> None:
    depth, picture = box_before_a_wall()
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    flat = np.full_like(picture, 90)
    np.testing.assert_allclose(guided(small, flat), bilinear(small, flat), atol=1e-6)


def test_texture_does_not_become_depth() -> None:
    """A slanted plane under noise: the picture says nothing about its depth."""
    rows, columns = np.mgrid[0:112, 0:168]
    depth = (1.0 + 0.004 * columns + 0.002 * rows).astype(np.float32)
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    noise = np.random.default_rng(0).integers(0, 256, (112, 168, 3), np.uint8)
    assert np.abs(guided(small, noise) - bilinear(small, noise)).max() < 0.03


def test_a_horizon_stays_where_it_is() -> None:
    """Inverse depth in metres is infinite beyond it; what is nearer is as if nothing were there."""
    depth, picture = box_before_a_wall()
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    expected = guided(small, picture)
    small[:4] = np.inf
    small[20, 35] = np.nan
    result = guided(small, picture)
    assert np.isnan(result[:17]).all() and np.isnan(result[82, 142])
    away = np.ones(result.shape, bool)
    away[: 4 * 7] = away[18 * 4 - 4 : 23 * 4 + 4, 33 * 4 - 4 : 38 * 4 + 4] = False
    np.testing.assert_allclose(result[away], expected[away], rtol=1e-5)
    assert np.isfinite(result[18:]).mean() > 0.99


def test_no_new_depth_appears() -> None:
    depth, picture = box_before_a_wall()
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    result = guided(small, picture)
    assert result.min() >= 1.0 and result.max() <= 3.0


def background_filled(disparity: np.ndarray) -> np.ndarray:
    """Holes take the farther of their two neighbours in the row: what one camera of a pair does not see lies behind."""
    known = np.isfinite(disparity)
    columns = np.broadcast_to(np.arange(disparity.shape[1]), disparity.shape)
    before = np.maximum.accumulate(np.where(known, columns, 0), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, disparity.shape[1] - 1)[:, ::-1], axis=1)[:, ::-1]
    sides = [np.take_along_axis(np.where(known, disparity, np.inf), at, axis=1) for at in (before, after)]
    return np.minimum(*sides)


def test_a_real_scene_is_nearer_to_its_truth() -> None:
    """The motorcycle pair's true depth through a map of network size: errors at edges shrink, surfaces stay as they are."""
    folder = Path(skimage.data.__file__).parent
    picture = cv2.imread(str(folder / "motorcycle_left.png"))[:, :, ::-1]
    disparity = np.load(folder / "motorcycle_disp.npz")["arr_0"]
    valid = np.isfinite(disparity)
    truth = (994.978 * 0.193001 / (background_filled(disparity) + 31.086)).astype(np.float32)
    small = cv2.resize(truth, (504, 336), interpolation=cv2.INTER_AREA)
    edges = cv2.morphologyEx(truth, cv2.MORPH_GRADIENT, np.ones((9, 9))) > 0.3
    errors = [np.abs(one - truth) / truth for one in (bilinear(small, picture), guided(small, picture))]
    assert errors[1][edges & valid].mean() < 0.9 * errors[0][edges & valid].mean()
    assert errors[1][~edges & valid].mean() < 1.05 * errors[0][~edges & valid].mean()


@pytest.mark.case(13)
def test_sizes_in_turn_do_not_disturb_each_other() -> None:
    one = GuidedUpsampler()
    depth, picture = box_before_a_wall()
    small = cv2.resize(depth, SMALL, interpolation=cv2.INTER_AREA)
    first = one.upsample(small, picture, bgr=False)
    kept = first.copy()
    for width, height in ((30, 20), (1, 1), (640, 1), (168, 112)):
        one.upsample(small, np.zeros((height, width, 3), np.uint8), bgr=False)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(one.upsample(small, picture, bgr=False), first)
    np.testing.assert_allclose(one.upsample(small, picture[:, :, ::-1], bgr=True), first)
