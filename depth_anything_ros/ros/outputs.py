"""The node's publishers: which topics are listened to, and what is sent on them."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from depth_anything_ros.geometry import Calibration
from depth_anything_ros.ros import qos
from depth_anything_ros.ros.live_messages import CLASSES, make_live
from depth_anything_ros.ros.topics import SCALE, TIMING, messages_of, topics_of
from depth_anything_ros.types import ModelInfo, Products


class Outputs:
    """Publishers of one camera. Made and destroyed on the executor's thread; `listened` and `publish` may be called from the worker's."""

    def __init__(self, node: Node, info: ModelInfo) -> None:
        self._node = node
        self._publishers = {
            topic: node.create_publisher(
                CLASSES[kind], topic, qos.latched_output() if topic == SCALE else qos.output(), qos_overriding_options=qos.overrides()
            )
            for topic, kind in topics_of(info).items()
        }

    def listened(self) -> frozenset[str]:
        """Topics that have a subscriber now."""
        return frozenset(topic for topic, publisher in self._publishers.items() if publisher.get_subscription_count() > 0)

    def publish(self, topics: frozenset[str], products: Products, header: Any, lens: Calibration | None, encoding: str) -> None:
        """Send what `products` hold on those of `topics` that they fill, each message with the given header."""
        for topic, build in messages_of(make_live, products, header, lens, encoding).items():
            if topic in topics:
                self._publishers[topic].publish(build())

    def publish_timing(self, message: Any) -> None:
        self._publishers[TIMING].publish(message)

    def publish_scale(self, message: Any) -> None:
        self._publishers[SCALE].publish(message)

    def destroy(self) -> None:
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers.clear()
