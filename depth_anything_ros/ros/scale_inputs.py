"""Subscriptions to what the scale's sources read from the graph. Made and destroyed on the executor's thread."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from depth_anything_ros.ros import qos
from depth_anything_ros.ros.message_classes import message_class
from depth_anything_ros.ros.scale_readings import Hear, Readings


class Inputs:
    """Subscriptions that come and go with the listeners of the node."""

    def __init__(self, node: Node, camera: str, readings: Readings) -> None:
        """camera: sub-namespace, empty for none."""
        self._node = node
        self._topics = {f"{camera}/{topic}".lstrip("/"): heard for topic, heard in readings.topics.items()}
        self._subscriptions: list[Any] = []

    def subscribe(self) -> None:
        if not self._subscriptions:
            self._subscriptions = [self._subscribed(topic, kind, hear) for topic, (kind, hear) in self._topics.items()]

    def _subscribed(self, topic: str, kind: str, hear: Hear) -> Any:
        with qos.told_of(topic):
            return self._node.create_subscription(
                message_class(kind), topic, hear, qos.sensor_input(), qos_overriding_options=qos.overrides()
            )

    def unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []
