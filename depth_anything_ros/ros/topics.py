"""Output topics: which a model can give, what has to be computed for them, and their messages. Live and in bags; imports no ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from depth_anything_ros.depth import to_millimetres
from depth_anything_ros.geometry import Calibration, network_intrinsics
from depth_anything_ros.pipeline import WantedProducts
from depth_anything_ros.ros.messages import MakeMessage, camera_info_from, cloud_from, image_from, jpeg_from
from depth_anything_ros.types import DepthKind, ModelInfo, Products

TIMING, SCALE, POINTS = "depth/timing", "depth/scale", "points"
COLOR, COLOR_COMPRESSED = "depth/color", "depth/color/compressed"
IMAGE, CAMERA_INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"

METRIC = {"depth/image_rect": IMAGE, "depth/image_raw": IMAGE, "depth/camera_info": CAMERA_INFO, POINTS: "sensor_msgs/msg/PointCloud2"}
"""Types of the topics that are published with metres alone."""
_RELATIVE = {"relative/image": IMAGE, "relative/camera_info": CAMERA_INFO}
_ALWAYS = {
    TIMING: "diagnostic_msgs/msg/DiagnosticArray",
    SCALE: "diagnostic_msgs/msg/DiagnosticArray",
    COLOR: IMAGE,
    COLOR_COMPRESSED: "sensor_msgs/msg/CompressedImage",
    "rgb/image_rect_color": IMAGE,
    "rgb/camera_info": CAMERA_INFO,
}
_NEED_DEPTH = frozenset({"depth/image_rect", "depth/image_raw", "depth/camera_info", *_RELATIVE})


def topics_of(info: ModelInfo) -> dict[str, str]:
    """Output topics (relative names) and types that a model can fill."""
    topics = {**_ALWAYS, **METRIC}  # metres also of inverse depth: ranges give it scale and shift
    if info.kind is not DepthKind.METRIC or info.needs_focal:
        topics.update(_RELATIVE)
    if info.has_confidence:
        topics["depth/confidence"] = IMAGE
    if info.has_sky:
        topics["depth/sky_mask"] = IMAGE
    if info.has_pose:
        topics["intrinsics"] = CAMERA_INFO
    return topics


def wanted_products(topics: frozenset[str]) -> WantedProducts:
    """What has to be computed for these topics."""
    return WantedProducts(
        depth=bool(topics & _NEED_DEPTH),
        confidence="depth/confidence" in topics,
        sky_mask="depth/sky_mask" in topics,
        points=POINTS in topics,
        color=bool(topics & {COLOR, COLOR_COMPRESSED}),
    )


def messages_of(
    make: MakeMessage, products: Products, header: Any, lens: Calibration | None, encoding: str
) -> dict[str, Callable[[], Any]]:
    """A builder per topic that one frame can fill. lens: of a distorted picture, which is no `image_rect`, else None."""
    builders: dict[str, Callable[[], Any]] = {}
    if products.depth is not None:
        depth, group = products.depth, "depth" if products.metric else "relative"
        builders[f"{group}/camera_info"] = lambda: camera_info_from(make, header, products.intrinsics, depth.shape[::-1], lens)
        if not products.metric:
            builders["relative/image"] = lambda: image_from(make, header, depth, "32FC1")
        else:
            topic = "depth/image_rect" if lens is None else "depth/image_raw"
            builders[topic] = lambda: image_from(make, header, to_millimetres(depth) if encoding == "16UC1" else depth, encoding)
    if products.confidence is not None:
        confidence = products.confidence
        builders["depth/confidence"] = lambda: image_from(make, header, confidence, "32FC1")
    if products.sky_mask is not None:
        mask = products.sky_mask
        builders["depth/sky_mask"] = lambda: image_from(make, header, mask, "mono8")
    if products.points is not None:
        points = products.points
        builders[POINTS] = lambda: cloud_from(make, header, points)
    if products.color is not None:
        color = products.color
        builders[COLOR] = lambda: image_from(make, header, color, "rgb8")
        builders[COLOR_COMPRESSED] = lambda: jpeg_from(make, header, color)
    if products.frame.rectified:
        frame = products.frame
        size = frame.pixels.shape[1], frame.pixels.shape[0]
        builders["rgb/image_rect_color"] = lambda: image_from(make, header, frame.pixels, "bgr8" if frame.bgr else "rgb8")
        builders["rgb/camera_info"] = lambda: camera_info_from(make, header, frame.intrinsics, size, None)
    if products.prediction.intrinsics is not None:
        height, width = products.frame.pixels.shape[:2]
        estimate = network_intrinsics(products.prediction.intrinsics, width, height)
        builders["intrinsics"] = lambda: camera_info_from(make, header, estimate, (width, height), None)
    return builders
