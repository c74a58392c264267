"""Plays a bag on the live graph: the recorded bytes, QoS and timing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.ros.bag_qos import to_offer
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.message_classes import message_class

_POLL = 0.02
"""Seconds between looks at the clock, the stop request and new readers."""
_SETTLE = 0.3
"""Seconds without a new reader after which discovery is taken as finished."""
_FLUSH = 2.0
"""Seconds that reliable readers have at the end to fetch what they still miss."""


@dataclass(frozen=True)
class PlayOptions:
    rate: float = 1.0
    loop: int = 1
    """Times that the bag is played; 0 is without end."""
    topics: tuple[str, ...] = ()
    """Recorded names; empty takes all."""
    remap: Mapping[str, str] = field(default_factory=dict)
    """Recorded name to published name."""
    clock: bool = False
    """Publish the recorded time on /clock, for nodes with use_sim_time."""
    wait: float = 10.0
    """Seconds to wait at most for readers before the first message."""
    wait_for: tuple[str, ...] = ()
    """Published names that must have readers; empty: any topic."""
    readers: int = 1
    """How many each of them must have."""

    def __post_init__(self) -> None:
        if not 0 < self.rate < float("inf"):
            raise OptionError("option.range", f"rate {self.rate} must be a positive number.")
        if self.loop < 0:
            raise OptionError("option.range", f"loop {self.loop} must be 0 (without end) or more.")
        if not self.wait >= 0.0:
            raise OptionError("option.range", f"wait {self.wait} must be 0 or more seconds.")
        if self.readers < 1:
            raise OptionError("option.range", f"readers {self.readers} must be 1 or more.")


def play(reader: BagReader, options: PlayOptions, stopping: Callable[[], bool], report: Callable[[str], None]) -> dict[str, int]:
    """Play a bag until its end or until `stopping()`; returns the number of messages sent per recorded topic.

    report: takes one line for people. Raises InputError (nothing to play), OptionError (unknown topic, bad name).
    """
    node = rclpy.create_node("bag_player")
    try:
        player = _Player(node, reader, options, stopping, report)
        return player.run()
    finally:
        node.destroy_node()


class _Player:
    def __init__(
        self, node: Node, reader: BagReader, options: PlayOptions, stopping: Callable[[], bool], report: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._options = options
        self._stopping = stopping
        self._report = report
        self._publishers = self._advertise(node)
        self._awaited = [node.resolve_topic_name(name) for name in options.wait_for]
        self._clock = node.create_publisher(Clock, "/clock", qos_profile_sensor_data) if options.clock else None

    def run(self) -> dict[str, int]:
        sent = dict.fromkeys(self._publishers, 0)
        self._wait_for_readers()
        played = 0
        while not self._stopping() and (self._options.loop == 0 or played < self._options.loop):
            if not self._play_once(sent):
                break  # without end there would be nothing for ever
            played += 1
        self._flush()
        return sent

    def _advertise(self, node: Node) -> dict[str, Publisher]:
        recorded = self._reader.topics
        unknown = [name for name in (*self._options.topics, *self._options.remap) if name not in recorded]
        if unknown:
            raise OptionError("option.unknown", f"The bag has no topic {', '.join(unknown)}; it has {', '.join(recorded) or 'none'}.")
        publishers: dict[str, Publisher] = {}
        for name in self._options.topics or recorded:
            topic = recorded[name]
            kind = message_class(topic.type)
            if kind is None:
                self._report(f"skipping {name}: message type {topic.type or 'without name'} is not installed")
                continue
            target = self._options.remap.get(name, name)
            try:
                publishers[name] = node.create_publisher(kind, target, to_offer(topic.qos))
            except InvalidTopicNameException as error:
                raise OptionError("option.range", f"{target!r} is no valid topic name.") from error
        if not publishers:
            raise InputError("input.bag", f"{self._reader.path} holds no topic that can be played.")
        return publishers

    def _wait_for_readers(self) -> None:
        deadline = time.monotonic() + self._options.wait
        readers, settled = 0, 0.0
        while not self._stopping():
            now = time.monotonic()
            found = sum(publisher.get_subscription_count() for publisher in self._publishers.values())
            if found != readers:
                readers, settled = found, now + _SETTLE
            if now >= deadline:
                if self._missing():
                    self._report(f"too few readers of {', '.join(self._missing())} after {self._options.wait:g} s; playing all the same")
                return
            if not self._missing() and now >= settled:
                return
            time.sleep(_POLL)

    def _missing(self) -> list[str]:
        least = self._options.readers
        heard = {publisher.topic_name for publisher in self._publishers.values() if publisher.get_subscription_count() >= least}
        if self._awaited:
            return [name for name in self._awaited if name not in heard]
        return [] if heard else ["any topic"]

    def _play_once(self, sent: dict[str, int]) -> bool:
        """False when there was nothing to play, or after a request to stop."""
        began, first_ns = time.monotonic(), None
        for message in self._reader.messages(self._publishers.keys()):
            first_ns = message.stamp_ns if first_ns is None else first_ns
            offset = (message.stamp_ns - first_ns) * 1e-9
            if not self._sleep_until(began + offset / self._options.rate, message.stamp_ns):
                return False
            self._publishers[message.topic].publish(message.data)
            sent[message.topic] += 1
        return first_ns is not None

    def _sleep_until(self, due: float, stamp_ns: int) -> bool:
        """False when asked to stop. Meanwhile /clock runs up to the recorded time `stamp_ns` of the moment `due`."""
        while not self._stopping():
            left = due - time.monotonic()
            self._publish_clock(stamp_ns - int(max(left, 0.0) * self._options.rate * 1e9))
            if left <= 0:
                return True
            time.sleep(min(left, _POLL))
        return False

    def _publish_clock(self, stamp_ns: int) -> None:
        if self._clock is not None:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(stamp_ns, 1_000_000_000)
            self._clock.publish(message)

    def _flush(self) -> None:
        """Stay until reliable readers have all: what the middleware still holds dies with the publisher."""
        deadline = time.monotonic() + _FLUSH
        for publisher in self._publishers.values():
            if publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE:
                left = max(deadline - time.monotonic(), 0.0)
                publisher.wait_for_all_acked(Duration(seconds=left))
