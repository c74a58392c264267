"""Transforms of a recording: between stamps, beyond them, and what is none."""

from __future__ import annotations

import math

import numpy as np
from bag_tools import TYPES
from evaluation_bags import KINDS, TF, pose, tf_message

from depth_anything_ros.ros.transform_tree import TransformTree


def test_transforms_that_are_no_numbers_are_passed_over() -> None:
    transforms = TransformTree()
    for stamp, x in ((0, 1.0), (50, math.nan), (100, 3.0)):
        message = TYPES.deserialize_cdr(tf_message(stamp, "world", "robot", pose((0.0, 0.0, 0.0), (x, 0.0, 0.0))), KINDS[TF])
        transforms.add(message, static=False)
    np.testing.assert_allclose(transforms.lookup("world", "robot", 50)[:3, 3], (2.0, 0.0, 0.0))


def test_transforms_between_and_beyond_stamps() -> None:
    transforms = TransformTree()
    for stamp, turn in ((0, 0.0), (100, 1.0)):
        message = TYPES.deserialize_cdr(tf_message(stamp, "world", "robot", pose((0.0, 0.0, turn), (turn, 0.0, 0.0))), KINDS[TF])
        transforms.add(message, static=False)
    np.testing.assert_allclose(transforms.lookup("world", "robot", 25), pose((0.0, 0.0, 0.25), (0.25, 0.0, 0.0)), atol=1e-12)
    np.testing.assert_allclose(transforms.lookup("robot", "world", 25), np.linalg.inv(pose((0.0, 0.0, 0.25), (0.25, 0.0, 0.0))), atol=1e-12)
    assert transforms.lookup("world", "robot", 101) is None
    assert "moon" in transforms.lookup("world", "moon", 50).reason
    np.testing.assert_array_equal(transforms.lookup("moon", "moon", 50), np.eye(4))
