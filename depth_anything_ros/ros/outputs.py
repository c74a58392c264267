"""The publishers of one camera: which topics are listened to, and what is sent on them."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from depth_anything_ros.ros import qos
from depth_anything_ros.ros.live_messages import CLASSES, make_live
from depth_anything_ros.ros.picture import Picture
from depth_anything_ros.ros.topics import SCALE, TIMING, messages_of, topics_of
from depth_anything_ros.types import ModelInfo, Products


class Outputs:
    """Made, adapted and destroyed on the executor's thread; `listened` and `publish` may be called from others."""

    def __init__(self, node: Node, camera: str, info: ModelInfo) -> None:
        """camera: sub-namespace of the topics, empty for none. Raises OptionError for QoS overrides that cannot be."""
        self._node = node
        self._prefix = f"{camera}/" if camera else ""
        self._publishers: dict[str, Any] = {}
        self.adapt(info)

    def adapt(self, info: ModelInfo) -> None:
        """Have the topics that this model can fill. Publishers that stay keep their subscribers. Not while frames are at work."""
        wanted = topics_of(info)
        for topic in set(self._publishers) - set(wanted):
            self._node.destroy_publisher(self._publishers.pop(topic))
        for topic, kind in wanted.items():
            if topic not in self._publishers:
                profile = qos.latched_output() if topic == SCALE else qos.output()
                name = self._prefix + topic
                events = qos.telling_about_mismatch(self._node, name)
                with qos.told_of(name):
                    self._publishers[topic] = self._node.create_publisher(
                        CLASSES[kind], name, profile, event_callbacks=events, qos_overriding_options=qos.overrides()
                    )

    def listened(self) -> frozenset[str]:
        """Topics (without the camera's name) that have a subscriber now."""
        return frozenset(topic for topic, publisher in self._publishers.items() if publisher.get_subscription_count() > 0)

    def publish(self, topics: frozenset[str], products: Products, picture: Picture, encoding: str) -> None:
        """Send what `products` hold on those of `topics` that they fill, each message with the picture's header."""
        for topic, build in messages_of(make_live, products, picture.header, picture.view.lens, encoding).items():
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
