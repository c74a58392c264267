"""What the scale's sources keep of messages: for slow networks, beside sensors that fail, after disorder and in a bag's next loop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rig import info_message
from sensor_msgs.msg import Image, LaserScan

from depth_anything_ros.ros.scale_readings import OdometryReadings, RangeReadings
from depth_anything_ros.ros.transform_tree import TransformTree
from depth_anything_ros.ros.transforms import Tf
from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.types import Frame

CAMERA = "cam_optical"
SECOND = 10**9


def at(message: Any, stamp: int, frame: str = CAMERA) -> Any:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
    message.header.frame_id = frame
    return message


def frame_at(stamp: int) -> Frame:
    return Frame(np.zeros((2, 2, 3), np.uint8), False, None, stamp, CAMERA)


def scan(stamp: int, metres: float, frame: str = CAMERA) -> LaserScan:
    return at(LaserScan(angle_increment=0.1, range_min=0.1, range_max=50.0, ranges=[metres]), stamp, frame)


def flat_depth(stamp: int, millimetres: int, width: int = 64, height: int = 48) -> Image:
    message = at(Image(width=width, height=height, step=2 * width, encoding="16UC1"), stamp)
    message.data.frombytes(np.full((height, width), millimetres, np.uint16).tobytes())
    return message


def test_measurements_wait_for_a_slow_network() -> None:
    """A depth camera of 30 Hz and a laser of 40 Hz; the picture of 3 s ago comes out of the network now. Each says its number in metres."""
    readings = RangeReadings(TransformTree(), tolerance=0.1)
    hear = {topic: heard for topic, (_, heard) in readings.topics.items()}
    hear["scale/depth/camera_info"](info_message((64, 48), 0))
    for number in range(120):
        hear["scale/depth/image_rect"](flat_depth(number * SECOND // 30, 1000 + number))
    for number in range(160):
        hear["scale/scan"](scan(number * SECOND // 40, 1.0 + number))
    depth, laser = readings.measured(frame_at(SECOND))
    np.testing.assert_allclose(depth.points[:, 2], 1.030, rtol=1e-6)
    np.testing.assert_allclose(laser.points, [[41.0, 0.0, 0.0]])


def test_measurements_are_not_kept_for_ever() -> None:
    """640x480 of 16 bits are 0.6 MB, of which 100 are enough; of a laser 10 s."""
    readings = RangeReadings(TransformTree(), tolerance=0.1)
    hear = {topic: heard for topic, (_, heard) in readings.topics.items()}
    hear["scale/depth/camera_info"](info_message((640, 480), 0))
    for number in range(150):
        hear["scale/depth/image_rect"](flat_depth(number * SECOND // 30, 1000, 640, 480))
    for number in range(240):
        hear["scale/scan"](scan(number * SECOND // 20, 2.0))
    assert isinstance(readings.measured(frame_at(0)), Refusal)
    assert len(readings.measured(frame_at(3 * SECOND))) == 2


def test_a_sensor_without_transform_does_not_silence_the_others() -> None:
    readings = RangeReadings(TransformTree(), tolerance=0.1)
    _, hear = readings.topics["scale/scan"]
    hear(scan(SECOND, 3.0, "nobody_knows_where"))
    refusal = readings.measured(frame_at(SECOND))
    assert isinstance(refusal, Refusal) and "nobody_knows_where" in refusal.reason
    hear(scan(SECOND, 2.0))
    (found,) = readings.measured(frame_at(SECOND))
    np.testing.assert_allclose(found.points, [[2.0, 0.0, 0.0]])


def odometry(stamp: int, x: float) -> Odometry:
    message = at(Odometry(child_frame_id=CAMERA), stamp, "odom")
    message.pose.pose.position.x, message.pose.pose.orientation.w = x, 1.0
    return message


@pytest.mark.case(43)
@pytest.mark.case(44)
def test_odometry_out_of_order_is_left_out_and_a_next_loop_begins_anew() -> None:
    readings = OdometryReadings(TransformTree())
    _, hear = readings.topics["scale/odom"]
    for tenths in (0, 1, 3, 2, 4):
        hear(odometry(tenths * SECOND // 10, float(tenths)))
    assert readings.pose(frame_at(SECOND // 20))[0, 3] == pytest.approx(0.5)
    for tenths in range(40):
        hear(odometry(tenths * SECOND // 10, float(tenths)))
    for tenths in range(3):
        hear(odometry(tenths * SECOND // 10, 10.0 * tenths))
    assert readings.pose(frame_at(SECOND // 20))[0, 3] == pytest.approx(5.0)


@pytest.fixture
def tf(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Tf, Callable[[str, str, int, float], None]]]:
    """TF by the stand-in, and what sends it a transform: parent, child, stamp (0 holds at any time), metres."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "fake_tf"))
    monkeypatch.delitem(sys.modules, "tf2_ros", raising=False)
    heard: list[Any] = []
    made = Tf(SimpleNamespace(create_subscription=lambda kind, topic, hear, qos: heard.append(hear)))

    def send(parent: str, child: str, stamp: int, x: float) -> None:
        one = at(TransformStamped(child_frame_id=child), stamp, parent)
        one.transform.translation.x, one.transform.rotation.w = x, 1.0
        heard[0](one)

    yield made, send
    monkeypatch.delitem(sys.modules, "tf2_ros")


@pytest.mark.case(44)
def test_transforms_of_a_bags_next_loop_are_heard(tf: tuple[Tf, Callable[[str, str, int, float], None]]) -> None:
    """Longer than what tf2 remembers; what is fixed to the robot is sent once."""
    made, send = tf
    send("base_link", CAMERA, 0, 0.2)
    for loop in range(2):
        found = []
        for second in range(1, 31):
            send("odom", CAMERA, second * SECOND, 100.0 * loop + second)
            found.append(made.lookup("odom", CAMERA, second * SECOND))
        assert [one[0, 3] for one in found[2:]] == [100.0 * loop + second for second in range(3, 31)]
        assert made.lookup("base_link", CAMERA, 30 * SECOND)[0, 3] == pytest.approx(0.2)


@pytest.mark.case(43)
def test_a_camera_with_another_clock_takes_no_transforms_from_the_others(tf: tuple[Tf, Callable[[str, str, int, float], None]]) -> None:
    made, send = tf
    send("odom", "other", 0, 0.5)
    for second in range(1001, 1004):
        send("odom", CAMERA, second * SECOND, float(second))
    for second in range(1001, 1004):
        assert made.lookup("odom", "other", second - 1000)[0, 3] == pytest.approx(0.5)
        assert made.lookup("odom", CAMERA, second * SECOND)[0, 3] == pytest.approx(second)
