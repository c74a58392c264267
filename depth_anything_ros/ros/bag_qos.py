"""QoS between the live graph and a bag's `offered_qos_profiles`."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

DEFAULT_DEPTH = 10
_SECOND = 1_000_000_000


def to_offer(recorded: Sequence[Qos]) -> QoSProfile:
    """The strongest of the recorded offers, so that every reader that the original publishers served is served again.

    Deadlines, lifespans and liveliness described the original process and are not offered again. Without a record: reliable, volatile.
    A latched topic keeps as much as all of its publishers did together: each of them had its own transform on /tf_static, say.
    """
    reliable = not recorded or any(one.reliability is not QosReliability.BEST_EFFORT for one in recorded)
    latched = any(one.durability is QosDurability.TRANSIENT_LOCAL for one in recorded)
    depths = [one.depth for one in recorded if not latched or one.durability is QosDurability.TRANSIENT_LOCAL]
    keep_all = any(one.history is QosHistory.KEEP_ALL for one in recorded)
    return QoSProfile(
        history=HistoryPolicy.KEEP_ALL if keep_all else HistoryPolicy.KEEP_LAST,
        depth=(sum(depths) if latched else max(depths, default=0)) or DEFAULT_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def to_request(publishers: Sequence[TopicEndpointInfo], depth: int) -> QoSProfile:
    """The most that all publishers of a topic offer. depth: messages that may wait for the writer of the bag."""
    offers = [one.qos_profile for one in publishers]
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def to_record(publishers: Sequence[TopicEndpointInfo]) -> list[Qos]:
    """What each publisher offers; history and depth are unknown to the graph on most middlewares and go to the bag as such."""
    return [_recorded(one.qos_profile) for one in publishers]


def _recorded(offer: QoSProfile) -> Qos:
    return Qos(
        QosHistory[offer.history.name],
        offer.depth,
        QosReliability[offer.reliability.name],
        QosDurability[offer.durability.name],
        _time(offer.deadline),
        _time(offer.lifespan),
        QosLiveliness[offer.liveliness.name],
        _time(offer.liveliness_lease_duration),
        offer.avoid_ros_namespace_conventions,
    )


def _time(duration: Duration) -> QosTime:
    return QosTime(duration.nanoseconds // _SECOND, duration.nanoseconds % _SECOND)
