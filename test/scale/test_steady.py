"""Flicker of a static camera goes down at least five times; moving edges lag under one frame."""

from __future__ import annotations

import numpy as np
import pytest
from box_room import CAMERA, look, pose_at

from depth_anything_ros.errors import OptionError
from depth_anything_ros.scale.steady import DepthSteadier, TemporalOptions
from depth_anything_ros.types import Frame, Intrinsics

POSE = pose_at(0.0)
WIDE = Intrinsics(160, 120, 125.0, 125.0, 79.5, 59.5)
"""Of a map as small networks give it."""
FRAMES = 150


def frame_of(picture: np.ndarray, number: int, random: np.random.Generator) -> Frame:
    """With the noise of a camera (3 levels)."""
    noisy = picture + random.normal(0.0, 3.0, picture.shape)
    return Frame(noisy.clip(0, 255).astype(np.uint8), False, CAMERA, number * 100_000_000, "camera_optical")


def flickering(depth: np.ndarray, random: np.random.Generator, scale: float = 0.04, pixel: float = 0.03) -> np.ndarray:
    """A network's depth: its scale and its shape differ from frame to frame."""
    smooth = np.kron(random.normal(0.0, pixel, (6, 8)), np.ones((8, 8)))
    return (depth * np.exp(random.normal(0.0, scale) + smooth)).astype(np.float32)


def flicker(maps: list[np.ndarray]) -> float:
    """Median over the pixels of the relative deviation over time."""
    stack = np.array(maps)
    return float(np.median(stack.std(axis=0) / stack.mean(axis=0)))


def static_camera(options: TemporalOptions, *, pixel: float = 0.03) -> tuple[float, float, np.ndarray]:
    """Flicker of what goes in and of what comes out after the memory is full, and the mean of what comes out."""
    random = np.random.default_rng(11)
    depth, picture = look(POSE)
    steadier, raw, steady = DepthSteadier(options), [], []
    for number in range(FRAMES):
        raw.append(flickering(depth, random, pixel=pixel))
        steady.append(steadier.apply(frame_of(picture, number, random), raw[-1], True).copy())
    return flicker(raw[60:]), flicker(steady[60:]), np.mean(steady[60:], axis=0)


def test_flicker_of_depth_goes_down_five_times() -> None:
    before, after, mean = static_camera(TemporalOptions(depth=True))
    assert before > 0.04 and after < before / 5.0
    np.testing.assert_allclose(np.median(mean / look(POSE)[0]), 1.0, atol=0.02)


def test_flicker_of_scale_goes_down_five_times_and_pixels_stay_as_they_are() -> None:
    before, after, _ = static_camera(TemporalOptions(scale=True), pixel=0.0)
    assert before > 0.03 and after < before / 5.0


def test_moving_edges_do_not_lag() -> None:
    """A near box that crosses the picture: in each frame its pixels, and those that it uncovers, are right at once."""
    random = np.random.default_rng(12)
    depth, picture = look(POSE)
    steadier = DepthSteadier(TemporalOptions(depth=True))
    for number in range(FRAMES):
        scene, seen = depth.copy(), picture.copy()
        left = (number - 60) * 2
        if 0 <= left < 54:
            scene[18:40, left : left + 10], seen[18:40, left : left + 10] = 0.9, (230, 20, 60)
        result = steadier.apply(frame_of(seen, number, random), flickering(scene, random, 0.0, 0.0), True)
        np.testing.assert_allclose(result, scene, rtol=1e-4)


def test_a_moving_camera_is_left_alone() -> None:
    random = np.random.default_rng(13)
    steadier = DepthSteadier(TemporalOptions(depth=True))
    for number in range(20):
        depth, picture = look(pose_at(0.1 * number - 1.5, yaw=0.05 * number))
        np.testing.assert_allclose(steadier.apply(frame_of(picture, number, random), depth, True), depth, rtol=0.02)


@pytest.mark.parametrize("options", [TemporalOptions(scale=True), TemporalOptions(depth=True)], ids=["scale", "depth"])
@pytest.mark.parametrize("step", [0.002, 0.01, 0.03])
def test_a_slow_approach_is_no_flicker(options: TemporalOptions, step: float) -> None:
    """2 to 30 cm per second at 10 Hz, straight on: what comes nearer is shown nearer."""
    random = np.random.default_rng(17)
    steadier = DepthSteadier(options)
    for number in range(100):
        depth, picture = look(pose_at(-1.0 + step * number), WIDE)
        result = steadier.apply(frame_of(picture, number, random), depth, True)
        assert np.median(np.abs(result / depth - 1.0)) < 0.02


def test_something_that_creeps_is_followed() -> None:
    """A tenth of a pixel per frame: no two frames differ by much, yet depth is where the thing is, within two pixels."""
    random = np.random.default_rng(14)
    depth, picture = np.full((48, 64), 4.0, np.float32), np.full((48, 64, 3), 90, np.uint8)
    steadier = DepthSteadier(TemporalOptions(depth=True))
    for number in range(200):
        left = 10 + number // 10
        scene, seen = depth.copy(), picture.copy()
        scene[15:35, left : left + 14], seen[15:35, left : left + 14] = 1.2, (130, 130, 130)
        result = steadier.apply(frame_of(seen, number, random), scene, True)
    wrong = np.abs(result - scene) > 0.2
    assert wrong.sum(axis=1).max() <= 4


def test_a_new_scale_or_unit_is_taken_at_once() -> None:
    random = np.random.default_rng(15)
    depth, picture = look(POSE)
    steadier = DepthSteadier(TemporalOptions(depth=True, scale=True))
    for number in range(10):
        steadier.apply(frame_of(picture, number, random), depth / 2.0, False)
    np.testing.assert_array_equal(steadier.apply(frame_of(picture, 10, random), depth / 2.0, True), depth / 2.0)
    np.testing.assert_array_equal(steadier.apply(frame_of(picture, 11, random), depth, True), depth)
    steadier.reset()
    np.testing.assert_array_equal(steadier.apply(frame_of(picture, 12, random), depth * 1.1, True), depth * 1.1)


def test_other_sizes_time_that_goes_back_and_invalid_depth() -> None:
    random = np.random.default_rng(16)
    depth, picture = look(POSE)
    steadier = DepthSteadier(TemporalOptions(depth=True))
    steadier.apply(frame_of(picture, 5, random), depth, True)
    np.testing.assert_array_equal(steadier.apply(frame_of(picture, 6, random), depth[:24, :32] * 1.1, True), depth[:24, :32] * 1.1)
    np.testing.assert_array_equal(steadier.apply(frame_of(picture, 1, random), depth[:24, :32] * 1.2, True), depth[:24, :32] * 1.2)
    holes = depth.copy()
    holes[:4], holes[4:8] = np.nan, np.inf
    for number in range(7, 12):
        result = steadier.apply(frame_of(picture, number, random), holes, True)
    np.testing.assert_allclose(result, holes, rtol=1e-4)


def test_memory_has_bounds() -> None:
    for memory in (1, 1001):
        with pytest.raises(OptionError, match=r"temporal\.memory"):
            TemporalOptions(memory=memory)
