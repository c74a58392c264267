"""A stand-in for tf2_ros, which no wheel has: transforms come as geometry_msgs/TransformStamped on /fake_tf, and direct ones are found.

Names and behaviour are those that the package uses of the real one. A transform of stamp 0 holds at any time; one with a stamp holds at
times up to it, later ones are not known yet, and 10 s before the first one are not remembered. What is 10 s older than the newest is not
taken. `clear` keeps what holds at any time.
"""

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile


class TransformException(Exception):
    pass


class LookupException(TransformException):
    pass


class ExtrapolationException(TransformException):
    pass


def nanoseconds(one: TransformStamped) -> int:
    return one.header.stamp.sec * 10**9 + one.header.stamp.nanosec


class Buffer:
    def __init__(self) -> None:
        self.known: dict[tuple[str, str], list[TransformStamped]] = {}

    def take(self, one: TransformStamped) -> None:
        kept = self.known.setdefault((one.header.frame_id, one.child_frame_id), [])
        if not kept or nanoseconds(one) == 0 or nanoseconds(one) > nanoseconds(kept[-1]) - 10**10:
            kept.append(one)

    def clear(self) -> None:
        for edge, kept in self.known.items():
            self.known[edge] = [one for one in kept if nanoseconds(one) == 0]

    def lookup_transform(self, target: str, source: str, time) -> TransformStamped:
        kept = self.known.get((target, source))
        if not kept:
            raise LookupException(f'"{source}" passed to lookupTransform argument source_frame does not exist.')
        stamps = [nanoseconds(one) for one in kept]
        if stamps[-1] == 0:
            return kept[-1]
        if time.nanoseconds > stamps[-1]:
            raise ExtrapolationException("Lookup would require extrapolation into the future.")
        if time.nanoseconds < stamps[0] - 10**10:
            raise ExtrapolationException("Lookup would require extrapolation into the past.")
        return min(zip(stamps, kept), key=lambda pair: abs(pair[0] - time.nanoseconds))[1]


class TransformListener:
    def __init__(self, buffer: Buffer, node) -> None:
        qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node, self.subscription = node, node.create_subscription(TransformStamped, "/fake_tf", buffer.take, qos)

    def unregister(self) -> None:
        self.node.destroy_subscription(self.subscription)
