"""The demo's report on bags whose accuracy is known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import TYPES
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

from depth_anything_ros.engine import Engine
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.camera_bag import START_NS, Shot, write_camera_bag
from depth_anything_ros.ros.demo_model import try_model
from depth_anything_ros.ros.demo_report import DemoReport
from depth_anything_ros.types import Intrinsics

CAMERA = Intrinsics(64, 48, 40.0, 40.0, 31.5, 23.5)


def image(values: np.ndarray, index: int) -> bytes:
    seconds, nanoseconds = divmod(START_NS + index * 100_000_000, 1_000_000_000)
    header = TYPES.types["std_msgs/msg/Header"](
        stamp=TYPES.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds), frame_id="camera_optical_frame"
    )
    height, width = values.shape
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    message = TYPES.types["sensor_msgs/msg/Image"](
        header=header, height=height, width=width, encoding="32FC1", is_bigendian=0, step=width * 4, data=data
    )
    return bytes(TYPES.serialize_cdr(message, "sensor_msgs/msg/Image"))


@pytest.fixture
def camera(tmp_path: Path, photo: np.ndarray) -> Path:
    rgb = np.ascontiguousarray(cv2.resize(photo, (64, 48)))
    depth = np.tile(np.linspace(9, 1, 48, dtype=np.float32)[:, None], (1, 64))
    depth[:10] = np.inf
    write_camera_bag(tmp_path / "camera", [Shot(rgb, CAMERA, depth) for _ in range(3)], 10.0)
    return tmp_path / "camera"


def depth_bag(folder: Path, topic: str, frames: list[tuple[int, np.ndarray]]) -> Path:
    with BagWriter(folder) as bag:
        bag.add_topic(topic, "sensor_msgs/msg/Image")
        for index, values in frames:
            bag.write(topic, START_NS + index, image(values.astype(np.float32), index))
    return folder


def test_accuracy_of_depth_with_known_faults(tmp_path: Path, camera: Path) -> None:
    """Two of three frames came through: one is 10 % too far, the other twice too far; a quarter of the second has no depth."""
    true = np.tile(np.linspace(9, 1, 48)[:, None], (1, 64))
    second = 2.0 * true
    second[:, :32] = np.nan
    bag = depth_bag(tmp_path / "depth", "/camera/depth/image_rect", [(0, 1.1 * true), (2, second)])
    accuracy = DemoReport(bag, camera).accuracy()
    assert accuracy.covered == pytest.approx(0.75)
    assert accuracy.abs_rel == pytest.approx((0.1 * 2 + 1.0 * 1) / 3, rel=1e-3)
    assert accuracy.within == pytest.approx(2 / 3)


def test_no_accuracy_without_metres(tmp_path: Path, camera: Path) -> None:
    bag = depth_bag(tmp_path / "relative", "/camera/relative/image", [(0, np.ones((48, 64)))])
    assert DemoReport(bag, camera).accuracy() is None


@pytest.mark.native
def test_the_scale_is_fitted_to_what_is_no_sky(tmp_path: Path) -> None:
    """By a true depth that is twice what the model says, under a sky that is most of the picture."""
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    rgb = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    with Engine.load(model) as engine:
        found = engine.infer(rgb, intrinsics=CAMERA).depth
    true = 2.0 * cv2.resize(found, (64, 48), interpolation=cv2.INTER_LINEAR)
    true[:30], true[30:32] = np.inf, np.nan
    assert try_model(model, Shot(rgb, CAMERA, true)).scale == pytest.approx(2.0, rel=1e-5)
