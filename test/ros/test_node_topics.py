"""The topics of the node: which publishers and listeners are served, names, times, and what comes when the engine is slow."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from fake_engine import FakeEngine
from noise_picture import MODEL, picture
from rclpy.executors import SingleThreadedExecutor
from rig import BEST_EFFORT, LATCHED, RELIABLE, NodeProcess, Rig, grey, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo, Image

from depth_anything_ros.ros.depth_node import DepthNode
from depth_anything_ros.ros.middleware import middleware

Start = Callable[..., NodeProcess]


@pytest.mark.case(39)
@pytest.mark.case(41)
def test_every_camera_is_heard(rig: Rig, start: Start) -> None:
    """Every mix of QoS of image and info; each time the output carries the numbers of that info."""
    start(*MODEL)
    rig.listen("depth/camera_info")
    for number, (image_qos, info_qos) in enumerate(itertools.product((BEST_EFFORT, RELIABLE, LATCHED), repeat=2)):
        focal = 300.0 + number
        camera, infos = rig.camera(qos=image_qos), rig.camera("camera_info", CameraInfo, qos=info_qos)
        infos.publish(info_message((64, 48), 0, fx=focal))  # a latched one is sent once, before the node hears it

        def send(camera: Any = camera, infos: Any = infos, number: int = number, latched: bool = info_qos is LATCHED) -> None:
            if not latched:
                infos.publish(info_message((64, 48), 100 + number, fx=300.0 + number))
            camera.publish(image_message(picture(), 100 + number))

        inbox = rig.received["depth/camera_info"]
        rig.send_until(send, lambda inbox=inbox, focal=focal: bool(inbox) and inbox[-1].k[0] == focal)
        rig.node.destroy_publisher(camera)
        rig.node.destroy_publisher(infos)


@pytest.mark.case(40)
@pytest.mark.parametrize("qos", [BEST_EFFORT, RELIABLE], ids=["best_effort", "reliable"])
def test_every_listener_is_served(rig: Rig, start: Start, qos: object) -> None:
    topics = ("depth/image_rect", "depth/camera_info", "points", "depth/sky_mask")
    start(*MODEL, "-p", "focal:=300.0")
    rig.listen(*topics, qos=qos)
    camera = rig.camera()
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(picture(), 3)), *topics)


@pytest.mark.case(40)
def test_qos_can_be_overridden(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "qos_overrides./depth/image_rect.publisher.reliability:=best_effort")
    rig.until(lambda: bool(rig.node.get_publishers_info_by_topic("/depth/image_rect")), 20)
    (found,) = rig.node.get_publishers_info_by_topic("/depth/image_rect")
    assert found.qos_profile.reliability == BEST_EFFORT.reliability


@pytest.mark.case(40)
def test_a_listener_that_asks_for_too_much_is_told_of(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    rig.listen("depth/image_rect", qos=LATCHED)
    rig.until(lambda: "A subscriber of /depth/image_rect gets nothing: it asks for more DURABILITY" in node.log, 20)


@pytest.mark.case(47)
def test_names_follow_namespace_and_remaps(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "focal:=300.0", "-r", "__ns:=/robot1", "-r", "__node:=front_depth", "-r", "image:=/a/b/image")
    topics = ("/robot1/depth/image_rect", "/robot1/depth/camera_info", "/robot1/points")
    rig.listen(*topics)
    camera, infos = rig.camera("/a/b/image"), rig.camera("/a/b/camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    rig.next(lambda: camera.publish(image_message(picture(), 1)), *topics)
    rig.until(lambda: ("front_depth", "/robot1") in rig.node.get_node_names_and_namespaces())


@pytest.mark.case(47)
def test_camera_info_can_be_remapped_by_itself(rig: Rig, start: Start) -> None:
    start(*MODEL, "-r", "image:=/a/image", "-r", "camera_info:=/b/calibration")
    rig.listen("depth/image_rect")
    camera, infos = rig.camera("/a/image"), rig.camera("/b/calibration", CameraInfo)
    rig.wait_for_node(camera, infos)
    infos.publish(info_message((64, 48), 1))
    rig.next(lambda: camera.publish(image_message(picture(), 1)), "depth/image_rect")


@pytest.mark.case(47)
@pytest.mark.case(54)
def test_two_nodes_share_a_process_and_an_executor(own_domain: None) -> None:
    received: dict[str, list[float]] = {"left": [], "right": []}
    with middleware(["--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=600.0"]):
        executor, other = SingleThreadedExecutor(), rclpy.create_node("other")
        nodes = [DepthNode(lambda _: FakeEngine(), lambda _: None, lambda: False, namespace=name) for name in received]
        for node in nodes:
            node.start()
        for node in (*nodes, other):
            executor.add_node(node)
        cameras = {name: other.create_publisher(Image, f"/{name}/image", 1) for name in received}
        for name, inbox in received.items():
            other.create_subscription(Image, f"/{name}/depth/image_rect", lambda it, inbox=inbox: inbox.append(values_of(it)[0, 0]), 1)
        end = time.monotonic() + 30
        while not all(received.values()) and time.monotonic() < end:
            for red, camera in zip((51, 102), cameras.values()):
                camera.publish(image_message(grey(red), 1))
            executor.spin_once(0.05)
        executor.shutdown()
        for node in nodes:
            node.release()
            node.destroy_node()
        other.destroy_node()
    assert received["left"][0] == pytest.approx(2.4) and received["right"][0] == pytest.approx(2.8), "by the double's rule, times 600 / 300"


def test_nobody_listens_nothing_is_done(rig: Rig, start: Start) -> None:
    start(*MODEL)
    camera = rig.camera()
    rig.spin(1.0)
    assert camera.get_subscription_count() == 0
    subscription = rig.node.create_subscription(CameraInfo, "depth/camera_info", lambda _: None, RELIABLE)
    rig.wait_for_node(camera)
    rig.node.destroy_subscription(subscription)
    rig.until(lambda: camera.get_subscription_count() == 0, 5)
    rig.listen("relative/image")
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(picture(), 1)), "relative/image")


@pytest.mark.case(44)
@pytest.mark.case(43)
def test_time_may_jump(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "use_sim_time:=true", "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "depth/timing")
    camera = rig.camera()
    rig.wait_for_node(camera)
    stamps = [10**9 * second for second in (5, 6, 7, 5, 6, 7, 0, -1, -1_000_000_000, 2_000_000_000)]
    for stamp in [*stamps, 999_999_999, 1_000_000_000]:
        depth, timing = rig.next(lambda stamp=stamp: camera.publish(image_message(picture(), stamp)), "depth/image_rect", "depth/timing")
        assert depth.header.stamp.sec * 10**9 + depth.header.stamp.nanosec == stamp
        values = {pair.key: pair.value for pair in timing.status[0].values}
        assert values["age_ms"] == "nan", "without /clock nobody knows"


@pytest.mark.case(49)
def test_a_slow_engine_gets_the_newest_frame(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "focal:=300.0", seconds=0.4)
    rig.listen("depth/image_rect", "depth/timing")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for _ in range(90):
        camera.publish(image_message(picture(), rig.node.get_clock().now().nanoseconds))
        rig.spin(1 / 30)
    timings = [{pair.key: float(pair.value) for pair in message.status[0].values} for message in rig.received["depth/timing"]]
    ages = [timing["age_ms"] for timing in timings]
    # Engine, one period of the camera, and the contract's allowance for the rest; twice for a busy machine, a queue gives seconds.
    assert len(ages) >= 4 and max(ages) < 2 * (400 + 33 + 100)
    assert timings[-1]["dropped"] >= 60
    last = rig.received["depth/image_rect"][-1].header.stamp
    rig.until(lambda: rig.received["depth/image_rect"][-1].header.stamp != last, 2.0)  # the last picture sent is processed too
