"""Scale from the robot's own motion: the network sees a few keyframes together, and the way between them is known in metres.

Where the camera positions that it tells do not fit that way (small networks hardly know them), points that are followed from keyframe to
keyframe give the scale instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros import depth as depths
from depth_anything_ros import geometry
from depth_anything_ros.scale.camera import of_picture
from depth_anything_ros.scale.estimate import Deliver, Estimate, Refusal
from depth_anything_ros.scale.metric_model import RunInBackground
from depth_anything_ros.scale.ranges import Ranges, fit_factor, pairs
from depth_anything_ros.scale.tracks import triangulate
from depth_anything_ros.types import DepthKind, Float32Array, Frame, Intrinsics, Prediction, Scale, UInt8Array, Wanted

Float64Array = NDArray[np.float64]

_WIDEST_SPREAD = 0.15
"""Relative residual of the distances between cameras above which network and odometry tell different stories."""
_MOST_TURN_ERROR = np.radians(10.0)
_MOST_TURN = np.radians(40.0)
"""Keyframes that turned more than this against each other hardly see the same."""
_FEWEST_POINTS, _FEWEST_OF_A_PAIR = 40, 15
_MOST_DISAGREEMENT = 1.3
_MOST_WAITING = 5
_SAME_TURN = np.radians(10.0)
"""A camera that stands where it was, turned by less than this, still sees what was measured."""
_LEAST_PARALLAX = 0.02
"""Way over median depth below which the network's positions are mostly noise."""


class ViewsNet(Protocol):
    """A network that sees several pictures at once."""

    def infer_views(
        self, pictures: Sequence[UInt8Array], *, bgr: bool = False, wanted: Wanted = Wanted(), fill_sky: bool = True
    ) -> list[Prediction]: ...


@dataclass(frozen=True)
class Keyframe:
    """A frame with its place."""

    frame: Frame
    depth: Float32Array
    """float32 [h, w], as the network saw it alone."""
    camera: Intrinsics | None
    """Of the picture; None where nobody knows."""
    pose: Float64Array
    """float64 [4, 4], camera (optical) to the odometry's frame, metres."""


def scale_of_positions(predicted: Float64Array, true: Float64Array) -> tuple[float, float] | None:
    """Factor from predicted to true camera positions (both float64 [n, 3]) and its relative residual; None where nothing moves.

    From the distances between them, which no rotation or shift changes, so it holds for straight ways too (an alignment of the points
    themselves leaves a rotation about the way open). Longer distances weigh more.
    """
    first, second = np.triu_indices(len(true), 1)
    metres = np.linalg.norm(true[first] - true[second], axis=1)
    units = np.linalg.norm(predicted[first] - predicted[second], axis=1)
    if not float(units @ units) > 0.0 or not float(metres @ metres) > 0.0:
        return None
    factor = float(metres @ units) / float(units @ units)
    residual = float(np.linalg.norm(metres - factor * units) / np.linalg.norm(metres))
    return factor, residual


def turns(rotations: Float64Array) -> Float64Array:
    """Angles between all pairs of rotations float64 [n, 3, 3], radians; the same in whatever frame of the robot they are measured."""
    first, second = np.triu_indices(len(rotations), 1)
    cosine = (np.einsum("nij,nij->n", rotations[first], rotations[second]) - 1.0) / 2.0
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)), np.float64)


def compare(keyframes: Sequence[Keyframe], views: Sequence[Prediction]) -> Estimate | Refusal:
    """Metres per unit of the depth of the last keyframe as the network saw it alone.

    views: what the network made of all keyframes together. Their positions against the odometry's give metres per unit of the views; the
    last keyframe's depth in the views against its depth alone gives the rest.
    """
    if any(view.extrinsics is None for view in views):
        return Refusal("the model gives no camera positions")
    world = np.array([_inverse(np.asarray(view.extrinsics, np.float64)) for view in views])
    true = np.array([keyframe.pose for keyframe in keyframes])
    found = scale_of_positions(world[:, :3, 3], true[:, :3, 3])
    if found is None:
        return Refusal("the camera did not move")
    factor, residual = found
    if residual > _WIDEST_SPREAD:
        return Refusal(f"the network's positions do not fit the odometry's (residual {residual:.2f})")
    if np.max(np.abs(turns(world[:, :3, :3]) - turns(true[:, :3, :3]))) > _MOST_TURN_ERROR:
        return Refusal("the network's turns do not fit the odometry's")
    alone = keyframes[-1].depth
    together = depths.resize(views[-1].depth, alone.shape[1], alone.shape[0])
    valid = np.isfinite(together) & np.isfinite(alone) & (together > 0.0) & (alone > 0.0)
    if not valid.any():
        return Refusal("the views give no depth")
    extent = float(np.max(np.linalg.norm(world[:, :3, 3] - world[-1, :3, 3], axis=1)))
    if extent < _LEAST_PARALLAX * float(np.median(together[valid])):
        return Refusal("the way is too short for so distant a scene")
    ratio = float(np.median(together[valid] / alone[valid]))
    return Estimate(keyframes[-1].frame.stamp_ns, Scale(factor * ratio), residual)


def follow(keyframes: Sequence[Keyframe]) -> Estimate | Refusal:
    """Metres per unit of the depth of the last keyframe, by points that are followed from it into the others."""
    last = keyframes[-1]
    if last.camera is None:
        return Refusal("points cannot be followed without camera_info, focal, or the model's own estimate")
    pixels, bgr = last.frame.pixels, last.frame.bgr
    height, width = last.depth.shape
    map_camera = geometry.scale_intrinsics(last.camera, width, height)
    seen: list[tuple[Float64Array, Float64Array]] = []
    for one in keyframes[:-1]:
        points = triangulate(pixels, one.frame.pixels, np.linalg.inv(one.pose) @ last.pose, last.camera, bgr=bgr)
        seen.append(pairs(last.depth, map_camera, Ranges(points), inverse=False))
    values, metres = (np.concatenate(part) for part in zip(*seen))
    if len(values) < _FEWEST_POINTS:
        return Refusal(f"{len(values)} points could be followed, {_FEWEST_POINTS} are needed")
    factor, spread, _ = fit_factor(values, metres)  # type: ignore[misc]
    if spread > _WIDEST_SPREAD:
        return Refusal(f"followed points do not fit the depth (spread {spread:.2f})")
    single = [np.median(metres / values) for values, metres in seen if len(values) >= _FEWEST_OF_A_PAIR]
    if not _agree(single):
        return Refusal("keyframes do not agree on the scale: the odometry slips, or the scene moves")
    return Estimate(last.frame.stamp_ns, Scale(factor), spread)


def measure(keyframes: Sequence[Keyframe], views: Sequence[Prediction]) -> Estimate | Refusal:
    """By the network's positions, which followed points may confirm or contradict, or by those points alone."""
    by_positions, by_points = compare(keyframes, views), follow(keyframes)
    if isinstance(by_positions, Refusal) and isinstance(by_points, Refusal):
        return Refusal(f"{by_positions.reason}; {by_points.reason}")
    if isinstance(by_positions, Refusal):
        return by_points
    if isinstance(by_points, Estimate) and not _agree([by_positions.scale.factor, by_points.scale.factor]):
        return Refusal("the network's positions and the points that were followed do not agree on the scale")
    return by_positions


def _agree(factors: Sequence[float]) -> bool:
    return not factors or max(factors) <= _MOST_DISAGREEMENT * min(factors)


class OdometrySource:
    """Keyframes by distance; the last few are looked at together in the background."""

    least = 2
    kinds = frozenset({DepthKind.RELATIVE_DEPTH})

    def __init__(
        self,
        net: Callable[[], ViewsNet],
        pose: Callable[[Frame], Float64Array | Refusal | None],
        run: RunInBackground,
        *,
        views: int,
        baseline: float,
    ) -> None:
        """net: gives the loaded network, in the background. views: keyframes that are looked at together. baseline: metres between two.

        pose: of the camera at the moment of a frame, see `Keyframe`; None if it may come later.
        """
        self._net = net
        self._pose = pose
        self._run = run
        self._baseline = baseline
        self._keyframes: deque[Keyframe] = deque(maxlen=views)
        self._waiting: deque[tuple[Frame, Float32Array, Intrinsics | None]] = deque(maxlen=_MOST_WAITING)
        """Frames whose pose has not come, oldest first."""
        self._fresh = False
        """Whether the last keyframe still waits to be looked at."""
        self._measured: tuple[Keyframe, Estimate] | None = None
        """The last keyframe that gave a scale."""

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        if len(self._waiting) == _MOST_WAITING:
            deliver(Refusal("odometry is behind the pictures"))
        self._waiting.append((frame, prediction.depth, of_picture(frame, prediction)))
        while self._waiting:
            frame, depth, camera = self._waiting[0]
            pose = self._pose(frame)
            if pose is None:
                return
            self._waiting.popleft()
            if isinstance(pose, Refusal):
                deliver(pose)
            else:
                self._take(Keyframe(frame, depth, camera, pose), deliver)

    def _take(self, new: Keyframe, deliver: Deliver) -> None:
        self._follow(new)
        if not self._fresh:
            self._renew(new, deliver)
            return
        if len(self._keyframes) < 3:
            deliver(Refusal("too few keyframes: the camera has not moved enough"))
            return
        keyframes = self._keyframes
        self._fresh = not self._run(lambda: self._look(keyframes, list(keyframes), deliver))

    def reset(self) -> None:
        self._forget()
        self._waiting.clear()
        self._measured = None

    def memory(self) -> object:
        return self._keyframes, self._waiting, self._fresh, self._measured

    def recall(self, memory: object) -> None:
        assert isinstance(memory, tuple)
        self._keyframes, self._waiting, self._fresh, self._measured = memory

    def _forget(self) -> None:
        self._keyframes = deque(maxlen=self._keyframes.maxlen)  # another one, by which a job at work knows that it is late
        self._fresh = False

    def _renew(self, new: Keyframe, deliver: Deliver) -> None:
        """While the camera stands where it was measured, the scale stays known; once a second is enough."""
        if self._measured is None:
            return
        keyframe, estimate = self._measured
        way, since = float(np.linalg.norm(new.pose[:3, 3] - keyframe.pose[:3, 3])), new.frame.stamp_ns - estimate.stamp_ns
        if way >= self._baseline or _turn(new.pose, keyframe.pose) > _SAME_TURN or since < 1_000_000_000:
            return
        self._measured = keyframe, replace(estimate, stamp_ns=new.frame.stamp_ns)
        deliver(self._measured[1])

    def _follow(self, new: Keyframe) -> None:
        """Make the frame a keyframe if it is far enough from the last one; forget those that see something else or have another size."""
        if self._keyframes:
            last = self._keyframes[-1]
            if _turn(last.pose, new.pose) > _MOST_TURN or _differs(last, new):
                self._forget()
            elif float(np.linalg.norm(new.pose[:3, 3] - last.pose[:3, 3])) < self._baseline:
                return
        self._keyframes.append(new)
        self._fresh = True

    def _look(self, source: deque[Keyframe], keyframes: list[Keyframe], deliver: Deliver) -> None:
        pictures = [one.frame.pixels for one in keyframes]
        reading = measure(keyframes, self._net().infer_views(pictures, bgr=keyframes[-1].frame.bgr, fill_sky=False))
        if isinstance(reading, Estimate) and source is self._keyframes:
            self._measured = keyframes[-1], reading
        deliver(reading)


def _differs(one: Keyframe, other: Keyframe) -> bool:
    return one.frame.pixels.shape != other.frame.pixels.shape or one.frame.bgr != other.frame.bgr


def _turn(one: Float64Array, other: Float64Array) -> float:
    return float(turns(np.array([one[:3, :3], other[:3, :3]]))[0])


def _inverse(pose: Float64Array) -> Float64Array:
    """[4, 4] inverse of a rigid [3, 4] transform."""
    inverse = np.eye(4)
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse
