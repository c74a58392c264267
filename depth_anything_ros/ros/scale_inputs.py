"""Subscriptions to what the scale's sources read from the graph. Made and destroyed on the executor's thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rclpy.node import Node

from depth_anything_ros.ros import qos
from depth_anything_ros.ros.message_classes import message_class
from depth_anything_ros.ros.scale_readings import Hear, Readings
from depth_anything_ros.ros.topics import CAMERA_INFO


class Inputs:
    """Subscriptions that come and go with the listeners of the node."""

    def __init__(self, node: Node, camera: str, readings: Readings) -> None:
        """camera: sub-namespace, empty for none. Raises OptionError for QoS overrides that cannot be."""
        self._node = node
        self._topics = {f"{camera}/{topic}".lstrip("/"): heard for topic, heard in readings.topics.items()}
        self._subscriptions: list[Any] = []
        self.subscribe()  # for a moment: overrides of QoS are judged now, not when the first listener comes
        self.unsubscribe()

    def subscribe(self) -> None:
        if not self._subscriptions:
            self._subscriptions = [one for topic, (kind, hear) in self._topics.items() for one in self._subscribed(topic, kind, hear)]

    def _subscribed(self, topic: str, kind: str, hear: Hear) -> Iterator[Any]:
        create = self._node.create_subscription
        with qos.told_of(topic):
            yield create(message_class(kind), topic, hear, qos.sensor_input(), qos_overriding_options=qos.overrides())
        if kind == CAMERA_INFO:  # some cameras send it once and keep it
            yield create(message_class(kind), topic, hear, qos.latched_info_input(), event_callbacks=qos.silent_about_mismatch())

    def unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []
