"""Several cameras on one engine, and the services."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rig import COUNTS, LATCHED, NodeProcess, Rig, grey, image_message, info_message, statuses, values_of
from sensor_msgs.msg import CameraInfo
from std_srvs.srv import SetBool, Trigger

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "points.edge_filter:=0.0")


@pytest.mark.case(47)
def test_every_camera_has_its_own_topics_calibration_and_counts(rig: Rig, start: Start) -> None:
    """Alternating pictures of two sizes; one camera distorted and remapped."""
    start(*MODEL, "-p", "cameras:=[front, left]", "-r", "left/image:=/usb/left/image_rect", "-r", "__ns:=/robot")
    topics = {
        name: tuple(f"/robot/{name}/{topic}" for topic in ("depth/image_rect", "depth/camera_info", "points")) for name in ("front", "left")
    }
    rig.listen(*topics["front"], *topics["left"], "/diagnostics")
    cameras = {"front": rig.camera("/robot/front/image"), "left": rig.camera("/usb/left/image_rect")}
    infos = {"front": rig.camera("/robot/front/camera_info", CameraInfo), "left": rig.camera("/usb/left/camera_info", CameraInfo)}
    rig.wait_for_node(*cameras.values(), *infos.values())
    sizes, focals = {"front": (64, 48), "left": (32, 20)}, {"front": 300.0, "left": 600.0}
    for turn in range(3):
        for name in ("front", "left"):
            infos[name].publish(info_message(sizes[name], turn, fx=focals[name], fy=focals[name]))
            depth, info, cloud = rig.next(
                lambda name=name, turn=turn: cameras[name].publish(image_message(grey(51, *sizes[name]), turn, frame=f"{name}_optical")),
                *topics[name],
            )
            assert (depth.width, depth.height) == sizes[name] == (info.width, info.height)
            assert {depth.header.frame_id, info.header.frame_id, cloud.header.frame_id} == {f"{name}_optical"}
            np.testing.assert_allclose(values_of(depth), 1.2 * focals[name] / 300.0, rtol=1e-6)
    rig.until(lambda: all(statuses(rig).get(f"camera {name}", {}).get("processed") == "3" for name in ("front", "left")), 20)
    assert statuses(rig)["camera left"]["topic"] == "/usb/left/image_rect"


def test_cameras_share_the_engine_fairly(rig: Rig, start: Start) -> None:
    """Three cameras at 50 Hz, the engine at 20 Hz: each gets a third, and every frame is accounted for."""
    names = ("a", "b", "c")
    start(*MODEL, "-p", "cameras:=[a, b, c]", "-p", "focal:=300.0", seconds=0.05)
    rig.listen(*(f"{name}/depth/timing" for name in names), "/diagnostics")
    cameras = [rig.camera(f"{name}/image") for name in names]
    rig.wait_for_node(*cameras)
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        for camera in cameras:
            camera.publish(image_message(grey(10), rig.node.get_clock().now().nanoseconds))
        rig.spin(0.02)
    rig.spin(1.5)
    counts = [len(rig.received[f"{name}/depth/timing"]) for name in names]
    assert max(counts) - min(counts) <= 2 and min(counts) > 5
    for name in names:
        values = {key: int(statuses(rig)[f"camera {name}"][key]) for key in COUNTS}
        assert values["received"] == sum(value for key, value in values.items() if key != "received")
        assert values["dropped"] > values["processed"] > 5


@pytest.mark.case(49)
def test_old_frames_are_dropped_and_the_rate_is_kept(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "max_age:=0.5", "-p", "max_rate:=10.0", "-p", "focal:=300.0")
    rig.listen("depth/timing", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    now = lambda: rig.node.get_clock().now().nanoseconds  # noqa: E731
    begun = time.monotonic()
    for _ in range(60):
        camera.publish(image_message(grey(10), now()))
        rig.spin(1 / 30)
    taken, seconds = len(rig.received["depth/timing"]), time.monotonic() - begun
    assert 3 * seconds <= taken <= 10 * seconds + 2, "of 30 a second, 10"
    camera.publish(image_message(grey(10), now() - 10**9))
    rig.spin(0.5)
    assert len(rig.received["depth/timing"]) <= taken + 1
    rig.until(lambda: statuses(rig).get("camera", {}).get("expired") == "1", 20)
    rig.set_parameters({"max_age": 0.0})
    rig.next(lambda: camera.publish(image_message(grey(10), now() - 10**9)), "depth/timing")


@pytest.mark.case(43)
def test_a_rate_does_not_wait_for_old_stamps_to_come_again(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "max_rate:=50.0", "-p", "points.rate:=50.0", "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "points")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for second in (100, 95, 96, 0):
        rig.spin(0.1)
        rig.next(lambda second=second: camera.publish(image_message(grey(10), second * 10**9)), "depth/image_rect", "points", seconds=3)


def test_clouds_have_a_rate_of_their_own(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "points.rate:=2.0", "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "points")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for _ in range(60):
        camera.publish(image_message(grey(10), 1))
        rig.spin(1 / 30)
    assert 3 <= len(rig.received["points"]) <= 6 and len(rig.received["depth/image_rect"]) > 20


@pytest.mark.case(55)
def test_another_rate_of_clouds_applies_to_the_next_frame(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "points.rate:=0.001", "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "points")
    camera = rig.camera()
    rig.wait_for_node(camera)

    def send() -> None:
        camera.publish(image_message(grey(10), 1))

    rig.next(send, "depth/image_rect", "points")
    rig.next(send, "depth/image_rect")
    assert len(rig.received["points"]) == 1, "the next one is due in a quarter of an hour"
    assert rig.set_parameters({"points.rate": 1000.0}) == ""
    rig.next(send, "depth/image_rect", "points", seconds=5)


def test_colours_for_people_raw_and_compressed(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "focal:=300.0", "-p", "color.near:=1.0", "-p", "color.far:=2.0")
    rig.listen("depth/color", "depth/color/compressed")
    camera = rig.camera()
    rig.wait_for_node(camera)
    ramp = np.dstack([np.repeat(np.arange(0, 256, 4, dtype=np.uint8)[np.newaxis], 48, axis=0)] + [np.zeros((48, 64), np.uint8)] * 2)
    color, compressed = rig.next(lambda: camera.publish(image_message(ramp, 9)), "depth/color", "depth/color/compressed")
    seen = np.frombuffer(color.data, np.uint8).reshape(48, 64, 3)
    near, far = (cv2.applyColorMap(np.full((1, 1), level, np.uint8), cv2.COLORMAP_TURBO)[0, 0, ::-1] for level in (255, 0))
    assert color.encoding == "rgb8" and (seen[0, 0] == near).all() and np.abs(seen[0, -1].astype(int) - far).max() < 20
    assert compressed.header.stamp == color.header.stamp and compressed.format == "rgb8; jpeg compressed bgr8"
    decoded = cv2.imdecode(np.frombuffer(compressed.data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert np.abs(decoded.astype(int) - seen).mean() < 6


def test_disabled_it_leaves_the_camera_alone(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    assert rig.call(SetBool, "/depth_anything/enable", data=False).success
    rig.until(lambda: camera.get_subscription_count() == 0, 20)
    rig.until(lambda: statuses(rig).get("engine", {}).get("state") == "disabled", 20)
    refused = rig.call(Trigger, "/depth_anything/snapshot")
    assert not refused.success and "disabled" in refused.message
    assert rig.call(SetBool, "/depth_anything/enable", data=True).success
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(grey(10), 1)), "depth/image_rect")


def test_reset_forgets_calibrations_and_counts(rig: Rig, start: Start) -> None:
    start(*MODEL)
    rig.listen("depth/image_rect", "relative/image", "/diagnostics")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    infos.publish(info_message((64, 48), 1))
    rig.next(lambda: camera.publish(image_message(grey(10), 1)), "depth/image_rect")
    rig.next(lambda: camera.publish(image_message(grey(10), 2)), "depth/image_rect")
    assert rig.call(Trigger, "/depth_anything/reset").success
    rig.send_until(lambda: camera.publish(image_message(grey(10), 3)), lambda: bool(rig.received["relative/image"]))
    rig.spin(1.5)
    assert int(statuses(rig)["camera"]["processed"]) == len(rig.received["relative/image"])


@pytest.mark.case(41)
def test_a_latched_calibration_outlives_a_reset_and_another_model(rig: Rig, start: Start) -> None:
    """It was sent once, before the node was there."""
    node = start(*MODEL)
    rig.listen("depth/image_rect")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo, qos=LATCHED)
    infos.publish(info_message((64, 48), 1))
    stamps = itertools.count(10)

    def metres_come() -> None:
        rig.received["depth/image_rect"].clear()
        rig.send_until(lambda: camera.publish(image_message(grey(10), next(stamps))), lambda: bool(rig.received["depth/image_rect"]))

    metres_come()
    assert rig.call(Trigger, "/depth_anything/reset").success
    metres_come()
    assert rig.set_parameters({"resolution": 280}) == ""
    rig.until(lambda: "taken over" in node.log, 20)
    metres_come()


def test_counts_add_up_after_a_pause(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "focal:=300.0", seconds=0.2)
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    for _ in range(2):
        rig.wait_for_node(camera)
        for stamp in range(20):
            camera.publish(image_message(grey(10), stamp))
            rig.spin(0.02)
        rig.spin(1.0)
        assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
        rig.received["/diagnostics"].clear()
        assert rig.change_state(Transition.TRANSITION_ACTIVATE)
    camera.publish(image_message(grey(10), 1))
    rig.until(lambda: "camera" in statuses(rig), 10)
    values = {key: int(statuses(rig)["camera"][key]) for key in COUNTS}
    assert values["received"] <= 1 and sum(values.values()) <= 2


@pytest.mark.case(40)
@pytest.mark.parametrize(
    "override",
    ["/depth/image_rect.publisher.reliability:=sometimes", "/image.subscription.depth:=few", "/scale/scan.subscription.depth:=few"],
)
def test_a_wrong_override_of_qos_ends_the_start_with_its_name(start: Start, override: str) -> None:
    """That of a topic which only the scale's source reads too, and before anybody listens."""
    node = start(*MODEL, "-p", "scale.source:=range", "-p", f"qos_overrides.{override}", ready=False)
    assert node.wait(20) == 2, node.log
    assert override.partition(".")[0].lstrip("/") in node.log and override.partition(":=")[2] in node.log and "Traceback" not in node.log


@pytest.mark.case(54)
def test_the_engine_is_nice_to_others(start: Start) -> None:
    node = start(*MODEL, "-p", "nice:=7")
    folder = Path(f"/proc/{node.pid}/task")
    own = os.getpriority(os.PRIO_PROCESS, 0)
    end = time.monotonic() + 10
    while sum(os.getpriority(os.PRIO_PROCESS, int(task.name)) == min(19, own + 7) for task in folder.iterdir()) != 3:
        assert time.monotonic() < end, "three threads of the engine room"
        time.sleep(0.05)
    assert os.getpriority(os.PRIO_PROCESS, node.pid) == own, "the executor's thread is not"
