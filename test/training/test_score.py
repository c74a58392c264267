"""Scores against cases whose answer is known."""

import math

import numpy as np
import pytest

from training import score
from training.scenes.cameras import pose_from

TRUE = np.full((2, 4, 4), 2.0, np.float32)
TRUE[:, 0] = np.inf


def test_one_scale_per_picture_leaves_no_error_in_scaled_truth():
    predicted = np.where(np.isfinite(TRUE), TRUE, 9.0) * np.array([0.1, 3.0])[:, None, None]
    aligned = predicted * score.best_scale(predicted, TRUE)
    assert score.abs_rel(aligned, TRUE) < 1e-6
    assert score.within(aligned, TRUE) == 1.0


def test_error_counts_valid_pixels_only():
    predicted = np.full(TRUE.shape, 3.0)
    assert score.abs_rel(predicted, TRUE) == pytest.approx(0.5)
    assert score.within(predicted, TRUE) == 0.0


def test_sky_iou_of_half_an_overlap():
    predicted, true = np.zeros((1, 2, 4), bool), np.zeros((1, 2, 4), bool)
    predicted[0, 0, :3], true[0, 0, 1:] = True, True
    assert score.sky_iou(predicted, true) == pytest.approx(0.5)


def test_doubt_ratio_finds_where_the_errors_are():
    true = np.ones((1, 10, 10), np.float32)
    predicted, confidence = true * 1.1, np.full(true.shape, 2.0)
    predicted[0, :2], confidence[0, :2] = 1.4, 1.0
    assert score.doubt_ratio(predicted, true, confidence) == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_ground_roughness_is_the_noise_across_the_plane(noise):
    pose, focal, size = pose_from((0.0, 0.0, 1.5), 0.3, math.radians(-25), 0.0), 100.0, (84, 112)
    v, u = np.mgrid[0 : size[0], 0 : size[1]]
    rays = np.stack([(u + 0.5 - 56) / focal, (v + 0.5 - 42) / focal, np.ones(size)], -1)
    down = (rays @ pose[:3, :3].T)[..., 2]
    true = np.where(down < -0.01, -1.5 / down, np.inf)
    lifted = (-1.5 + noise * np.where((u + v) % 2, 1.0, -1.0)) / down
    value = score.ground_roughness(np.where(np.isfinite(true), lifted, 1.0), true, focal, pose)
    assert value == pytest.approx(noise / 1.5, abs=2e-3)
