"""The node's output topics: which a model can give, which are listened to, and their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, PointCloud2
from std_msgs.msg import Header

from depth_anything_ros.depth import to_millimetres
from depth_anything_ros.geometry import Calibration, network_intrinsics
from depth_anything_ros.pipeline import WantedProducts
from depth_anything_ros.ros import qos
from depth_anything_ros.ros.messages import camera_info_from, cloud_from, image_from
from depth_anything_ros.types import DepthKind, ModelInfo, Products

TIMING = "depth/timing"

_METRIC = {"depth/image_rect": Image, "depth/image_raw": Image, "depth/camera_info": CameraInfo, "points": PointCloud2}
_RELATIVE = {"relative/image": Image, "relative/camera_info": CameraInfo}
_NEED_DEPTH = frozenset({"depth/image_rect", "depth/image_raw", "depth/camera_info", *_RELATIVE})


def topics_of(info: ModelInfo) -> dict[str, type]:
    """Output topics (relative names) and types that a model can fill."""
    topics: dict[str, type] = {TIMING: DiagnosticArray}
    if info.kind is not DepthKind.RELATIVE_INVERSE_DEPTH:
        topics.update(_METRIC)
    if info.kind is not DepthKind.METRIC or info.needs_focal:
        topics.update(_RELATIVE)
    if info.has_confidence:
        topics["depth/confidence"] = Image
    if info.has_sky:
        topics["depth/sky_mask"] = Image
    if info.has_pose:
        topics["intrinsics"] = CameraInfo
    return topics


def wanted_products(topics: frozenset[str]) -> WantedProducts:
    """What has to be computed for these topics."""
    return WantedProducts(
        depth=bool(topics & _NEED_DEPTH),
        confidence="depth/confidence" in topics,
        sky_mask="depth/sky_mask" in topics,
        points="points" in topics,
    )


class Outputs:
    """Publishers of one camera. Made and destroyed on the executor's thread; `listened` and `publish` may be called from the worker's."""

    def __init__(self, node: Node, info: ModelInfo) -> None:
        self._node = node
        self._publishers = {
            topic: node.create_publisher(kind, topic, qos.output(), qos_overriding_options=qos.overrides())
            for topic, kind in topics_of(info).items()
        }

    def listened(self) -> frozenset[str]:
        """Topics that have a subscriber now."""
        return frozenset(topic for topic, publisher in self._publishers.items() if publisher.get_subscription_count() > 0)

    def publish(self, topics: frozenset[str], products: Products, header: Header, lens: Calibration | None, encoding: str) -> None:
        """Send what `products` hold on those of `topics` that they fill, each message with the given header."""
        for topic, build in messages_of(products, header, lens, encoding).items():
            if topic in topics:
                self._publishers[topic].publish(build())

    def publish_timing(self, message: DiagnosticArray) -> None:
        self._publishers[TIMING].publish(message)

    def destroy(self) -> None:
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers.clear()


def messages_of(products: Products, header: Header, lens: Calibration | None, encoding: str) -> dict[str, Callable[[], Any]]:
    """A builder per topic that one frame can fill. lens: of a distorted picture, which is no `image_rect`, else None."""
    builders: dict[str, Callable[[], Any]] = {}
    if products.depth is not None:
        depth, group = products.depth, "depth" if products.metric else "relative"
        builders[f"{group}/camera_info"] = lambda: camera_info_from(header, products.intrinsics, depth.shape[::-1], lens)
        if not products.metric:
            builders["relative/image"] = lambda: image_from(header, depth, "32FC1")
        else:
            topic = "depth/image_rect" if lens is None else "depth/image_raw"
            builders[topic] = lambda: image_from(header, to_millimetres(depth) if encoding == "16UC1" else depth, encoding)
    if products.confidence is not None:
        confidence = products.confidence
        builders["depth/confidence"] = lambda: image_from(header, confidence, "32FC1")
    if products.sky_mask is not None:
        mask = products.sky_mask
        builders["depth/sky_mask"] = lambda: image_from(header, mask, "mono8")
    if products.points is not None:
        points = products.points
        builders["points"] = lambda: cloud_from(header, points)
    if products.prediction.intrinsics is not None:
        height, width = products.frame.pixels.shape[:2]
        estimate = network_intrinsics(products.prediction.intrinsics, width, height)
        builders["intrinsics"] = lambda: camera_info_from(header, estimate, (width, height), None)
    return builders
