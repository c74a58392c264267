"""Field cases on the scale, on the real middleware."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest
from box_room import CAMERA
from lifecycle_msgs.msg import Transition
from nav_msgs.msg import Odometry
from rig import NodeProcess, Rig, image_message, info_message, values_of
from room_engine import picture_at
from room_robot import HEIGHT, UNIT, Robot, cloud, points_of, stamped, truth
from sensor_msgs.msg import CameraInfo, PointCloud2

from depth_anything_ros.ros.scale_readings import OdometryReadings
from depth_anything_ros.ros.transform_tree import TransformTree
from depth_anything_ros.types import Frame

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=small.gguf")
KEYFRAMES = ("-p", "scale.source:=metric_model", "-p", "metric_model:=metric.gguf", "-p", "scale.metric_model.every:=3")
GROUND = ("-p", "scale.source:=camera_height", "-p", f"scale.camera_height.height:={HEIGHT}")


def send_without_calibration(robot: Robot, count: int) -> None:
    """Pictures beside a CameraInfo of zeros, one at a time."""
    received = robot.rig.received

    def outcomes() -> int:
        return len(received["depth/image_rect"]) + len(received["relative/image"])

    for number in range(count):
        robot.stamp += 10**8
        info, before = CameraInfo(), outcomes()
        info.header.stamp.sec, info.header.stamp.nanosec = divmod(robot.stamp, 10**9)
        robot.infos.publish(info)
        robot.camera.publish(image_message(picture_at(0.02 * number, z=HEIGHT), robot.stamp))
        robot.rig.until(lambda before=before: outcomes() > before, 10.0)
        robot.rig.spin(0.05)


@pytest.mark.case(18)
@pytest.mark.parametrize("source", [KEYFRAMES, GROUND], ids=["metric_model", "camera_height"])
def test_an_uncalibrated_camera_gets_its_scale_by_the_models_own_estimate(rig: Rig, start: Start, source: tuple[str, ...]) -> None:
    start(*MODEL, *source, room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    send_without_calibration(robot, 8)
    assert float(robot.scale()["value"]) == pytest.approx(UNIT, rel=0.01)
    np.testing.assert_allclose(values_of(rig.received["depth/image_rect"][-1]), truth(0.14), rtol=0.01)


@pytest.mark.case(18)
@pytest.mark.case(27)
def test_without_any_focal_length_no_metres_are_claimed(rig: Rig, start: Start) -> None:
    """Inverse depth, ranges, and nobody who knows the camera."""
    start("--ros-args", "-p", "model:=inverse.gguf", "-p", "scale.source:=range", room={"unit": 0.02})
    robot = Robot(rig)
    robot.ready()
    send_without_calibration(robot, 5)
    assert not rig.received["depth/image_rect"] and "camera_info" in robot.scale()["reason"]


@pytest.mark.case(44)
def test_a_bags_second_loop_finds_its_scale_again(rig: Rig, start: Start) -> None:
    start(*MODEL, *GROUND, room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    for _ in range(3):
        robot.stamp = 5 * 10**9
        assert robot.drive(25, until_known=True, step=0.02) is not None
    assert len(rig.received["relative/image"]) == 6 and len(rig.received["depth/image_rect"]) == 69


@pytest.mark.case(51)
def test_a_failing_keyframe_is_reported_and_survived(rig: Rig, start: Start) -> None:
    node = start(*MODEL, *KEYFRAMES, room={"unit": UNIT, "metric_failures": {"1": "foreign", "2": "memory"}})
    robot = Robot(rig)
    robot.ready()
    robot.before = lambda robot, x: rig.spin(0.05)
    assert robot.see(0.0) is None
    rig.until(lambda: "Work in the background failed" in node.log, 10.0)
    assert "unknown exception" in node.log and "unknown exception" in robot.scale()["reason"]
    assert robot.drive(15) is not None, "the live frames went on, and a later keyframe gives the scale"
    assert robot.scale()["reason"] == "" and node.running


@pytest.mark.case(50)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_node_ends_while_a_keyframe_is_at_work(rig: Rig, start: Start, number: int) -> None:
    node = start(*MODEL, *KEYFRAMES, room={"unit": UNIT, "metric_seconds": 60.0})
    robot = Robot(rig)
    robot.ready()
    for step in range(5):
        assert robot.see(0.01 * step) is None
    began = time.monotonic()
    node.signal(number)
    assert node.wait(5.0) == 0 and time.monotonic() - began < 5.0
    assert "Traceback" not in node.log


@pytest.mark.case(55)
def test_a_storm_of_scale_parameters(rig: Rig, start: Start) -> None:
    """Depth is that of the room by one scale, or relative, never anything between."""
    node = start(*MODEL, *GROUND, room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    settings = [
        {"scale.source": "camera_height", "scale.window": 1.0, "temporal.depth": True},
        {"scale.source": "constant", "scale.value": 2 * UNIT, "temporal.scale": True},
        {"scale.source": "range", "scale.range.tolerance": 0.5, "temporal.depth": False},
        {"scale.source": "model", "scale.max_age": 1.0, "temporal.memory": 5},
    ]
    end, turn = time.monotonic() + 6.0, 0
    while time.monotonic() < end:
        assert rig.set_parameters(settings[turn % 4]) == ""
        for _ in range(4):
            depth = robot.see(0.0)
            if depth is not None:
                ratio = depth / truth(0.0)
                assert np.ptp(ratio) < 0.02 and np.abs(np.median(ratio) - np.array([1.0, 2.0])).min() < 0.02
        turn += 1
    assert turn > 8 and node.running and "Frame lost" not in node.log
    assert "scale.window" in rig.set_parameters({"scale.window": float("nan")})
    assert "scale.value" in rig.set_parameters({"scale.source": "constant", "scale.value": 0.0})


def test_each_camera_has_a_scale_of_its_own(rig: Rig, start: Start) -> None:
    """Two cameras on one engine: the same units, measurements beside the left one only."""
    start(*MODEL, "-p", "cameras:=[left, right]", "-p", "scale.source:=range", room={"unit": UNIT})
    rig.listen("left/depth/image_rect", "right/depth/image_rect", "right/relative/image", "left/depth/scale", "right/depth/scale")
    cameras = {name: rig.camera(f"{name}/image") for name in ("left", "right")}
    infos = {name: rig.camera(f"{name}/camera_info", CameraInfo) for name in ("left", "right")}
    clouds = rig.camera("left/scale/points", PointCloud2)
    rig.wait_for_node(*cameras.values(), *infos.values(), clouds)
    for number in range(1, 9):
        clouds.publish(cloud(points_of(0.0), number * 10**8, "cam_optical"))
        for name, camera in cameras.items():
            infos[name].publish(info_message((64, 48), number * 10**8, CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy))
            rig.spin(0.05)
            camera.publish(image_message(picture_at(0.0, z=HEIGHT), number * 10**8))
        rig.until(lambda number=number: len(rig.received["right/relative/image"]) >= number, 10.0)
    rig.until(lambda: bool(rig.received["left/depth/image_rect"]), 10.0)
    np.testing.assert_allclose(values_of(rig.received["left/depth/image_rect"][-1]), truth(0.0), rtol=0.01)
    assert not rig.received["right/depth/image_rect"]
    (status,) = rig.received["right/depth/scale"][-1].status
    assert status.name.endswith("scale right") and "no scale/scan" in {pair.key: pair.value for pair in status.values}["reason"]


def test_odometry_that_is_no_number_is_passed_over() -> None:
    """As a filter sends it that has diverged; the messages about it count."""
    tree = TransformTree()
    readings = OdometryReadings(tree)
    _, hear = readings.topics["scale/odom"]
    for stamp, x in ((0, 1.0), (50_000_000, math.nan), (100_000_000, 3.0)):
        message = stamped(Odometry(child_frame_id="cam_optical"), stamp, "odom")
        message.pose.pose.position.x, message.pose.pose.orientation.w = x, 1.0
        hear(message)
    pose = readings.pose(Frame(np.zeros((2, 2, 3), np.uint8), False, None, 50_000_000, "cam_optical"))
    np.testing.assert_allclose(pose, [[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def test_clean_up_ends_listening_to_tf(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=camera_height", room={"unit": UNIT}, fake_tf=True)
    for _ in range(2):
        rig.until(lambda: rig.node.count_subscribers("/fake_tf") == 1, 10)
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
            assert rig.change_state(transition)
        rig.until(lambda: rig.node.count_subscribers("/fake_tf") == 0, 10)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert rig.change_state(transition)
