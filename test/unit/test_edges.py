"""Flying pixels of scenes with known geometry."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from depth_anything_ros.edges import flying_pixels


def floor_and_wall(height: int = 112, width: int = 168) -> np.ndarray:
    """Depth seen by a camera 0.3 m above a floor that ends at a wall 20 m away (f = 150 pixels, horizon at row 40)."""
    rows = np.arange(height)[:, np.newaxis]
    floor = 0.3 * 150.0 / np.maximum(rows - 40.0, 1e-3)
    return np.broadcast_to(np.minimum(floor, 20.0), (height, width)).astype(np.float32)


@pytest.mark.case(35)
def test_the_slide_between_two_surfaces_goes_and_the_surfaces_stay() -> None:
    depth = np.full((60, 80), 4.0, np.float32)
    depth[20:40, 30:50] = 1.0
    soft = cv2.GaussianBlur(depth, (0, 0), 0.7)
    mask = flying_pixels(soft, 0.1) > 0
    between = (soft > 1.1) & (soft < 3.9)
    assert between.sum() > 100 and mask[between].mean() > 0.98
    far_from_edges = cv2.dilate(between.astype(np.uint8), np.ones((9, 9))) == 0
    assert not mask[far_from_edges].any()


@pytest.mark.case(35)
def test_a_floor_at_a_grazing_angle_stays() -> None:
    """Its depth grows by more than 10 % per row long before the wall, yet it is a plane."""
    depth = floor_and_wall()
    rows = np.arange(47, 110)  # the crease at the wall's foot is an edge of its own
    assert (depth[47, 0] - depth[48, 0]) / depth[48, 0] > 0.1
    assert not flying_pixels(depth, 0.1)[rows].any()


def test_a_slanted_wall_stays_and_noise_of_the_network_too() -> None:
    columns = np.arange(168)[np.newaxis]
    depth = np.broadcast_to(1.0 / (0.1 + 0.005 * columns), (112, 168)).astype(np.float32)
    noisy = depth * (1.0 + 0.01 * np.random.default_rng(0).standard_normal(depth.shape)).astype(np.float32)
    assert not flying_pixels(noisy, 0.1).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (4, 4), (5, 3)])
def test_tiny_maps(shape: tuple[int, int]) -> None:
    mask = flying_pixels(np.random.default_rng(0).random(shape).astype(np.float32), 0.1)
    assert mask.shape == shape and mask.dtype == np.uint8
