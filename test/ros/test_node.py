"""One camera through the node: what comes out, for which camera, and when."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from noise_picture import MODEL, expected_depth, picture
from rig import NodeProcess, Rig, cloud_of, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo

Start = Callable[..., NodeProcess]
LARGE = ("-p", "qos_overrides./image.subscription.reliability:=reliable")
"""Best-effort pictures above the middleware's buffers (half a megabyte) get lost now and then; not the subject of these tests."""


@pytest.mark.case(28)
@pytest.mark.case(30)
@pytest.mark.case(46)
def test_all_outputs_of_a_frame_agree(rig: Rig, start: Start) -> None:
    topics = ("depth/image_rect", "depth/camera_info", "depth/sky_mask", "points", "depth/timing")
    start(*MODEL, "-p", "points.stride:=3")
    rig.listen(*topics)
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    pixels, stamp = picture(), -1_000_000_123
    pixels[:5, :, 2] = 255

    def send() -> None:
        infos.publish(info_message((64, 48), stamp, fx=280.0, fy=320.0, cx=30.0, cy=20.0))
        camera.publish(image_message(pixels, stamp))

    depth, info, mask, cloud, timing = rig.next(send, *topics)
    for message in (depth, info, mask, cloud, timing):
        assert (message.header.frame_id, message.header.stamp.sec, message.header.stamp.nanosec) == ("cam_optical", -2, 999_999_877)
    assert depth.encoding == "32FC1" and mask.encoding == "mono8"
    values = values_of(depth)
    np.testing.assert_allclose(values[5:], expected_depth(pixels)[5:], rtol=1e-6)
    assert np.isposinf(values[:5]).all()
    np.testing.assert_array_equal(values_of(mask), np.where(np.isposinf(values), 255, 0))
    assert (info.width, info.height, info.binning_x, info.roi.width) == (64, 48, 0, 0)
    np.testing.assert_allclose(info.k, [280, 0, 30, 0, 320, 20, 0, 0, 1])
    np.testing.assert_allclose(info.p, [280, 0, 30, 0, 0, 320, 20, 0, 0, 0, 1, 0])
    assert not any(info.d) and list(info.r) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    points = cloud_of(cloud)
    assert points.shape == (16, 22) and cloud.point_step == 16 and not cloud.is_dense
    sampled = values[::3, ::3]
    np.testing.assert_array_equal(points["z"], np.where(np.isfinite(sampled), sampled, np.nan))
    rows, columns = np.mgrid[0:48:3, 0:64:3]
    good = np.isfinite(points["z"])
    assert np.abs(points["x"] / points["z"] * 280 + 30 - columns)[good].max() < 0.01
    assert np.abs(points["y"] / points["z"] * 320 + 20 - rows)[good].max() < 0.01
    keys = {pair.key: float(pair.value) for pair in timing.status[0].values}
    assert keys["processed"] == 1 and keys["dropped"] == 0 and keys["total_ms"] >= keys["compute_ms"] >= 0


@pytest.mark.case(28)
def test_millimetres(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "depth.encoding:=16UC1", "-p", "focal:=12000.0")
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    pixels = picture()
    (depth,) = rig.next(lambda: camera.publish(image_message(pixels, 5)), "depth/image_rect")
    metres = expected_depth(pixels, 12000.0)
    assert depth.encoding == "16UC1" and (metres > 65.535).any()
    expected = np.where(metres <= 65.535, np.rint(metres.astype(np.float64) * 1000), 0)
    np.testing.assert_allclose(values_of(depth), expected, atol=1)


def test_a_relative_model_claims_no_metres(rig: Rig, start: Start) -> None:
    topics = ("relative/image", "relative/camera_info", "depth/confidence", "intrinsics")
    start(*MODEL, info="any_view")
    rig.listen(*topics, "depth/image_rect", "points")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    infos.publish(info_message((64, 48), 7, cx=31.0, cy=23.0))
    pixels = picture()
    depth, info, confidence, own = rig.next(lambda: camera.publish(image_message(pixels, 7)), *topics)
    np.testing.assert_allclose(values_of(depth), expected_depth(pixels), rtol=1e-6)
    np.testing.assert_allclose(values_of(confidence), 0.75, rtol=1e-6)
    assert (info.k[0], info.k[2]) == (300.0, 31.0)
    assert (own.k[0], own.k[2], own.k[5]) == pytest.approx((0.8 * 64, 31.5, 23.5))
    rig.spin(0.3)
    assert not rig.received["depth/image_rect"] and not rig.received["points"]


def test_a_constant_makes_metres_at_once(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "points.confidence:=true", info="any_view")
    rig.listen("depth/image_rect", "relative/image", "points")
    camera = rig.camera()
    rig.wait_for_node(camera)
    pixels = picture()
    rig.next(lambda: camera.publish(image_message(pixels, 1)), "relative/image")
    assert rig.set_parameters({"scale.source": "constant", "scale.value": 2.0}) == ""
    (depth, cloud) = rig.next(lambda: camera.publish(image_message(pixels, 2)), "depth/image_rect", "points")
    np.testing.assert_allclose(values_of(depth), expected_depth(pixels) * 2.0, rtol=1e-6)
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "rgb", "confidence"] and cloud.point_step == 20
    assert node.running


@pytest.mark.case(41)
@pytest.mark.case(18)
def test_depth_does_not_wait_for_calibration(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    rig.listen("relative/image", "depth/image_rect", "points")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    pixels = picture()
    for stamp in range(1, 4):
        rig.next(lambda stamp=stamp: camera.publish(image_message(pixels, stamp)), "relative/image")
    assert not rig.received["depth/image_rect"] and not rig.received["points"]
    assert node.log.count("no camera_info has come") == 1
    uncalibrated = CameraInfo()
    uncalibrated.header.frame_id = "cam_optical"
    infos.publish(uncalibrated)
    rig.spin(0.2)
    rig.next(lambda: camera.publish(image_message(pixels, 4)), "relative/image")
    assert node.log.count("not calibrated") == 1
    infos.publish(info_message((64, 48), 4_000))  # another stamp: last known
    rig.spin(0.2)
    rig.next(lambda: camera.publish(image_message(pixels, 5)), "depth/image_rect", "points")
    assert node.log.count("K of camera_info, last known") == 1


@pytest.mark.case(21)
def test_calibration_of_another_size_is_scaled_or_refused(rig: Rig, start: Start) -> None:
    node = start(*MODEL, *LARGE)
    rig.listen("depth/camera_info", "relative/camera_info")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)

    def send(size: tuple[int, int], stamp: int) -> None:
        infos.publish(info_message((1280, 720), stamp, fx=900.0, fy=880.0, cx=650.0, cy=340.0))
        camera.publish(image_message(picture(*size), stamp))

    # Until the calibration of the first pair is there; picture and calibration come on two topics, in any order.
    rig.send_until(lambda: send((640, 360), 1), lambda: bool(rig.received["depth/camera_info"]))
    info = rig.received["depth/camera_info"][0]
    np.testing.assert_allclose(info.k, [450, 0, 650.5 / 2 - 0.5, 0, 440, 340.5 / 2 - 0.5, 0, 0, 1])
    (info,) = rig.next(lambda: send((640, 400), 2), "relative/camera_info")
    assert not any(info.k) and (info.width, info.height) == (640, 400)
    assert "1280x720" in node.log and "640x400" in node.log


@pytest.mark.case(20)
def test_a_rectified_topic_reads_p(rig: Rig, start: Start) -> None:
    start(*MODEL, "-r", "image:=front/image_rect_color")
    rig.listen("depth/camera_info")
    camera, infos = rig.camera("front/image_rect_color"), rig.camera("front/camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    info = info_message((64, 48), 1)
    info.d = [0.1] * 5
    info.p = [200.0, 0.0, 30.0, 0.0, 0.0, 210.0, 22.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    infos.publish(info)
    (out,) = rig.next(lambda: camera.publish(image_message(picture(), 1)), "depth/camera_info")
    np.testing.assert_allclose(out.k, [200, 0, 30, 0, 210, 22, 0, 0, 1])
    assert not any(out.d)


def distorted_info(stamp: int, model: str = "plumb_bob", d: tuple[float, ...] = (-0.2, 0.1, 0.0, 0.0, 0.0)) -> CameraInfo:
    """Calibration of a 64 x 48 picture with a lens; P differs from K."""
    info = info_message((64, 48), stamp, fx=60.0, fy=58.0, cx=31.0, cy=22.0)
    info.distortion_model, info.d = model, list(d)
    info.p = [50.0, 0.0, 30.0, 0.0, 0.0, 49.0, 23.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    return info


@pytest.mark.case(25)
def test_a_distorted_picture_is_rectified(rig: Rig, start: Start) -> None:
    """All outputs belong to the rectified picture, which is OpenCV's with K, D and P."""
    topics = ("depth/image_rect", "depth/camera_info", "points", "rgb/image_rect_color", "rgb/camera_info")
    start(*MODEL, "-p", "points.stride:=1")
    rig.listen(*topics, "depth/image_raw")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    pixels = cv2.resize(picture(8, 6), (64, 48), interpolation=cv2.INTER_LINEAR)
    for stamp, (model, d) in enumerate([("plumb_bob", (-0.2, 0.1, 0.0, 0.0, 0.0)), ("equidistant", (-0.02, 0.01, 0.0, 0.0))]):
        info = distorted_info(stamp, model, d)
        infos.publish(info)
        depth, out, cloud, rgb, rgb_info = rig.next(lambda stamp=stamp: camera.publish(image_message(pixels, stamp, "bgr8")), *topics)
        k, p = np.array(info.k).reshape(3, 3), np.array(info.p).reshape(3, 4)[:, :3]
        make = cv2.fisheye.initUndistortRectifyMap if model == "equidistant" else cv2.initUndistortRectifyMap
        x, y = make(k, np.array(d), np.eye(3), p, (64, 48), cv2.CV_32FC1)
        expected = cv2.remap(pixels, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        seen = (x > -0.4) & (x < 63.4) & (y > -0.4) & (y < 47.4)
        sent = np.frombuffer(rgb.data, np.uint8).reshape(48, 64, 3)
        assert rgb.encoding == "bgr8" and np.abs(sent.astype(int) - expected)[seen].max() <= 2
        for message in (out, rgb_info):
            np.testing.assert_allclose(message.k, [50, 0, 30, 0, 49, 23, 0, 0, 1])
            assert list(message.p) == list(info.p) and not any(message.d) and list(message.r) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
        assert len({(m.header.stamp.nanosec, m.header.frame_id) for m in (depth, out, cloud, rgb, rgb_info)}) == 1
        values = values_of(depth)
        unseen = (x < -0.6) | (x > 63.6) | (y < -0.6) | (y > 47.6)
        assert unseen.any() and np.isnan(values[unseen]).all(), "what the camera did not see has no depth"
        focal = (50.0 + 49.0) / 2 / 300
        np.testing.assert_allclose(values[seen], (1.0 + sent[:, :, 2].astype(np.float32) / 255.0)[seen] * focal, rtol=1e-5)
        points = cloud_of(cloud)
        assert np.abs(points["x"] / points["z"] * 50 + 30 - np.arange(64))[seen].max() < 0.01
    assert not rig.received["depth/image_raw"]


@pytest.mark.case(22)
@pytest.mark.case(28)
def test_the_cloud_is_the_depth_image_projected_back(rig: Rig, start: Start) -> None:
    """By the messages alone, in another way: the inverse of the camera matrix, in double precision. Within 1 mm at 2 m and less beyond."""
    topics = ("depth/image_rect", "depth/camera_info", "points")
    start(*MODEL, *LARGE, "-p", "points.stride:=2")
    rig.listen(*topics)
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    pixels = picture(640, 480)
    sent = {}

    def send() -> None:
        stamp = len(sent) + 1
        sent[stamp] = True
        infos.publish(info_message((640, 480), stamp, fx=520.0, fy=493.0, cx=300.3, cy=251.7))
        camera.publish(image_message(pixels, stamp))

    rig.send_until(send, lambda: bool(rig.received["points"]))
    cloud = rig.received["points"][0]
    rig.until(lambda: all(any(m.header.stamp == cloud.header.stamp for m in rig.received[t]) for t in topics), 5)
    depth, info = (next(m for m in rig.received[t] if m.header.stamp == cloud.header.stamp) for t in topics[:2])
    rows, columns = np.mgrid[0:480:2, 0:640:2]
    rays = np.linalg.inv(np.array(info.k).reshape(3, 3)) @ np.stack([columns, rows, np.ones_like(rows)]).reshape(3, -1)
    expected = (rays * values_of(depth)[::2, ::2].reshape(-1).astype(np.float64)).T
    points = cloud_of(cloud)
    found = np.stack([points[axis].reshape(-1) for axis in "xyz"], axis=1)
    valid = np.isfinite(found).all(axis=1)
    assert valid.all() and 1.6 < found[:, 2].min() < 2.0 < found[:, 2].max()
    assert np.linalg.norm(found - expected, axis=1).max() < 0.001


@pytest.mark.case(25)
@pytest.mark.parametrize(("model", "d"), [("plumb_bob", (-0.2, 0.1, 0.0, 0.0, 0.0)), ("foo", (0.1,))], ids=["off", "unknown"])
def test_distortion_that_stays_gives_raw_depth_and_one_warning(rig: Rig, start: Start, model: str, d: tuple[float, ...]) -> None:
    node = start(*MODEL, "-p", f"rectify:={'off' if model == 'plumb_bob' else 'auto'}")
    rig.listen("depth/image_raw", "depth/image_rect", "depth/camera_info", "rgb/image_rect_color")
    camera, infos = rig.camera(), rig.camera("camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    for stamp in (1, 2, 3):
        infos.publish(distorted_info(stamp, model, d))
        _, out = rig.next(lambda stamp=stamp: camera.publish(image_message(picture(), stamp)), "depth/image_raw", "depth/camera_info")
    assert tuple(out.d) == d and out.distortion_model == model
    assert out.k[2] == 31.0
    assert not rig.received["depth/image_rect"] and not rig.received["rgb/image_rect_color"]
    assert node.log.count("depth/image_raw") == 1


@pytest.mark.case(13)
@pytest.mark.case(14)
def test_the_size_follows_the_frame(rig: Rig, start: Start) -> None:
    start(*MODEL, *LARGE, "-p", "focal:=300.0")
    topics = ("depth/image_rect", "depth/sky_mask", "depth/camera_info", "points")
    rig.listen(*topics)
    camera = rig.camera()
    rig.wait_for_node(camera)
    depths = []
    for stamp, size in enumerate([(640, 480), (320, 240), (1280, 720), (1, 1), (640, 480), (320, 240), (640, 480)]):
        pixels = picture(*size)
        depth, mask, info, cloud = rig.next(lambda p=pixels, s=stamp: camera.publish(image_message(p, s)), *topics)
        assert (depth.width, depth.height) == (mask.width, mask.height) == (info.width, info.height) == size
        assert (cloud.width, cloud.height) == ((size[0] + 1) // 2, (size[1] + 1) // 2)
        depths.append(bytes(depth.data))
    assert depths[0] == depths[4] == depths[6] and depths[1] == depths[5]


@pytest.mark.case(3)
def test_padding_changes_nothing(rig: Rig, start: Start) -> None:
    start(*MODEL, *LARGE, "-p", "focal:=300.0")
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for encoding, pixels, padding in (("rgb8", picture(640, 480), 128), ("mono8", picture(637, 480)[:, :, 0], 3)):
        (plain,) = rig.next(lambda p=pixels, e=encoding: camera.publish(image_message(p, 1, e)), "depth/image_rect")
        (padded,) = rig.next(lambda p=pixels, e=encoding, n=padding: camera.publish(image_message(p, 2, e, n)), "depth/image_rect")
        assert plain.data == padded.data
