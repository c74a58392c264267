"""What comes in from one camera: names of its topics, subscriptions while somebody listens, calibrations by stamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from depth_anything_ros.ros import calibration, qos


class CameraInput:
    """Executor's thread only, but for `infos`."""

    def __init__(self, node: Node, camera: str, transport: str, take: Callable[[Any], None]) -> None:
        """camera: sub-namespace, empty for none. transport: ``raw`` or ``compressed``. take: gets the messages.

        Raises OptionError for QoS overrides that cannot be.
        """
        self._node = node
        self._take = take
        self._prefix = f"{camera}/" if camera else ""
        self._compressed = transport == "compressed"
        self._own_compressed = self._remapped("image/compressed") if self._compressed else ""
        """Resolved name of the compressed pictures where it has a remapping of its own, else empty."""
        raw = self._remapped("image") or self._own_compressed.removesuffix("/compressed")
        self.image_topic: str = raw or node.resolve_topic_name(f"{self._prefix}image")
        """Resolved name of the raw pictures, from which the other names follow."""
        self.infos = calibration.CameraInfos()
        self._subscriptions: list[Any] = []
        self.subscribe()  # for a moment: overrides of QoS are declared and judged now, not when the first listener comes
        self.unsubscribe()

    @property
    def subscribed(self) -> bool:
        return bool(self._subscriptions)

    @property
    def picture_topic(self) -> str:
        """What is subscribed: the raw topic, or its sibling of compressed pictures, unless that one is remapped by itself."""
        return self._own_compressed or self.image_topic + ("/compressed" if self._compressed else "")

    def publishers(self) -> int:
        """Of the pictures, as far as they are known by now."""
        return self._node.count_publishers(self.picture_topic)

    def reset(self) -> None:
        """Forget calibrations. One that its writer keeps comes again to a new reader only."""
        self.infos.clear()
        if self.subscribed:
            self.unsubscribe()
            self.subscribe()

    def subscribe(self) -> None:
        if self._subscriptions:
            return
        create, info_topic, take_info = self._node.create_subscription, self._info_topic(), self.infos.add
        kind = CompressedImage if self._compressed else Image
        # The executor serves them in this order: a calibration that comes together with its picture is there first.
        with qos.told_of(self.picture_topic):
            self._subscriptions = [
                create(CameraInfo, info_topic, take_info, qos.info_input()),
                create(CameraInfo, info_topic, take_info, qos.latched_info_input(), event_callbacks=qos.silent_about_mismatch()),
                create(kind, self.picture_topic, self._take, qos.image_input(), qos_overriding_options=qos.overrides()),
            ]

    def unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def _info_topic(self) -> str:
        """`camera_info` where it is remapped by itself, else the sibling of the resolved image topic."""
        return self._remapped("camera_info") or calibration.sibling(self.image_topic)

    def _remapped(self, name: str) -> str:
        """The resolved name of a topic that has a remapping of its own, else empty."""
        resolve, name = self._node.resolve_topic_name, f"{self._prefix}{name}"
        resolved: str = resolve(name)
        return "" if resolved == resolve(name, only_expand=True) else resolved
