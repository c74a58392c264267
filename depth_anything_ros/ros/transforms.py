"""Where frames are against each other: TF where tf2_ros is installed (imported when it is needed), else only what needs no TF."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.time import Time

from depth_anything_ros.ros.transform_tree import Matrix, Transforms, matrix_of
from depth_anything_ros.scale.estimate import Refusal

_STEP_BACK_NS = 5_000_000_000
"""A lookup that is older than the newest by more than this begins a new story (a bag's next loop)."""


class WithoutTf:
    """For machines without tf2_ros: a frame is where it is, and no more is known."""

    def lookup(self, target: str, source: str, stamp_ns: int) -> Matrix | Refusal | None:
        if target == source:
            return np.eye(4)
        return Refusal(f"TF from {source!r} to {target!r} is needed, and tf2_ros is not installed (ROS package tf2_ros_py)")

    def close(self) -> None:
        """There is nothing."""


class Tf:
    """The buffer of tf2_ros, filled by a listener on the node's executor. To be made and closed on the executor's thread."""

    def __init__(self, node: Node) -> None:
        """Raises ImportError without tf2_ros."""
        import tf2_ros

        self._errors = tf2_ros.TransformException
        self._not_yet = tf2_ros.ExtrapolationException
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, node)
        self._newest_ns: dict[tuple[str, str], int] = {}
        """By pair of frames, since the clocks of two cameras may differ."""

    def lookup(self, target: str, source: str, stamp_ns: int) -> Matrix | Refusal | None:
        if target == source:
            return np.eye(4)
        self._follow((target, source), stamp_ns)
        try:
            found = self._buffer.lookup_transform(target, source, Time(nanoseconds=max(stamp_ns, 0)))
        except self._not_yet as error:
            if "into the past" in str(error):
                return Refusal(f"TF from {source!r} to {target!r} does not go back to the pictures: are their clocks the same?")
            return None
        except self._errors as error:
            return Refusal(f"no TF from {source!r} to {target!r}: {error}")
        return matrix_of(found.transform.translation, found.transform.rotation)

    def close(self) -> None:
        self._listener.unregister()

    def _follow(self, pair: tuple[str, str], stamp_ns: int) -> None:
        """After a step back forget what moved: tf2 takes nothing that is 10 s older than its newest, so it would not hear the new story."""
        newest = self._newest_ns.get(pair, stamp_ns)
        if stamp_ns < newest - _STEP_BACK_NS:
            self._buffer.clear()
            self._newest_ns.clear()
            newest = stamp_ns
        self._newest_ns[pair] = max(newest, stamp_ns)


class SharedTransforms:
    """One buffer for all cameras of a node, filled from the moment that somebody needs it."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._opened: Tf | WithoutTf | None = None

    def open(self) -> Transforms:
        """TF where tf2_ros can be imported. To be called on the executor's thread."""
        if self._opened is None:
            try:
                self._opened = Tf(self._node)
            except ImportError:
                self._opened = WithoutTf()
        return self._opened

    def close(self) -> None:
        """Listen to TF no more, until somebody needs it again. To be called on the executor's thread."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None
