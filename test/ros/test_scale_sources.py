"""Metres from each source on the real middleware: a room of known geometry, networks with a unit of their own, and what sensors say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from box_room import CAMERA, pose_at
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rig import LATCHED, RELIABLE, NodeProcess, Rig, info_message, values_of
from room_robot import HEIGHT, UNIT, Robot, cloud, points_of, stamped, transform, truth
from sensor_msgs.msg import CameraInfo, Image, LaserScan, PointCloud2, Range

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=small.gguf")


def test_a_metric_model_on_keyframes(rig: Rig, start: Start) -> None:
    """The network's own unit stays; what no keyframe has reached yet is relative."""
    parameters = ("-p", "scale.source:=metric_model", "-p", "metric_model:=metric.gguf", "-p", "scale.metric_model.every:=5")
    node = start(*MODEL, *parameters, room={"unit": UNIT, "metric_seconds": 0.1})
    robot = Robot(rig)
    robot.ready()
    robot.before = lambda robot, x: rig.spin(0.05)
    assert robot.drive(20, until_known=True) is not None
    assert len(rig.received["relative/image"]) >= 1, "the first picture comes before its own keyframe"
    scale = robot.scale()
    assert (scale["known"], scale["source"]) == ("true", "metric_model") and float(scale["value"]) == pytest.approx(UNIT, rel=0.01)
    assert 2 <= int(scale["accepted"]) <= 5
    assert node.running


def test_a_metric_model_that_is_not_there_ends_the_start(rig: Rig, start: Start) -> None:
    node = start("--ros-args", "-p", "model:=a.gguf", "-p", "scale.source:=metric_model", ready=False)
    assert node.wait(20) == 2 and "metric_model" in node.log


def test_the_height_of_the_camera(rig: Rig, start: Start) -> None:
    """Without TF the camera is taken as level; the height is a parameter."""
    start(*MODEL, "-p", "scale.source:=camera_height", "-p", f"scale.camera_height.height:={HEIGHT}", room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    assert robot.drive(5, until_known=True) is not None
    assert len(rig.received["relative/image"]) == 2, "three estimates must agree"
    assert float(robot.scale()["value"]) == pytest.approx(UNIT, rel=0.005)
    assert rig.set_parameters({"scale.camera_height.height": 2 * HEIGHT}) == ""
    rig.spin(0.5)
    doubled = robot.drive(5)
    assert doubled is not None
    np.testing.assert_allclose(doubled, 2 * truth(-1.5 + 0.06 * 4), rtol=0.01)


def test_the_height_of_the_camera_by_tf(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=camera_height", room={"unit": UNIT}, fake_tf=True)
    robot = Robot(rig)
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    robot.ready()
    assert robot.see(0.0) is None and "base_footprint" in robot.scale()["reason"]
    tf.publish(transform("base_footprint", "cam_optical", pose_at(0.0, z=HEIGHT)))
    rig.spin(0.5)
    assert robot.drive(5, until_known=True) is not None


def test_pictures_by_another_clock_than_tf(rig: Rig, start: Start) -> None:
    """They will never be in what TF remembers, which is another thing than one that may still come."""
    start(*MODEL, "-p", "scale.source:=camera_height", room={"unit": UNIT}, fake_tf=True)
    robot = Robot(rig)
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    robot.ready()
    tf.publish(transform("base_footprint", "cam_optical", pose_at(0.0, z=HEIGHT), 100 * 10**9))
    rig.spin(0.5)
    assert robot.see(0.0) is None and "are their clocks the same?" in robot.scale()["reason"]


def test_without_tf_what_needs_it_says_so_once_and_stays_off(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "scale.source:=camera_height", room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    assert robot.drive(8) is None
    rig.spin(0.5)
    assert node.log.count("tf2_ros is not installed") == 1
    assert robot.scale()["known"] == "false" and "tf2_ros" in robot.scale()["reason"]


CAMERA_FROM_LEVEL = np.eye(4)
"""A sensor (x forward, y left, z up) at the camera's place."""
CAMERA_FROM_LEVEL[:3, :3] = [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]


def scan_at(robot: Robot, x: float) -> None:
    """A laser on the camera's own axis: each ray meets what the pixel of its direction sees."""
    depth = truth(x)[23]
    columns = np.arange(2, 62)
    bearings = np.arctan((columns - CAMERA.cx) / CAMERA.fx)  # to the right
    even = np.linspace(bearings[0], bearings[-1], 120)
    nearest = columns[np.abs(bearings[:, None] - even).argmin(axis=0)]
    message = LaserScan(angle_min=float(-even[-1]), angle_increment=float(even[1] - even[0]), range_min=0.1, range_max=30.0)
    message.ranges = (depth[nearest] / np.cos(even))[::-1].astype(float).tolist()
    robot.scan.publish(stamped(message, robot.stamp, "laser"))  # type: ignore[attr-defined]
    robot.rig.spin(0.05)


def test_a_laser_scan_through_tf(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=range", room={"unit": UNIT}, fake_tf=True)
    robot = Robot(rig)
    robot.scan = rig.camera("scale/scan", LaserScan)  # type: ignore[attr-defined]
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    tf.publish(transform("cam_optical", "laser", CAMERA_FROM_LEVEL))
    robot.ready()
    rig.wait_for_node(robot.scan)  # type: ignore[attr-defined]
    assert robot.see(0.0) is None and "no scale/scan" in robot.scale()["reason"]
    robot.before = scan_at
    depth = robot.drive(8)
    assert depth is not None
    np.testing.assert_allclose(depth, truth(-1.5 + 0.06 * 7), rtol=0.02)


def test_a_cloud_in_the_cameras_frame_needs_no_tf(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=range", room={"unit": UNIT})
    robot = Robot(rig)
    clouds = rig.camera("scale/points", PointCloud2)
    robot.ready()
    rig.wait_for_node(clouds)

    def send(robot: Robot, x: float) -> None:
        clouds.publish(cloud(points_of(x), robot.stamp + 30_000_000, "cam_optical"))
        rig.spin(0.05)

    robot.before = send
    depth = robot.drive(6)
    assert depth is not None
    np.testing.assert_allclose(depth, truth(-1.5 + 0.06 * 5), rtol=0.01)
    robot.before = lambda robot, x: clouds.publish(cloud(points_of(x), robot.stamp + 400_000_000, "cam_optical"))
    robot.stamp += 11 * 10**9
    assert robot.see(0.0) is None, "the scale is too old, and the measurement too far in time"
    assert "within 0.1 s" in robot.scale()["reason"]


@pytest.mark.parametrize("kept", [False, True], ids=["each time", "latched"])
def test_another_depth_camera(rig: Rig, start: Start, kept: bool) -> None:
    start(*MODEL, "-p", "scale.source:=range", room={"unit": UNIT})
    robot = Robot(rig)
    images = rig.camera("scale/depth/image_rect", Image)
    infos = rig.camera("scale/depth/camera_info", CameraInfo, LATCHED if kept else RELIABLE)
    infos.publish(info_message((64, 48), 0, CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy))
    robot.ready()
    rig.wait_for_node(images, infos)

    def send(robot: Robot, x: float) -> None:
        millimetres = (truth(x) * 1000).astype("<u2")
        image = stamped(Image(height=48, width=64, encoding="16UC1", step=128), robot.stamp, "cam_optical")
        image.data.frombytes(millimetres.tobytes())
        if not kept:
            infos.publish(info_message((64, 48), robot.stamp, CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy))
            rig.spin(0.05)
        images.publish(image)
        rig.spin(0.05)

    robot.before = send
    depth = robot.drive(6)
    assert depth is not None
    np.testing.assert_allclose(depth, truth(-1.5 + 0.06 * 5), rtol=0.01)


def test_a_single_beam(rig: Rig, start: Start) -> None:
    """A laser ranger that looks along the optical axis; its frame is the camera's position with x forward, through TF."""
    start(*MODEL, "-p", "scale.source:=range", room={"unit": UNIT}, fake_tf=True)
    robot = Robot(rig)
    beams = rig.camera("scale/range", Range)
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    tf.publish(transform("cam_optical", "beam", CAMERA_FROM_LEVEL))
    robot.ready()
    rig.wait_for_node(beams)

    def send(robot: Robot, x: float) -> None:
        reading = Range(radiation_type=Range.INFRARED, min_range=0.1, max_range=20.0, range=float(truth(x)[23, 31]))
        beams.publish(stamped(reading, robot.stamp, "beam"))
        rig.spin(0.05)

    robot.before = send
    depth = robot.drive(6)
    assert depth is not None
    np.testing.assert_allclose(depth, truth(-1.5 + 0.06 * 5), rtol=0.02)


def test_ranges_give_inverse_depth_scale_and_shift(rig: Rig, start: Start) -> None:
    start("--ros-args", "-p", "model:=inverse.gguf", "-p", "scale.source:=range", room={"unit": 0.02})
    robot = Robot(rig)
    clouds = rig.camera("scale/points", PointCloud2)
    robot.ready()
    rig.wait_for_node(clouds)
    assert robot.see(0.0) is None

    def send(robot: Robot, x: float) -> None:
        clouds.publish(cloud(points_of(x), robot.stamp, "cam_optical"))
        rig.spin(0.05)

    robot.before = send
    depth = robot.drive(6)
    assert depth is not None
    np.testing.assert_allclose(depth, truth(-1.5 + 0.06 * 5), rtol=0.02)
    scale = robot.scale()
    assert (float(scale["value"]), float(scale["shift"])) == pytest.approx((0.02, 0.05), rel=0.05)


def odometry_at(robot: Robot, x: float, yaw: float = 0.0) -> None:
    """A robot whose camera sits 0.2 m before its axis and looks ahead; odometry comes at 50 Hz and a little late."""
    for late in (-10_000_000, 10_000_000):
        message = stamped(Odometry(child_frame_id="base_link"), robot.stamp + late, "odom")
        spot, turn = message.pose.pose.position, message.pose.pose.orientation
        spot.x, spot.y = x - 0.2 * math.cos(yaw), -0.2 * math.sin(yaw)
        turn.z, turn.w = math.sin(yaw / 2), math.cos(yaw / 2)
        robot.odometry.publish(message)  # type: ignore[attr-defined]
    robot.rig.spin(0.05)


def odometry_robot(rig: Rig) -> Robot:
    robot = Robot(rig)
    robot.odometry = rig.camera("scale/odom", Odometry)  # type: ignore[attr-defined]
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    tf.publish(transform("base_link", "cam_optical", pose_at(0.2, z=HEIGHT)))
    robot.tf = tf  # type: ignore[attr-defined]
    robot.ready()
    rig.wait_for_node(robot.odometry)  # type: ignore[attr-defined]
    return robot


def test_odometry(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=odometry", room={"unit": UNIT}, fake_tf=True)
    robot = odometry_robot(rig)
    assert robot.see(-1.5) is None and "scale/odom" in robot.scale()["reason"]
    robot.before = odometry_at
    depth = robot.drive(30, until_known=True)
    assert depth is not None
    scale = robot.scale()
    assert scale["source"] == "odometry" and float(scale["value"]) == pytest.approx(UNIT, rel=0.02)


def test_odometry_while_the_robot_turns_on_the_spot(rig: Rig, start: Start) -> None:
    """The camera goes round a circle of 0.2 m; odometry and TF know it, and 0.05 m more of baseline are not there."""
    start(*MODEL, "-p", "scale.source:=odometry", "-p", "scale.odometry.baseline:=0.3", room={"unit": UNIT}, fake_tf=True)
    robot = odometry_robot(rig)
    for number in range(25):
        yaw = 0.1 * number
        robot.before = lambda robot, x, yaw=yaw: odometry_at(robot, 0.2 * math.cos(yaw), yaw)
        assert robot.see(0.0, yaw) is None
    assert robot.scale()["known"] == "false" and not rig.received["depth/image_rect"]


def test_odometry_by_tf_alone(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=odometry", "-p", "scale.odometry.input:=tf", room={"unit": UNIT}, fake_tf=True)
    robot = Robot(rig)
    tf = rig.node.create_publisher(TransformStamped, "/fake_tf", LATCHED)
    robot.ready()

    def send(robot: Robot, x: float) -> None:
        tf.publish(transform("odom", "cam_optical", pose_at(x, z=HEIGHT), robot.stamp))
        rig.spin(0.05)

    robot.before = send
    assert robot.drive(30, until_known=True) is not None


def test_a_standing_camera_does_not_flicker_through_the_node(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "temporal.depth:=true", room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    for _ in range(5):
        assert robot.see(0.0) is None
    np.testing.assert_allclose(values_of(rig.received["relative/image"][-1]), truth(0.0) / UNIT, rtol=1e-4)
