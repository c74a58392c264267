"""QoS of the node's topics: readers take any camera (best effort), writers serve any reader (reliable), parameters override both.

Every call gives a fresh profile, since rclpy writes the overrides into the one that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy, qos_policy_name_from_kind
from rclpy.qos_overriding_options import QoSOverridingOptions

from depth_anything_ros.errors import OptionError

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks


def image_input() -> QoSProfile:
    """Best effort, depth 1: a waiting older picture is worth nothing, and the node has its own slot for the newest."""
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def info_input() -> QoSProfile:
    """Best effort, volatile: matches every writer, but never gets the sample that a latched writer kept."""
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


def latched_info_input() -> QoSProfile:
    """Reliable, transient-local: the only reader that gets the kept sample of a latched writer."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
    )


def sensor_input() -> QoSProfile:
    """Best effort, volatile: matches every range sensor and odometry."""
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


def latched_output() -> QoSProfile:
    """Reliable, transient-local: who comes late gets the last one."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
    )


def output() -> QoSProfile:
    """Reliable, volatile: matches reliable (RViz) and best-effort readers."""
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.RELIABLE)


def overrides() -> QoSOverridingOptions:
    """Declares ``qos_overrides.<topic>.<publisher|subscription>.<policy>`` for history, depth and reliability."""
    return QoSOverridingOptions.with_default_policies()


@contextmanager
def told_of(topic: str) -> Iterator[None]:
    """About making a publisher or subscription with `overrides`: raises OptionError ``option.range`` for one that cannot be."""
    try:
        yield
    except (RuntimeError, ParameterException) as error:
        raise OptionError("option.range", f"The topic {topic} cannot be had with its qos_overrides: {str(error).rstrip('.')}.") from error


def silent_about_mismatch() -> SubscriptionEventCallbacks:
    """For the latched reader: writers that it does not match are the other reader's, and no reason for a warning."""
    return SubscriptionEventCallbacks(incompatible_qos=lambda _: None, use_default_callbacks=False)


def telling_about_mismatch(node: Node, topic: str) -> PublisherEventCallbacks:
    """For a writer: a warning that names the policy when a reader asks for more than is offered.

    In place of rclpy's own callbacks, which watch the type as well: the executor looks at each before every message, on every topic.
    """
    name = node.resolve_topic_name(topic)

    def tell(event: Any) -> None:
        policy = qos_policy_name_from_kind(event.last_policy_kind)
        node.get_logger().warning(f"A subscriber of {name} gets nothing: it asks for more {policy} than is offered. Ask for less there.")

    return PublisherEventCallbacks(incompatible_qos=tell, use_default_callbacks=False)
