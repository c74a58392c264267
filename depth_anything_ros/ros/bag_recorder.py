"""Records topics of the live graph into a bag: the bytes as they came over the wire, with type and QoS."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.ros.bag_qos import to_record, to_request
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.message_classes import message_class

_POLL = 0.05
_QUEUE = 100
"""Messages per topic that may wait while the disk is slow."""


@dataclass(frozen=True)
class RecordOptions:
    """topics: names to record. The recording ends at the first limit that is reached; 0 is no limit."""

    topics: tuple[str, ...]
    duration: float = 0.0
    """Seconds since the start."""
    count: int = 0
    """Messages of all topics together."""
    until_idle: float = 0.0
    """Seconds without a message, counted from the first one."""

    def __post_init__(self) -> None:
        if not self.topics:
            raise OptionError("option.range", "Name at least one topic to record.")
        for name in ("duration", "count", "until_idle"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OptionError("option.range", f"{name} {getattr(self, name)} must be 0 (no limit) or more.")


def record(writer: BagWriter, options: RecordOptions, stopping: Callable[[], bool], report: Callable[[str], None]) -> None:
    """Record until a limit or `stopping()`. The counts are in `writer.counts`. report: takes one line for people.

    Raises InputError when none of the topics can be recorded.
    """
    node = rclpy.create_node("bag_recorder")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        recorder = _Recorder(node, writer, options, report)
        while not stopping() and not recorder.finished():
            recorder.subscribe_new()
            executor.spin_once(timeout_sec=_POLL)
    finally:
        executor.shutdown()
        node.destroy_node()


class _Recorder:
    def __init__(self, node: Node, writer: BagWriter, options: RecordOptions, report: Callable[[str], None]) -> None:
        self._node = node
        self._writer = writer
        self._options = options
        self._report = report
        self._waiting = dict.fromkeys(map(node.resolve_topic_name, options.topics))
        self._began = time.monotonic()
        self._next_look = 0.0
        self._last_message: float | None = None
        self._total = 0

    def finished(self) -> bool:
        now, limits = time.monotonic(), self._options
        return (
            (0 < limits.duration <= now - self._began)
            or (0 < limits.count <= self._total)
            or (self._last_message is not None and 0 < limits.until_idle <= now - self._last_message)
        )

    def subscribe_new(self) -> None:
        """Subscribe to topics that have got their first publisher; only then is their type known."""
        if not self._waiting or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _POLL
        for topic in list(self._waiting):
            publishers = self._node.get_publishers_info_by_topic(topic)
            if publishers:
                del self._waiting[topic]
                self._subscribe(topic, publishers)

    def _subscribe(self, topic: str, publishers: list) -> None:
        type_name = publishers[0].topic_type
        kind = message_class(type_name)
        if kind is None:
            self._skip(topic, f"message type {type_name} is not installed")
            return
        try:
            self._writer.add_topic(topic, type_name, to_record(publishers))
        except InputError as error:
            self._skip(topic, str(error))
            return
        self._node.create_subscription(kind, topic, lambda data: self._store(topic, data), to_request(publishers, _QUEUE), raw=True)
        self._report(f"recording {topic} ({type_name})")

    def _skip(self, topic: str, reason: str) -> None:
        """Raises InputError ``input.bag`` when no topic is left to record."""
        if not self._waiting and not self._writer.counts:
            raise InputError("input.bag", f"{topic} cannot be recorded, and no other topic is left: {reason}.")
        self._report(f"skipping {topic}: {reason}")

    def _store(self, topic: str, data: bytes) -> None:
        if 0 < self._options.count <= self._total:
            return
        self._writer.write(topic, time.time_ns(), data)
        self._total += 1
        self._last_message = time.monotonic()
