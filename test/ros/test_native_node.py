"""The node with the real engine and tiny models of the true architectures."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import toy_model
from rig import NodeProcess, Rig, cloud_of, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo

from depth_anything_ros import Engine, Intrinsics

pytestmark = pytest.mark.native
Start = Callable[..., NodeProcess]
LARGE = ("-p", "qos_overrides./image.subscription.reliability:=reliable")
RESOLUTION = 126


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"metric": toy_model.metric_model(folder), "any_view": toy_model.any_view_model(folder)}


def arguments(model: Path, *more: str, resolution: int = RESOLUTION) -> tuple[str, ...]:
    return ("--ros-args", "-p", f"model:={model}", "-p", f"resolution:={resolution}", "-p", "points.edge_filter:=0.0", *LARGE, *more)


def picture(width: int, height: int, seed: int = 0) -> np.ndarray:
    small = np.random.default_rng(seed).integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), np.uint8)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR).reshape(height, width, 3)


@pytest.mark.case(27)
@pytest.mark.case(28)
def test_metric_depth_is_the_engine_s(rig: Rig, start: Start, models: dict[str, Path]) -> None:
    start(*arguments(models["metric"], "-p", "points.stride:=1"), native=True)
    topics = ("depth/image_rect", "depth/sky_mask", "depth/camera_info", "points")
    rig.listen(*topics, "relative/image")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    pixels = picture(160, 120)
    size = {"width": 160, "height": 120}
    maps = {}
    for stamp, focal in enumerate((300.0, 600.0)):

        def send(stamp: int = stamp, focal: float = focal) -> None:
            infos.publish(info_message((160, 120), stamp, fx=focal, fy=focal * 0.9, cx=70.0, cy=61.0))
            camera.publish(image_message(pixels, stamp))

        depth, mask, _, cloud = rig.next(send, *topics, seconds=30.0)
        values = maps[focal] = values_of(depth)
        with Engine.load(models["metric"], resolution=RESOLUTION) as engine:
            raw = engine.infer(pixels, intrinsics=Intrinsics(**size, fx=focal, fy=focal * 0.9, cx=70.0, cy=61.0), fill_sky=False)
        sky = cv2.resize(raw.sky, (160, 120), interpolation=cv2.INTER_LINEAR) >= 0.3
        np.testing.assert_array_equal(values_of(mask) > 0, sky)
        assert np.isposinf(values[sky]).all()
        np.testing.assert_array_equal(values[~sky], cv2.resize(raw.depth, (160, 120), interpolation=cv2.INTER_LINEAR)[~sky])
        points = cloud_of(cloud)
        np.testing.assert_array_equal(points["z"], np.where(sky, np.nan, values))
    np.testing.assert_allclose(maps[600.0][~sky], maps[300.0][~sky] * 2.0, rtol=1e-5)
    (relative,) = rig.next(lambda: camera.publish(image_message(pixels[:90], 9)), "relative/image", seconds=30.0)
    assert (relative.width, relative.height) == (160, 90), "a picture that the calibration does not fit has no metres"


def test_any_view_gives_confidence_and_its_own_intrinsics(rig: Rig, start: Start, models: dict[str, Path]) -> None:
    node = start(*arguments(models["any_view"]), native=True)
    topics = ("relative/image", "depth/confidence", "intrinsics", "relative/camera_info")
    rig.listen(*topics, "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    pixels = picture(160, 120)
    depth, confidence, own, info = rig.next(lambda: camera.publish(image_message(pixels, 1)), *topics, seconds=30.0)
    with Engine.load(models["any_view"], resolution=RESOLUTION) as engine:
        raw = engine.infer(pixels)
    np.testing.assert_array_equal(values_of(depth), cv2.resize(raw.depth, (160, 120), interpolation=cv2.INTER_LINEAR))
    assert raw.confidence is not None and raw.intrinsics is not None
    expected = cv2.resize(1.0 - 1.0 / raw.confidence, (160, 120), interpolation=cv2.INTER_LINEAR)
    np.testing.assert_allclose(values_of(confidence), expected, atol=1e-6)
    assert own.k[0] == pytest.approx(raw.intrinsics.fx * 160 / raw.width) and own.k[2] == pytest.approx(79.5)
    assert list(info.k) == list(own.k), "without calibration the network's estimate serves"
    rig.until(lambda: any("random weights" in s.message for m in rig.received["/diagnostics"] for s in m.status), 3.0)
    assert node.running


@pytest.mark.case(3)
@pytest.mark.case(13)
@pytest.mark.case(14)
@pytest.mark.case(31)
def test_odd_pictures_and_equal_ones(rig: Rig, start: Start, models: dict[str, Path]) -> None:
    """Sizes in turn, padded rows, BGR: the same picture always gives the same bytes."""
    node = start(*arguments(models["metric"], "-p", "focal:=300.0"), native=True)
    rig.listen("depth/image_rect", "depth/sky_mask")
    camera = rig.camera()
    rig.wait_for_node(camera)

    def depth_bytes(pixels: np.ndarray, encoding: str = "rgb8", padding: int = 0) -> bytes:
        depth, mask = rig.next(
            lambda: camera.publish(image_message(pixels, 1, encoding, padding)), "depth/image_rect", "depth/sky_mask", seconds=60.0
        )
        assert (depth.height, depth.width) == (mask.height, mask.width) == pixels.shape[:2]
        assert set(np.unique(values_of(mask))) <= {0, 255}
        return bytes(depth.data)

    first = depth_bytes(picture(640, 480))
    for width, height in [(320, 240), (1280, 720), (1, 1), (20, 2000), (2000, 20), (637, 478), (13, 13)]:
        depth_bytes(picture(width, height))
    assert depth_bytes(picture(640, 480)) == first
    assert depth_bytes(picture(640, 480), padding=128) == first
    assert depth_bytes(picture(640, 480)[:, :, ::-1], "bgr8", 5) == first
    grey = picture(637, 480)[:, :, 0]
    assert depth_bytes(grey, "mono8", 3) == depth_bytes(grey, "mono8") == depth_bytes(np.dstack([grey] * 3))
    assert node.running


@pytest.mark.case(50)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_during_load_warm_up_and_frames(rig: Rig, start: Start, models: dict[str, Path], number: int) -> None:
    """At full resolution, where a frame of these models is long enough to be met."""
    moments = random.Random(number)
    camera = rig.camera()
    rig.listen("relative/image")
    for _ in range(4):
        node = start(*arguments(models["any_view"], resolution=1008), ready=False, native=True)
        node.wait_until_signals_are_its_own()
        end = time.monotonic() + moments.uniform(0.0, 3.0)
        while time.monotonic() < end:
            camera.publish(image_message(picture(64, 48), 1))
            rig.spin(0.05)
        node.signal(number)
        assert node.wait(5.0) == 0, node.log
        assert "Traceback" not in node.log and "ERROR" not in node.log, node.log


def broken_models(folder: Path, good: Path) -> dict[str, Path]:
    whole = good.read_bytes()
    files = {
        "empty": b"",
        "eight_bytes": whole[:8],
        "half": whole[: len(whole) // 2],
        "one_byte_short": whole.rstrip(b"\0")[:-1],  # what follows the last value is padding
        "page": b"<!DOCTYPE html><html><body>404</body></html>",
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 8859648\n",
    }
    for name, content in files.items():
        (folder / f"{name}.gguf").write_bytes(content)
    (folder / "folder.gguf").mkdir()
    os.mkfifo(folder / "fifo.gguf")
    return {name: folder / f"{name}.gguf" for name in [*files, "folder", "fifo", "missing"]}


@pytest.mark.case(69)
@pytest.mark.case(70)
def test_a_model_that_cannot_be_loaded_ends_the_start(start: Start, models: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "models with spaces שלום Ж"
    folder.mkdir()
    for name, path in broken_models(folder, models["any_view"]).items():
        node = start(*arguments(path), ready=False, native=True)
        assert node.wait(5.0) == 3, f"{name}: {node.log}"
        (line,) = [line for line in node.log.splitlines() if line.strip()]
        assert f"{name}.gguf" in line and "ERROR" in line, line
