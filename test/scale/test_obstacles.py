"""A box that comes and goes, through the whole pipeline with depth held still: what a costmap gets to see of it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from box_room import look, pose_at
from fake_engine import METRIC, FakeEngine

from depth_anything_ros.pipeline import Finisher, ProcessingOptions, WantedProducts, predict
from depth_anything_ros.scale.steady import DepthSteadier, TemporalOptions
from depth_anything_ros.types import Frame, Intrinsics

CAMERA = Intrinsics(320, 240, 250.0, 250.0, 159.5, 119.5)
REACH = 8.0
BOX = slice(100, 200), slice(120, 200)


@pytest.mark.case(35)
@pytest.mark.parametrize("temporal", [TemporalOptions(), TemporalOptions(depth=True)], ids=["plain", "held still"])
def test_an_obstacle_that_left_is_gone_and_nothing_flies(temporal: TemporalOptions) -> None:
    """20 frames with a box at 1.5 m, 20 without. The network's map slides over its edges within five pixels, as networks do.

    The far wall is beyond the reach. Of the points under 1 % lie off the surfaces by more than a tenth of the depth.
    """
    room, empty = look(pose_at(0.0), CAMERA)
    with_box, seen = room.copy(), empty.copy()
    with_box[BOX], seen[BOX] = 1.5, (40, 90, 200)
    scene, random = room, np.random.default_rng(35)
    engine = FakeEngine(METRIC, depth_of=lambda pixels: cv2.blur(scene, (5, 5)) * np.float32(300.0 / CAMERA.fx))
    options = ProcessingOptions(points_max=REACH, points_stride=1)
    wanted = WantedProducts(depth=True, confidence=False, sky_mask=False)
    finisher = Finisher(None, DepthSteadier(temporal).apply)
    for number in range(40):
        scene, picture = (with_box, seen) if number < 20 else (room, empty)
        noisy = (picture + random.normal(0.0, 3.0, picture.shape)).clip(0, 255).astype(np.uint8)
        frame = Frame(noisy, False, CAMERA, number * 100_000_000, "camera_optical")
        products = finisher.finish(frame, predict(frame, engine, options, wanted), options, wanted)
        z = products.points["z"]
        there = np.isfinite(z)
        assert z[there].max() <= REACH and there.mean() > 0.7
        assert (np.abs(z[there] / scene[there] - 1.0) > 0.1).mean() < 0.01
        assert not (z[BOX] < 1.6).any() if number >= 20 else (z[BOX] < 1.6).mean() > 0.7
        far = scene > REACH + 0.5
        assert far.any() and np.isfinite(products.depth[far]).all(), "behind the reach of the cloud the map still has what clears"
