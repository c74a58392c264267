"""Several cameras on one engine, the services, another model while frames flow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from fake_engine import FakeEngine
from lifecycle_msgs.msg import Transition
from plyfile import PlyData
from rcl_interfaces.srv import GetParameters
from rclpy.lifecycle import TransitionCallbackReturn
from rig import NodeProcess, Rig, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo
from std_srvs.srv import SetBool, Trigger

from depth_anything_ros.errors import ModelError
from depth_anything_ros.ros.depth_node import DepthNode
from depth_anything_ros.ros.middleware import middleware
from depth_anything_ros.ros.parameters import NodeOptions

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "points.edge_filter:=0.0")


def grey(level: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), level, np.uint8)


def timing_of(message: object) -> dict[str, float]:
    return {pair.key: float(pair.value) for pair in message.status[0].values}


def statuses(rig: Rig) -> dict[str, dict[str, str]]:
    """Last values of each status by the part of its name after the node's."""
    found = {}
    for message in rig.received["/diagnostics"]:
        for status in message.status:
            found[status.name.partition(": ")[2]] = {"message": status.message, **{pair.key: pair.value for pair in status.values}}
    return found


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


COUNTS = ("received", "processed", "dropped", "expired", "rejected", "failed", "unheard")


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


def test_a_snapshot_of_every_camera_without_listeners(rig: Rig, start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "shots שלום"
    start(*MODEL, "-p", "cameras:=[front, left]", "-p", "focal:=300.0", "-p", f"snapshot.folder:={folder}", "-p", "points.stride:=4")
    cameras = [rig.camera(f"{name}/image") for name in ("front", "left")]
    client = rig.node.create_client(Trigger, "/depth_anything/snapshot")
    rig.until(client.service_is_ready)
    assert all(camera.get_subscription_count() == 0 for camera in cameras)
    future = client.call_async(Trigger.Request())
    pictures = [grey(51), grey(102)]
    rig.send_until(
        lambda: [camera.publish(image_message(picture, 5)) for camera, picture in zip(cameras, pictures)] and None, future.done, 15
    )
    assert future.result().success, future.result().message
    written = Path(future.result().message)
    assert written.parent == folder
    for name, picture in zip(("front", "left"), pictures):
        np.testing.assert_array_equal(cv2.imread(str(written / name / "picture.png")), picture)
        with np.load(written / name / "depth.npz") as maps:
            assert str(maps["unit"]) == "metre"
            np.testing.assert_allclose(maps["depth"], 1.0 + picture[:, :, 0] / 255.0, rtol=1e-6)
        vertices = PlyData.read(written / name / "points.ply")["vertex"]
        assert len(vertices) == 12 * 16 and set(vertices["red"]) == {picture[0, 0, 0]}
        np.testing.assert_allclose(vertices["z"], 1.0 + picture[0, 0, 0] / 255.0, rtol=1e-6)
    parameters = yaml.safe_load((written / "parameters.yaml").read_text(encoding="utf-8"))["/**"]["ros__parameters"]
    assert parameters["cameras"] == ["front", "left"] and parameters["points.stride"] == 4
    rig.until(lambda: all(camera.get_subscription_count() == 0 for camera in cameras), 20)


def test_a_snapshot_that_cannot_be_taken_says_why(rig: Rig, start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    start(*MODEL, "-p", f"snapshot.folder:={tmp_path / 'file'}")
    refused = rig.call(Trigger, "/depth_anything/snapshot")
    assert not refused.success and str(tmp_path / "file") in refused.message
    assert rig.set_parameters({"snapshot.folder": str(tmp_path / "shots")}) == ""
    started = time.monotonic()
    late = rig.call(Trigger, "/depth_anything/snapshot", seconds=20)
    assert not late.success and "no picture came" in late.message and 5 < time.monotonic() - started < 15


def folder_of_length(base: Path, length: int) -> Path:
    """A folder whose whole name has so many bytes."""
    path = str(base)
    while rest := length - len(path):
        path += "/" + "n" * (rest - 1 if rest <= 200 else min(200, rest - 3))
    return Path(path)


@pytest.mark.parametrize("longest", ["parameters.yaml", "front/picture.png"])
def test_a_disk_that_refuses_ends_the_snapshot_only(rig: Rig, start: Start, tmp_path: Path, longest: str) -> None:
    """The system takes names of up to 4095 bytes: the folder fits, and the file in it does not."""
    date = len("/20261130_120000_123456")
    folder = folder_of_length(tmp_path, 4096 - date - len("/" + longest))
    node = start(*MODEL, "-p", "cameras:=[front]", "-p", "focal:=300.0", "-p", f"snapshot.folder:={folder}")
    rig.listen("front/depth/image_rect", "/diagnostics")
    camera = rig.camera("front/image")
    rig.wait_for_node(camera)
    client = rig.node.create_client(Trigger, "/depth_anything/snapshot")
    rig.until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    rig.send_until(lambda: camera.publish(image_message(grey(51), 5)), future.done, 15)
    assert not future.result().success and longest in future.result().message
    rig.next(lambda: camera.publish(image_message(grey(51), 6)), "front/depth/image_rect")
    rig.spin(1.2)
    values = {key: int(statuses(rig)["camera front"][key]) for key in COUNTS}
    assert node.running and values["failed"] == values["rejected"] == 0, node.log
    assert values["received"] == sum(value for key, value in values.items() if key != "received")


def test_a_snapshot_ends_with_the_work(rig: Rig, start: Start, tmp_path: Path) -> None:
    start(*MODEL, "-p", f"snapshot.folder:={tmp_path}")
    camera = rig.camera()
    client = rig.node.create_client(Trigger, "/depth_anything/snapshot")
    rig.until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    rig.wait_for_node(camera)
    assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
    rig.until(future.done, 10)
    assert not future.result().success
    assert rig.change_state(Transition.TRANSITION_ACTIVATE)
    rig.spin(1.0)
    assert camera.get_subscription_count() == 0, "nobody wants a picture any more"


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


@pytest.mark.case(55)
def test_the_model_is_switched_while_frames_flow(rig: Rig, start: Start) -> None:
    """A metric model gives way to one of relative depth; topics that both have keep their listeners."""
    node = start(*MODEL, "-p", "focal:=600.0", load_seconds=0.5, seconds=0.02)
    rig.listen("depth/image_rect", "relative/image", "depth/confidence", "depth/sky_mask", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    (depth,) = rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    np.testing.assert_allclose(values_of(depth), 2.4, rtol=1e-6)
    assert "no such file" in rig.set_parameters({"model": "missing.gguf"})
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    while_loading = len(rig.received["depth/image_rect"])
    for _ in range(5):
        camera.publish(image_message(grey(51), 2))
        rig.spin(0.05)
    assert len(rig.received["depth/image_rect"]) > while_loading, "the old model works on meanwhile"
    rig.send_until(lambda: camera.publish(image_message(grey(51), 3)), lambda: bool(rig.received["depth/confidence"]), 10)
    rig.send_until(lambda: camera.publish(image_message(grey(51), 4)), lambda: bool(rig.received["relative/image"]))
    relative = rig.received["relative/image"][-1]
    np.testing.assert_allclose(values_of(relative), 1.2, rtol=1e-6)
    rig.until(lambda: statuses(rig).get("engine", {}).get("checkpoint") == "DA3-SMALL", 20)
    assert rig.set_parameters({"model": "fake.gguf", "resolution": 280}) == ""
    rig.send_until(
        lambda: camera.publish(image_message(grey(51), 5)),
        lambda: statuses(rig).get("engine", {}).get("checkpoint") == "DA3METRIC-LARGE",
        10,
    )
    assert node.running and "Frame lost" not in node.log


@pytest.mark.case(55)
@pytest.mark.case(69)
def test_a_model_that_does_not_load_leaves_the_old_one_at_work(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    assert rig.set_parameters({"model": "broken.gguf"}) == ""
    rig.until(lambda: "still running fake.gguf" in statuses(rig).get("engine", {}).get("message", ""), 20)
    rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    rig.until(lambda: rig.call(GetParameters, "/depth_anything/get_parameters", names=["model"]).values[0].string_value == "fake.gguf", 20)
    assert node.running and node.log.count("Cannot load another model") == 1
    assert rig.set_parameters({"model": "broken.gguf"}) == "", "the same again, which may have been repaired"
    rig.until(lambda: node.log.count("Cannot load another model") == 2, 20)


@pytest.mark.case(55)
def test_a_load_that_fails_in_any_way_is_survived(rig: Rig, start: Start) -> None:
    """Memory that is not there, and a pair that cannot be had: `scale.source` goes back with the rest."""
    node = start(*MODEL, "-p", "metric_model:=broken.gguf", "-p", "scale.source:=constant", "-p", "scale.value:=2.0", info="any_view")
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    assert rig.set_parameters({"model": "foreign.gguf"}) == ""
    rig.until(lambda: "unexpected MemoryError: no room for another one" in node.log, 20)
    assert rig.set_parameters({"scale.source": "model"}) == ""
    rig.until(lambda: node.log.count("Cannot load another model") == 2, 20)
    rig.spin(0.5)
    names = ["model", "scale.source"]
    values = rig.call(GetParameters, "/depth_anything/get_parameters", names=names).values
    assert [value.string_value for value in values] == ["fake.gguf", "constant"]
    (depth,) = rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    np.testing.assert_allclose(values_of(depth), 2.4, rtol=1e-6)


@pytest.mark.case(55)
def test_a_newer_wish_outlives_a_load_that_fails(rig: Rig, start: Start) -> None:
    node = start(*MODEL, load_seconds=1.0)
    assert rig.set_parameters({"model": "broken.gguf"}) == ""
    rig.spin(0.5)
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    rig.until(lambda: "taken over" in node.log, 20)
    assert node.log.count("Cannot load another model") == 1 and "DA3-SMALL" in node.log
    rig.spin(0.5)
    (model,) = rig.call(GetParameters, "/depth_anything/get_parameters", names=["model"]).values
    assert model.string_value == "small.gguf"


def test_clean_up_forgets_what_is_being_loaded(rig: Rig, start: Start) -> None:
    node = start(*MODEL, load_seconds=2.0)
    rig.listen("/diagnostics")
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    rig.until(lambda: "loading small.gguf" in statuses(rig).get("engine", {}).get("state", ""), 10)
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert rig.change_state(transition)
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert rig.change_state(transition)
    rig.spin(2.5)
    assert "DA3-SMALL" in node.log and "taken over" not in node.log, "one of the two copies is for nobody"


def test_what_a_failed_configure_has_loaded_is_given_back(own_domain: None) -> None:
    engines: list[FakeEngine] = []

    def load(options: NodeOptions) -> FakeEngine:
        if options.model == "broken.gguf":
            raise ModelError("model.missing", "broken.gguf: no such file.")
        engines.append(FakeEngine())
        return engines[-1]

    parameters = ("model:=a.gguf", "metric_model:=broken.gguf", "scale.source:=metric_model")
    with middleware(["--ros-args", *(part for one in parameters for part in ("-p", one))]):
        node = DepthNode(load, lambda _: None, lambda: False)
        assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
        assert [engine.closed for engine in engines] == [True]
        node.release()
        node.destroy_node()


@pytest.mark.case(40)
@pytest.mark.parametrize("override", ["/depth/image_rect.publisher.reliability:=sometimes", "/image.subscription.depth:=few"])
def test_a_wrong_override_of_qos_ends_the_start_with_its_name(start: Start, override: str) -> None:
    node = start(*MODEL, "-p", f"qos_overrides.{override}", ready=False)
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
