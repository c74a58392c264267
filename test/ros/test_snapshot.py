"""A snapshot on disk, without a node."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from fake_engine import FakeEngine
from std_msgs.msg import Header

from depth_anything_ros.pipeline import process
from depth_anything_ros.ros.snapshot import Snapshot
from depth_anything_ros.types import Frame, Products


def products(level: int) -> Products:
    return process(Frame(np.full((6, 8, 3), level, np.uint8), False, None, 0, "cam_optical"), FakeEngine())


def test_a_picture_that_was_on_its_way_does_not_write_over_the_first(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path / "shot", ["front", "left"], {"sky.policy": "nan"})
    snapshot.write("front", products(10), Header())
    assert not snapshot.done and "left" in snapshot.problem
    snapshot.write("front", products(20), Header())
    snapshot.write("left", products(30), Header())
    assert snapshot.done and not snapshot.problem
    levels = [int(cv2.imread(str(tmp_path / "shot" / name / "picture.png")).max()) for name in ("front", "left")]
    assert levels == [10, 30]
