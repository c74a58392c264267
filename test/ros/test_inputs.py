"""Pictures of every kind through one running node: the double's depth is their red channel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from rig import NodeProcess, Rig, cloud_of, compressed_message, image_message, info_message, values_of
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.picture import encoding_of, pixels_of

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0", "-p", "points.edge_filter:=0.0", "-p", "points.stride:=1")


class Bench:
    """One node with the raw and one with the compressed transport."""

    def __init__(self, rig: Rig, start: Start) -> None:
        self.rig, self.sent = rig, 0
        self.nodes = {
            "raw": start(*MODEL, "-r", "__ns:=/raw"),
            "compressed": start(*MODEL, "-r", "__ns:=/compressed", "-p", "image_transport:=compressed"),
        }
        rig.listen(*(f"/{transport}/{topic}" for transport in self.nodes for topic in ("depth/image_rect", "points")), "/diagnostics")
        self.cameras = {
            "raw": rig.camera("/raw/image", Image),
            "compressed": rig.camera("/compressed/image/compressed", CompressedImage),
        }
        rig.wait_for_node(*self.cameras.values())

    def output(self, message: Image | CompressedImage, name: str) -> Image | PointCloud2:
        """What the picture brings on a topic. Each gets a stamp of its own: a late answer to an earlier one is not taken for it."""
        transport = "raw" if isinstance(message, Image) else "compressed"
        self.sent += 1
        message.header.stamp.nanosec = self.sent
        inbox = self.rig.received[f"/{transport}/{name}"]
        inbox.clear()
        self.cameras[transport].publish(message)
        self.rig.until(lambda: any(each.header.stamp.nanosec == message.header.stamp.nanosec for each in inbox), 10)
        return next(each for each in inbox if each.header.stamp.nanosec == message.header.stamp.nanosec)

    def depth(self, message: Image | CompressedImage) -> np.ndarray:
        return values_of(self.output(message, "depth/image_rect"))

    def survives(self, message: Image | CompressedImage, good: Image | CompressedImage) -> None:
        """Nothing comes of it, and the next picture is processed as ever."""
        transport = "raw" if isinstance(message, Image) else "compressed"
        before = len(self.rig.received[f"/{transport}/depth/image_rect"])
        self.cameras[transport].publish(message)
        self.rig.spin(0.1)
        assert len(self.rig.received[f"/{transport}/depth/image_rect"]) == before
        self.depth(good)
        assert self.nodes[transport].running


@pytest.fixture(scope="module")
def bench(shared_rig: Rig, shared_start: Start) -> Bench:
    return Bench(shared_rig, shared_start)


def red_of(depth: np.ndarray) -> np.ndarray:
    """0 to 255, by the double's rule."""
    return (depth - 1.0) * 255.0


RAMP = np.repeat(np.linspace(0, 240, 64).astype(np.uint8)[np.newaxis], 48, axis=0)
RED = np.dstack([RAMP, np.full_like(RAMP, 20), np.full_like(RAMP, 10)])
"""uint8 RGB: red grows from left to right, no sky."""


@pytest.mark.case(1)
@pytest.mark.case(10)
def test_yuv_and_bayer_arrive_in_colour(bench: Bench) -> None:
    grey = np.dstack([RAMP] * 3)
    yuyv = np.empty((48, 64, 2), np.uint8)
    yuyv[:, :, 0] = np.rint(16 + RAMP / 255.0 * 219)
    yuyv[:, :, 1] = 128
    nv12 = np.vstack([yuyv[:, :, 0], np.full((24, 64), 128, np.uint8)])
    for encoding, rows in (("yuv422_yuy2", yuyv), ("uyvy", yuyv[:, :, ::-1]), ("nv12", nv12), ("nv21", nv12), ("bayer_rggb8", RAMP)):
        message = image_message(np.ascontiguousarray(rows), 1, encoding)
        message.height = 48
        assert np.abs(red_of(bench.depth(message)) - grey[:, :, 0])[2:-2, 2:-2].max() <= 4, encoding
    odd = image_message(np.zeros((48, 63, 2), np.uint8), 1, "yuv422_yuy2")
    bench.survives(odd, image_message(RED, 1))
    assert "63x48" in bench.nodes["raw"].log


@pytest.mark.case(6)
@pytest.mark.case(9)
def test_sixteen_bits_in_both_byte_orders(bench: Bench) -> None:
    wide = RAMP.astype(np.uint16) * 4  # ten bits
    little = image_message(wide.astype("<u2").view(np.uint8), 1, "mono16")
    big = image_message(wide.astype(">u2").view(np.uint8), 1, "mono16")
    big.is_bigendian = 1
    for message in (little, big):
        message.width = 64
    first = bench.depth(little)
    np.testing.assert_array_equal(first, bench.depth(big))
    assert np.abs(red_of(first) - wide / 1023 * 255).max() <= 1


@pytest.mark.case(9)
def test_a_depth_image_by_mistake_is_noticed(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-r", "image:=/camera/depth/image_raw")
    rig.listen("depth/image_rect")
    camera = rig.camera("/camera/depth/image_raw")
    rig.wait_for_node(camera)
    message = image_message(np.full((8, 12), 2000, "<u2").view(np.uint8), 1, "16UC1", frame="")
    message.width = 12
    other = image_message(np.zeros((8, 12, 3), np.uint8), 1, frame="base_link")
    for each in (message, other) * 3:
        rig.next(lambda each=each: camera.publish(each), "depth/image_rect")
    assert node.log.count("does not sound like an optical one") == 1
    assert node.log.count("looks like a depth image") == 1 and node.log.count("no frame_id") == 1


@pytest.mark.case(8)
@pytest.mark.case(36)
def test_red_stays_red_whatever_it_is_called(bench: Bench) -> None:
    """The packed colour of the cloud is b, g, r, 0 in memory."""
    red = np.zeros((4, 6, 3), np.uint8)
    red[:, :, 0] = 255
    sent = {"rgb8": red, "bgr8": red[:, :, ::-1], "8UC3": red[:, :, ::-1]}
    sent["rgba8"] = np.dstack([red, np.zeros((4, 6), np.uint8)])
    sent["8UC4"] = np.dstack([red[:, :, ::-1], np.zeros((4, 6), np.uint8)])
    for encoding, pixels in sent.items():
        cloud = bench.output(image_message(np.ascontiguousarray(pixels), 1, encoding), "points")
        assert bytes(cloud_of(cloud)["rgb"][0, 0].tobytes()) == b"\x00\x00\xff\x00", encoding
        assert (cloud.point_step, cloud.row_step) == (16, 96) and [f.offset for f in cloud.fields] == [0, 4, 8, 12]
    cloud = bench.output(image_message(red[:, :, 0], 1, "8UC1"), "points")
    assert bytes(cloud_of(cloud)["rgb"][0, 0].tobytes()) == b"\xff\xff\xff\x00"


def jpeg(rgb: np.ndarray) -> bytes:
    return cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 98])[1].tobytes()


def png(rgb: np.ndarray) -> bytes:
    return cv2.imencode(".png", rgb[:, :, ::-1])[1].tobytes()


@pytest.mark.case(15)
def test_the_bytes_decide_not_the_format(bench: Bench) -> None:
    for format in ("yuv422_yuy2; jpeg compressed mono8", "", "png", "rgb8; jpeg compressed bgr8", "mono8; png compressed"):
        for data, tolerance in ((jpeg(RED), 12), (png(RED), 0)):
            seen = red_of(bench.depth(compressed_message(data, 1, format)))
            assert np.abs(seen - RED[:, :, 0]).max() <= tolerance + 0.01, format
    mosaic = np.zeros((48, 64), np.uint8)
    mosaic[::2, ::2] = 200  # red alone
    seen = red_of(bench.depth(compressed_message(cv2.imencode(".png", mosaic)[1].tobytes(), 1, "bayer_rggb8; png compressed ")))
    assert np.abs(seen - 200.0)[2:-2, 2:-2].max() <= 0.01, "a mosaic, compressed as it is"


@pytest.mark.case(16)
def test_damaged_pictures_are_counted_and_survived(bench: Bench) -> None:
    whole = jpeg(RED)
    table = bytearray(whole)
    table[whole.index(b"\xff\xc4") + 6] ^= 0x40
    good = compressed_message(whole, 1)
    damaged = [whole[:size] for size in (0, 2, 20, len(whole) // 2, len(whole) - 2)]
    damaged += [bytes(table), png(RED)[:-9], np.random.default_rng(0).bytes(3000)]
    for data in damaged:
        bench.survives(compressed_message(data, 1), good)

    def rejected() -> int:
        statuses = [status for message in bench.rig.received["/diagnostics"] for status in message.status]
        values = [int(v.value) for s in statuses if s.name.startswith("compressed/") for v in s.values if v.key == "rejected"]
        return max(values, default=0)

    bench.rig.until(lambda: rejected() == len(damaged), 20)


@pytest.mark.case(47)
def test_compressed_pictures_follow_the_remapped_topic(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "image_transport:=compressed", "-r", "image:=/a/b/image_raw", "-p", "cameras:=['']")
    rig.listen("depth/image_rect", "depth/camera_info")
    camera = rig.camera("/a/b/image_raw/compressed", CompressedImage)
    infos = rig.camera("/a/b/camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    infos.publish(info_message((64, 48), 7, fx=150.0, fy=150.0))
    depth, info = rig.next(lambda: camera.publish(compressed_message(png(RED), 7)), "depth/image_rect", "depth/camera_info")
    assert info.k[0] == 150.0 and np.abs(red_of(values_of(depth) * 2.0) - RED[:, :, 0]).max() < 0.01


@pytest.mark.case(47)
def test_calibration_follows_compressed_pictures_that_are_remapped_by_themselves(rig: Rig, start: Start) -> None:
    """Their name says where camera_info is, and that the pictures are rectified: P holds, and D does not."""
    start(*MODEL, "-p", "image_transport:=compressed", "-r", "image/compressed:=/a/image_rect/compressed")
    rig.listen("depth/camera_info", "rgb/image_rect_color")
    camera, infos = rig.camera("/a/image_rect/compressed", CompressedImage), rig.camera("/a/camera_info", CameraInfo)
    rig.wait_for_node(camera, infos)
    calibration = info_message((64, 48), 7, fx=150.0, fy=150.0)
    calibration.d, calibration.p[0] = [-0.2, 0.1, 0.0, 0.0, 0.0], 140.0
    infos.publish(calibration)
    (info,) = rig.next(lambda: camera.publish(compressed_message(png(RED), 7)), "depth/camera_info")
    assert info.k[0] == 140.0 and not rig.received["rgb/image_rect_color"]


@pytest.mark.case(9)
@pytest.mark.parametrize(
    ("format", "encoding"), [("16UC1; png compressed ", "16UC1"), ("rgb8; jpeg compressed bgr8", "rgb8"), ("jpeg", "jpeg"), ("", "")]
)
def test_what_a_picture_was_before_it_was_compressed(format: str, encoding: str) -> None:
    assert encoding_of(compressed_message(b"", 1, format)) == encoding


def test_other_encodings_go_to_cv_bridge_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in, since the true one is in no package index. Nothing asks for it at import time."""

    class CvBridgeError(TypeError):
        pass

    class CvBridge:
        def imgmsg_to_cv2(self, message: Image, wanted: str) -> np.ndarray:
            assert wanted == "bgr8"
            if message.encoding == "old":
                raise ImportError("numpy.core.multiarray failed to import")
            if message.encoding != "nv24":
                raise CvBridgeError("unknown")
            return np.full((message.height, message.width, 3), 7, np.uint8)

    monkeypatch.setitem(sys.modules, "cv_bridge", SimpleNamespace(CvBridge=CvBridge, CvBridgeError=CvBridgeError))
    pixels, bgr = pixels_of(image_message(np.zeros((4, 6), np.uint8), 1, "nv24"))
    assert bgr and pixels.shape == (4, 6, 3) and (pixels == 7).all()
    with pytest.raises(InputError, match=r"'foo' is not supported.*unknown"):
        pixels_of(image_message(np.zeros((4, 6), np.uint8), 1, "foo"))
    with pytest.raises(InputError, match=r"'old' is not supported.*multiarray"):
        pixels_of(image_message(np.zeros((4, 6), np.uint8), 1, "old"))
    monkeypatch.setitem(sys.modules, "cv_bridge", None)
    with pytest.raises(InputError, match="'nv24' is not supported"):
        pixels_of(image_message(np.zeros((4, 6), np.uint8), 1, "nv24"))
