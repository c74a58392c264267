"""Scale from the way that the robot went: true geometry with noise, turns on the spot, wheels that slip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from box_room import look, pose_at
from looking import at_once, frame_at, prediction_of

from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.scale.odometry import OdometrySource, scale_of_positions, turns
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import Frame, Prediction, Scale


class SeesViews:
    """A network that knows the room: of pictures whose poses it was told it gives depth and positions in a unit of its own."""

    def __init__(self, unit: float, noise: float) -> None:
        """unit: metres in one unit. noise: of positions, metres; depth has 5 %."""
        self.known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        """Bytes of a picture to pose and depth."""
        self.unit = unit
        self.noise = noise
        self.calls = 0
        self._random = np.random.default_rng(2)

    def infer_views(self, pictures: Sequence[np.ndarray], **asked: object) -> list[Prediction]:
        """Poses are told from the first camera, as the network tells them."""
        self.calls += 1
        first = np.linalg.inv(self.known[pictures[0].tobytes()][0])
        return [self._seen(first @ pose, depth) for pose, depth in (self.known[one.tobytes()] for one in pictures)]

    def _seen(self, pose: np.ndarray, depth: np.ndarray) -> Prediction:
        own = pose.copy()
        own[:3, 3] = (pose[:3, 3] + self._random.normal(0.0, self.noise, 3)) / self.unit
        return prediction_of(depth * np.exp(self._random.normal(0.0, 0.05, depth.shape)) / self.unit, pose=own)


class Drive:
    """Frames along poses with an odometry that may differ from the truth."""

    def __init__(self, noise: float = 0.0) -> None:
        self.net = SeesViews(unit=5.3, noise=noise)
        self.odometry: np.ndarray | Refusal = np.eye(4)
        self.source = OdometrySource(lambda: self.net, lambda _: self.odometry, at_once, views=4, baseline=0.25)
        self.tracker = ScaleTracker("odometry", self.source, ScaleOptions())
        self.random = np.random.default_rng(4)
        self.time = 0.0

    def step(self, pose: np.ndarray, odometry: np.ndarray | Refusal | None = None, unit: float = 0.37) -> Scale | None:
        frame: Frame = frame_at(pose, self.time)
        self.time += 0.1
        self.odometry = pose if odometry is None else odometry
        depth = look(pose)[0]
        self.net.known[frame.pixels.tobytes()] = pose, depth
        return self.tracker.scale_of(frame, prediction_of(depth * np.exp(self.random.normal(0.0, 0.05, depth.shape)) / unit))


def test_distances_give_the_scale_on_straight_and_bent_ways() -> None:
    true = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.6, 0, 0]])
    assert scale_of_positions(true / 7.0, true) == pytest.approx((7.0, 0.0), abs=1e-9)
    bent = np.array([[0.0, 0, 0], [0.3, 0.1, 0], [0.5, 0.4, 0], [0.5, 0.8, 0.1]])
    turned = bent @ pose_at(0.0, yaw=1.0, pitch=0.4)[:3, :3].T + 5.0
    assert scale_of_positions(turned / 7.0, bent) == pytest.approx((7.0, 0.0), abs=1e-9)
    assert scale_of_positions(true, np.zeros((3, 3))) is None and scale_of_positions(np.zeros((3, 3)), true) is None


def test_angles_between_rotations() -> None:
    rotations = np.array([pose_at(0.0, yaw=yaw)[:3, :3] for yaw in (0.0, 0.2, -0.5)])
    np.testing.assert_allclose(turns(rotations), [0.2, 0.5, 0.7], atol=1e-7)


def test_scale_is_within_2_percent_on_a_noisy_drive() -> None:
    """What the issue asks for: true geometry plus noise (positions 5 mm, depth 5 %), and an unknown scale."""
    drive = Drive(noise=0.005)
    off = []
    for step in range(60):
        scale = drive.step(pose_at(-1.5 + 0.06 * step, 0.3 * np.sin(step / 12), yaw=0.2 * np.sin(step / 9)))
        if scale is not None:
            off.append(scale.factor / 0.37 - 1.0)
    assert len(off) > 30 and np.max(np.abs(off)) < 0.02


def test_turning_on_the_spot_gives_no_scale() -> None:
    """With a camera before the axis, odometry that knows it, and a network that believes in some motion of its own."""
    drive = Drive(noise=0.02)
    for step in range(120):
        yaw = step * 0.06
        pose = pose_at(0.08 * np.cos(yaw), 0.08 * np.sin(yaw), yaw=yaw)
        assert drive.step(pose) is None
    assert drive.tracker.state().accepted == 0 and "not moved" in drive.tracker.state().refusal


def test_slipping_wheels_give_no_scale() -> None:
    drive = Drive()
    for step in range(60):
        told = pose_at(-1.5 + 0.05 * step + (0.25 if step % 20 > 10 else 0.0))
        drive.step(pose_at(-1.5 + 0.05 * step), told)
    state = drive.tracker.state()
    assert state.scale is None or state.scale.factor == pytest.approx(0.37, rel=0.1)
    assert "do not fit" in state.refusal


def test_turns_that_the_network_does_not_see_give_no_scale() -> None:
    drive = Drive()
    for step in range(40):
        drive.step(pose_at(-1.5 + 0.06 * step), pose_at(-1.5 + 0.06 * step, yaw=0.05 * step))
    assert drive.tracker.state().accepted == 0 and "turns" in drive.tracker.state().refusal


def test_missing_odometry_is_told() -> None:
    drive = Drive()
    assert drive.step(pose_at(0.0), Refusal("no odometry has come")) is None
    assert drive.tracker.state().refusal == "no odometry has come"


def test_a_robot_that_stands_keeps_its_scale_and_one_that_was_carried_off_does_not() -> None:
    drive = Drive()
    for step in range(30):
        drive.step(pose_at(-1.5 + 0.06 * step))
    stand = pose_at(-1.5 + 0.06 * 29)
    for _ in range(300):
        known = drive.step(stand)
    assert known is not None and known.factor == pytest.approx(0.37, rel=0.02)
    calls = drive.net.calls
    drive.tracker.reset()
    assert drive.step(stand) is None and drive.net.calls == calls


def test_a_result_of_before_the_reset_does_not_count() -> None:
    drive = Drive()
    jobs = []
    drive.source._run = lambda job: jobs.append(job) or True
    for step in range(20):
        drive.step(pose_at(-1.5 + 0.06 * step))
    drive.tracker.reset()
    assert jobs
    for job in jobs:
        job()
    assert drive.tracker.state().accepted == 0 and drive.step(pose_at(0.0)) is None
