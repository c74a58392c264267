"""The nested formula, and keyframes that a slow network looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest
from box_room import CAMERA, look, pose_at
from fake_engine import ANY_VIEW, METRIC, FakeEngine
from looking import Inbox, at_once, frame_at, prediction_of

from depth_anything_ros.scale.metric_model import MetricModelSource, nested_scale

UNIT = 1.7
"""Metres in one unit of relative depth."""


def test_the_formula_weighs_as_the_official_one() -> None:
    """Least squares over the more confident half of what is no sky, by hand."""
    relative = np.full((4, 5), 2.0, np.float32)
    metric = np.full((4, 5), 6.0, np.float32)
    confidence = np.ones((4, 5), np.float32)
    confidence[1:] = 3.0
    metric[:1] = 50.0  # not trusted
    metric[2, 0], metric[2, 1] = 10.0, 8.0
    sky = np.zeros((4, 5), np.float32)
    sky[3, 4] = 0.3
    confidence[3, 4] = 9.0
    found = nested_scale(relative, confidence, metric, sky)
    assert found is not None and found[0] == pytest.approx((10 + 8 + 12 * 6) * 2 / (14 * 4))


def test_sky_alone_gives_no_scale() -> None:
    ones = np.ones((4, 5), np.float32)
    sky = ones.copy()
    sky[0, :] = sky[1, :] = 0.0
    assert nested_scale(ones, ones, ones, sky) is None
    sky[2, 0] = 0.0
    assert nested_scale(ones, ones, ones, sky) is not None


def slow_net(**settings: object) -> FakeEngine:
    """Canonical depth of the room: metres = depth * focal / 300."""
    return FakeEngine(METRIC, depth_of=lambda pixels: look(pose_at(0.0))[0] * np.float32(300.0 / 50.0), **settings)  # type: ignore[arg-type]


def test_keyframes_give_the_metres_of_a_unit() -> None:
    depth, _ = look(pose_at(0.0))
    source, inbox = MetricModelSource(slow_net, 1, at_once), Inbox()
    source.observe(frame_at(pose_at(0.0)), prediction_of(depth / UNIT), inbox.append)
    assert inbox.factors == [pytest.approx(UNIT, rel=1e-5)] and inbox[0].spread == pytest.approx(0.0, abs=1e-5)


def test_without_calibration_the_fast_networks_own_focal_length_serves() -> None:
    """As in the official nested model; the prediction's estimate is that of the camera here."""
    depth, _ = look(pose_at(0.0))
    source, inbox = MetricModelSource(slow_net, 1, at_once), Inbox()
    source.observe(frame_at(pose_at(0.0), camera=None), prediction_of(depth / UNIT), inbox.append)
    assert inbox.factors == [pytest.approx(UNIT, rel=1e-5)]


def test_whose_focal_length_counts_can_be_chosen() -> None:
    """The camera is calibrated with twice the focal length that the fast network believes in."""
    depth, _ = look(pose_at(0.0))
    camera = replace(CAMERA, fx=2 * CAMERA.fx, fy=2 * CAMERA.fy)
    for focal, factor in (("model", UNIT), ("camera", 2 * UNIT)):
        source, inbox = MetricModelSource(slow_net, 1, at_once, focal), Inbox()
        source.observe(frame_at(pose_at(0.0), camera=camera), prediction_of(depth / UNIT), inbox.append)
        assert inbox.factors == [pytest.approx(factor, rel=1e-5)]
    source, inbox = MetricModelSource(slow_net, 1, at_once, "model"), Inbox()
    source.observe(frame_at(pose_at(0.0)), replace(prediction_of(depth / UNIT), intrinsics=None), inbox.append)
    assert inbox.factors == [pytest.approx(UNIT, rel=1e-5)], "the camera serves where the network knows nothing"


def test_maps_of_other_sizes_are_compared_place_by_place() -> None:
    depth, _ = look(pose_at(0.0))
    small = cv2.resize(depth, (32, 24), interpolation=cv2.INTER_LINEAR)
    source, inbox = MetricModelSource(slow_net, 1, at_once), Inbox()
    source.observe(frame_at(pose_at(0.0)), prediction_of(small / UNIT), inbox.append)
    assert inbox.factors == [pytest.approx(UNIT, rel=0.01)]


def test_every_tenth_frame_is_a_keyframe_and_a_busy_network_is_not_waited_for() -> None:
    depth, _ = look(pose_at(0.0))
    net = slow_net()
    taken: list[Callable[[], None]] = []
    busy = False

    def run(job: Callable[[], None]) -> bool:
        if not busy:
            taken.append(job)
        return not busy

    source, inbox = MetricModelSource(lambda: net, 10, run), Inbox()
    frame, prediction = frame_at(pose_at(0.0)), prediction_of(depth / UNIT)
    for number in range(21):
        source.observe(frame, prediction, inbox.append)
        assert len(taken) == 1 + number // 10
    busy = True
    for _ in range(15):
        source.observe(frame, prediction, inbox.append)
    assert len(taken) == 3
    busy = False
    source.observe(frame, prediction, inbox.append)
    assert len(taken) == 4 and net.count == 0 and not inbox
    for job in taken:
        job()
    assert net.count == 4 and len(inbox.factors) == 4
    source.reset()
    source.observe(frame, prediction, inbox.append)
    assert len(taken) == 5


def test_a_metric_network_without_metres_is_refused() -> None:
    depth, _ = look(pose_at(0.0))
    source, inbox = MetricModelSource(lambda: FakeEngine(ANY_VIEW), 1, at_once), Inbox()
    source.observe(frame_at(pose_at(0.0)), prediction_of(depth), inbox.append)
    assert not inbox.factors and "metric model" in inbox.reasons[0]
