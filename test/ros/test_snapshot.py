"""Snapshots: what they write, and when they do not."""

from __future__ import annotations

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
from rig import COUNTS, NodeProcess, Rig, grey, image_message, statuses
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from depth_anything_ros.pipeline import process
from depth_anything_ros.ros.snapshot import Snapshot
from depth_anything_ros.types import Frame, Products

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "points.edge_filter:=0.0")


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
    late = rig.call(Trigger, "/depth_anything/snapshot", seconds=45)
    assert not late.success and late.message.startswith("no picture from the camera") and 20 < time.monotonic() - started < 40


def folder_of_length(base: Path, length: int) -> Path:
    """A folder whose whole name has so many bytes."""
    path = str(base)
    while rest := length - len(path):
        path += "/" + "n" * (rest - 1 if rest <= 200 else min(200, rest - 3))
    return Path(path)


@pytest.mark.parametrize("longest", ["parameters.yaml", "front/picture.png"])
def test_a_disk_that_refuses_ends_the_snapshot_only(rig: Rig, start: Start, tmp_path: Path, longest: str) -> None:
    """The system takes names of up to 4095 bytes: the folder fits, and the file in it, under the name that it is written to, does not."""
    date, written = len("/20261130_120000_123456"), Path("/", longest).with_name(f".{'0' * 16}.partial")
    folder = folder_of_length(tmp_path, 4096 - date - len(str(written)))
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
