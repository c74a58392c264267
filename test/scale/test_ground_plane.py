"""Scale by the camera's height: known rooms, noise, and floors that are not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from box_room import CAMERA, look, pose_at
from looking import Inbox, frame_at, prediction_of

from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.scale.ground_plane import CameraHeight, CameraHeightSource, fit_ground
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import DepthKind, Intrinsics

LEVEL = np.array([0.0, 1.0, 0.0])
WIDE = Intrinsics(160, 120, 125.0, 125.0, 79.5, 59.5)


def noisy(depth: np.ndarray, random: np.random.Generator, share: float = 0.05) -> np.ndarray:
    """Depth with errors as networks make them: a smooth part and one per pixel."""
    smooth = np.kron(random.normal(0.0, share / 2, (depth.shape[0] // 8, depth.shape[1] // 8)), np.ones((8, 8)))
    return depth * np.exp(smooth + random.normal(0.0, share / 2, depth.shape))


@pytest.mark.parametrize("height", [0.2, 0.6, 1.4])
@pytest.mark.parametrize("pitch", [0.0, 0.2])
def test_the_floor_is_found(height: float, pitch: float) -> None:
    depth, _ = look(pose_at(0.0, z=height, pitch=pitch), WIDE)
    ground = fit_ground(depth, WIDE, LEVEL, np.radians(30.0))
    assert ground is not None and ground.distance == pytest.approx(height, rel=1e-4) and ground.spread < 1e-4
    np.testing.assert_allclose(ground.down, [0.0, np.cos(pitch), np.sin(pitch)], atol=1e-4)


def test_scale_is_within_2_percent_on_a_noisy_drive_of_unknown_scale() -> None:
    """What the issue asks for: true geometry, noise, an unknown scale that changes from frame to frame by a percent."""
    random = np.random.default_rng(3)
    tracker = ScaleTracker("camera_height", CameraHeightSource(lambda _: CameraHeight(0.6, LEVEL, np.radians(30.0))), ScaleOptions())
    off = []
    for step in range(40):
        pose = pose_at(-1.0 + 0.06 * step, z=0.6, yaw=0.3 * np.sin(step / 6), pitch=0.1)
        depth = noisy(look(pose, WIDE)[0], random)
        unit = 0.37 * np.exp(random.normal(0.0, 0.01))
        scale = tracker.scale_of(frame_at(pose, step / 10, WIDE), prediction_of(depth / unit))
        assert (scale is None) == (step < 2)
        if scale is not None:
            off.append(scale.factor / 0.37 - 1.0)
    assert np.max(np.abs(off)) < 0.02


def test_a_table_is_no_floor() -> None:
    """Half of what is seen below the horizon is a table; the floor shows below it."""
    depth = look(pose_at(0.0, z=1.4), WIDE)[0]
    slope = (np.arange(120) - WIDE.cy) / WIDE.fy
    table = np.where(slope > 0, 0.6 / np.maximum(slope, 1e-6), np.inf)[:, None] * np.ones(160)
    table[:, 90:] = np.inf
    seen = np.where((table < depth) & (table < 2.0), table, depth)
    ground = fit_ground(seen, WIDE, LEVEL, np.radians(30.0))
    assert ground is None or ground.distance == pytest.approx(1.4, rel=0.02)


def test_walls_sky_and_emptiness_are_no_ground() -> None:
    tolerance = np.radians(30.0)
    assert fit_ground(np.full((120, 160), 3.0, np.float32), WIDE, LEVEL, tolerance) is None, "a wall"
    assert fit_ground(np.full((120, 160), np.nan, np.float32), WIDE, LEVEL, tolerance) is None
    up = look(pose_at(0.0, pitch=-0.9), WIDE)[0]
    assert fit_ground(up, WIDE, np.array([0.0, np.cos(0.9), -np.sin(0.9)]), tolerance) is None, "the camera looks at the ceiling"
    random = np.random.default_rng(0)
    assert fit_ground(random.uniform(1.0, 9.0, (120, 160)).astype(np.float32), WIDE, LEVEL, tolerance) is None


def test_reasons_are_told() -> None:
    frame, wall = frame_at(pose_at(0.0)), prediction_of(np.full((48, 64), 3.0))
    for where, seen, reason in (
        (lambda _: CameraHeight(0.6, LEVEL, 0.5), wall, "no ground"),
        (lambda _: Refusal("no transform"), wall, "no transform"),
    ):
        inbox = Inbox()
        CameraHeightSource(where).observe(frame, seen, inbox.append)
        assert not inbox.factors and reason in inbox.reasons[0]
    inbox = Inbox()
    blind = replace(wall, intrinsics=None)
    CameraHeightSource(lambda _: CameraHeight(0.6, LEVEL, 0.5)).observe(frame_at(pose_at(0.0), camera=None), blind, inbox.append)
    assert "camera_info" in inbox.reasons[0]


def test_inverse_depth_gets_no_scale_from_the_ground() -> None:
    depth, _ = look(pose_at(0.0))
    tracker = ScaleTracker("camera_height", CameraHeightSource(lambda _: CameraHeight(0.6, LEVEL, 0.5)), ScaleOptions())
    for step in range(5):
        assert tracker.scale_of(frame_at(pose_at(0.0), step), prediction_of(1 / depth, DepthKind.RELATIVE_INVERSE_DEPTH)) is None
    assert "relative_inverse_depth" in tracker.state().refusal


def test_the_camera_of_the_network_serves_where_the_robots_is_unknown() -> None:
    depth, _ = look(pose_at(0.0, z=0.6))
    inbox = Inbox()
    source = CameraHeightSource(lambda _: CameraHeight(0.6, LEVEL, 0.5))
    source.observe(frame_at(pose_at(0.0), camera=None), prediction_of(depth / 2.0), inbox.append)
    assert inbox.factors == [pytest.approx(2.0, rel=1e-3)] and CAMERA.cx == 31.5
