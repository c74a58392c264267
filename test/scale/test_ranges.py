"""Scale from measured points: known rooms, noise, edges, outliers, and inverse depth with its shift."""

from __future__ import annotations

import numpy as np
import pytest
from box_room import CAMERA, look, pose_at, rays_of
from looking import Inbox, frame_at, prediction_of

from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.ranges import Ranges, RangeSource, fit_line, pairs
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import DepthKind

POSE = pose_at(0.0, z=0.6)


def scan(pose: np.ndarray, count: int = 60, row: int = 28) -> np.ndarray:
    """[n, 3] points that a level laser sees through one row of the picture."""
    depth = look(pose)[0]
    columns = np.unique(np.linspace(0, CAMERA.width - 1, count).astype(int))
    return (rays_of(CAMERA) * depth[..., np.newaxis])[row, columns].astype(np.float64)


def test_points_fall_where_the_camera_sees_them_but_not_beside_edges() -> None:
    depth, _ = look(POSE)
    values, metres = pairs(depth / 3.0, CAMERA, Ranges(scan(POSE)), inverse=False)
    assert 30 < len(values) < 60, "what lies beside the edges of boxes is left out"
    np.testing.assert_allclose(values * 3.0, metres, rtol=1e-4)
    behind = np.array([[0.0, 0.0, -2.0], [50.0, 0.0, 1.0], [np.nan, 0.0, 1.0], [0.0, np.inf, 1.0]])
    assert not len(pairs(depth, CAMERA, Ranges(behind), inverse=False)[0])


def test_scale_is_within_2_percent_through_noise_and_outliers() -> None:
    random = np.random.default_rng(5)

    def measured(frame: object) -> list[Ranges]:
        points = scan(POSE) * np.exp(random.normal(0.0, 0.02, (len(scan(POSE)), 1)))
        points[random.random(len(points)) < 0.2] *= 0.4  # dust, glass, legs that the camera does not see
        return [Ranges(points)]

    tracker = ScaleTracker("range", RangeSource(measured), ScaleOptions())
    for step in range(20):
        depth = look(POSE)[0] * np.exp(random.normal(0.0, 0.05, (48, 64)))
        scale = tracker.scale_of(frame_at(POSE, step / 10), prediction_of(depth / 0.8))
        assert (scale is None) == (step < 2)
    assert scale is not None and scale.factor == pytest.approx(0.8, rel=0.02)


def test_measurements_that_contradict_the_picture_give_no_scale() -> None:
    random = np.random.default_rng(6)
    inbox = Inbox()
    source = RangeSource(lambda _: [Ranges(scan(POSE) * np.exp(random.normal(0.0, 0.8, (len(scan(POSE)), 1))))])
    source.observe(frame_at(POSE), prediction_of(look(POSE)[0]), inbox.append)
    assert not inbox.factors and "disagree" in inbox.reasons[0]


def test_nothing_measured_is_told() -> None:
    for measured, reason in ((Refusal("no scan has come"), "no scan"), ([Ranges(np.empty((0, 3)))], "no measured point")):
        inbox = Inbox()
        RangeSource(lambda _, measured=measured: measured).observe(frame_at(POSE), prediction_of(look(POSE)[0]), inbox.append)
        assert not inbox.factors and reason in inbox.reasons[0]


@pytest.mark.parametrize("cone", [np.radians(15.0), np.inf], ids=["cone", "no_number"])
def test_a_sonar_sees_the_nearest_thing_in_its_cone(cone: float) -> None:
    """A box in the cone, before a wall that the axis meets."""
    depth = np.full((48, 64), 4.0, np.float32)
    depth[:, 36:44] = 1.5
    inbox = Inbox()
    sonar = Ranges(np.array([[0.0, 0.0, 1.5]]), cone=cone)
    RangeSource(lambda _: [sonar]).observe(frame_at(POSE), prediction_of(depth / 2.5), inbox.append)
    assert inbox.factors == [pytest.approx(2.5)]


def test_inverse_depth_gets_scale_and_shift() -> None:
    random = np.random.default_rng(7)
    depth, _ = look(POSE)
    network = (1.0 / depth - 0.05) / 0.02  # 1 / z = 0.02 * value + 0.05

    def measured(frame: object) -> list[Ranges]:
        points = np.concatenate([scan(POSE, row=row) for row in (24, 30, 36, 42)])
        points = points * np.exp(random.normal(0.0, 0.01, (len(points), 1)))
        points[::7] *= 0.5
        return [Ranges(points)]

    tracker = ScaleTracker("range", RangeSource(measured), ScaleOptions())
    for step in range(10):
        scale = tracker.scale_of(frame_at(POSE, step / 10), prediction_of(network, DepthKind.RELATIVE_INVERSE_DEPTH))
    assert scale is not None
    np.testing.assert_allclose(1.0 / (network * scale.factor + scale.shift), depth, rtol=0.03)


def test_one_distance_does_not_give_scale_and_shift() -> None:
    values, metres = np.full(50, 3.0), np.full(50, 2.0)
    assert fit_line(values, metres) is None
    assert fit_line(np.linspace(1, 2, 50), np.linspace(1, 2, 50)) is None, "near must be large"
