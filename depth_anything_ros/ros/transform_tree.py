"""Where frames are against each other, by the messages on /tf and /tf_static. Rotations are interpolated on the sphere. Imports no ROS."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.geometry import pose_matrix
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.scale.estimate import Refusal

Matrix = NDArray[np.float64]
"""[4, 4], takes points of the child frame to the parent frame."""
_KEPT = 2000
"""Transforms of one edge that are remembered."""


class Transforms(Protocol):
    """Lookups, from any thread."""

    def lookup(self, target: str, source: str, stamp_ns: int) -> Matrix | Refusal | None:
        """float64 [4, 4] that takes points of frame `source` to frame `target` at that time; None while that is not known yet."""


@dataclass
class _Edge:
    parent: str
    stamps: list[int] = field(default_factory=list)
    poses: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list)
    """(translation [3], unit quaternion x, y, z, w)."""
    static: bool = False

    def add(self, stamp_ns: int, pose: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
        at = bisect_left(self.stamps, stamp_ns)
        self.stamps.insert(at, stamp_ns)
        self.poses.insert(at, pose)
        if len(self.stamps) > _KEPT:
            del self.stamps[0], self.poses[0]

    def at(self, stamp_ns: int) -> Matrix | None:
        """Between two transforms by interpolation, None before the first and after the last; a static one holds always."""
        if self.static:
            return pose_matrix(*self.poses[-1])
        after = bisect_left(self.stamps, stamp_ns)
        if after == len(self.stamps) or (after == 0 and self.stamps[0] != stamp_ns):
            return None
        if self.stamps[after] == stamp_ns:
            return pose_matrix(*self.poses[after])
        share = (stamp_ns - self.stamps[after - 1]) / (self.stamps[after] - self.stamps[after - 1])
        (before_t, before_q), (after_t, after_q) = self.poses[after - 1], self.poses[after]
        return pose_matrix(before_t + share * (after_t - before_t), _between(before_q, after_q, share))


class TransformTree:
    """Fed with TFMessages, in any order. Not thread-safe."""

    def __init__(self) -> None:
        self._edges: dict[str, _Edge] = {}
        """By child frame."""

    def add(self, message: Any, *, static: bool) -> None:
        for one in message.transforms:
            t, q = one.transform.translation, one.transform.rotation
            rotation = np.array([q.x, q.y, q.z, q.w])
            length = np.linalg.norm(rotation)
            if not np.isfinite([length, t.x, t.y, t.z]).all() or length < 1e-6:
                continue  # NaN, or a rotation of no length, says nothing
            child, parent = one.child_frame_id.lstrip("/"), one.header.frame_id.lstrip("/")
            edge = self._edges.get(child)
            if edge is None or edge.parent != parent:
                edge = self._edges[child] = _Edge(parent)
            edge.static = edge.static or static
            edge.add(stamp_ns(one.header.stamp), (np.array([t.x, t.y, t.z]), rotation / length))

    def lookup(self, target: str, source: str, stamp_ns: int) -> Matrix | Refusal | None:
        """See `Transforms`: a refusal where no chain of transforms connects the two, None where one does, but not at that time."""
        to_root, of_target = self._chain(source, stamp_ns), self._chain(target, stamp_ns)
        common = next((frame for frame in to_root if frame in of_target), None)
        if common is not None:
            return np.asarray(np.linalg.inv(of_target[common]) @ to_root[common])
        return None if self._root(source) == self._root(target) else Refusal(f"no TF leads from {source!r} to {target!r}")

    def _root(self, frame: str) -> str:
        """The last ancestor that there ever was."""
        frame, seen = frame.lstrip("/"), set()
        while frame in self._edges and frame not in seen:
            seen.add(frame)
            frame = self._edges[frame].parent
        return frame

    def _chain(self, frame: str, stamp_ns: int) -> dict[str, Matrix]:
        """Ancestors of a frame, itself first, with the transform from the frame to each."""
        frame, matrix = frame.lstrip("/"), np.eye(4)
        chain = {frame: matrix}
        while (edge := self._edges.get(frame)) is not None and (step := edge.at(stamp_ns)) is not None and edge.parent not in chain:
            frame, matrix = edge.parent, step @ matrix
            chain[frame] = matrix
        return chain


def matrix_of(position: object, orientation: object) -> Matrix:
    """[4, 4] of a geometry_msgs Vector3 or Point and a Quaternion (which need not be of length 1)."""
    return pose_matrix(*(np.array([getattr(part, name) for name in names]) for part, names in ((position, "xyz"), (orientation, "xyzw"))))


def _between(first: NDArray[np.float64], second: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Spherical interpolation of unit quaternions (K. Shoemake, SIGGRAPH 1985), the short way round."""
    cosine = float(first @ second)
    if cosine < 0.0:
        second, cosine = -second, -cosine
    angle = np.arccos(min(cosine, 1.0))
    if angle < 1e-6:
        return first
    return np.asarray((np.sin((1 - share) * angle) * first + np.sin(share * angle) * second) / np.sin(angle))
