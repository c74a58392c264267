"""What the scale's sources know from messages: range sensors, odometry, and where the ground is. Live and in bags; imports no ROS."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros import range_points
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.transform_tree import Transforms, matrix_of
from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.scale.ground_plane import CameraHeight
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.ranges import Ranges
from depth_anything_ros.types import Frame

Float64Array = NDArray[np.float64]

_FEWEST_KEPT, _MOST_KEPT = 20, 1000
_LONGEST_KEPT_NS, _MOST_BYTES = 10_000_000_000, 64 << 20
"""Of the messages of a sensor: the picture that they belong to comes out of a large network seconds later."""
_SENSORS = 16
_ODOMETRY_KEPT = 4000
_LONGEST_GAP_NS = 500_000_000
"""Between two odometry messages that a pose is interpolated from."""
_STEP_BACK_NS = 1_000_000_000
"""Odometry that is older than the newest by more than this is a bag's next loop; less is disorder on the wire, and is left out."""
_RANGE = "sensor_msgs/msg/Range"
_POINTS_OF: dict[str, Callable[[Any], Float64Array]] = {
    "sensor_msgs/msg/LaserScan": range_points.scan_points,
    "sensor_msgs/msg/PointCloud2": range_points.cloud_points,
    _RANGE: range_points.beam_point,
}
_DEPTH, _INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"

Hear = Callable[[Any], None]
"""Takes a message, on any thread."""


class Readings(Protocol):
    """Messages of sensors, as far as they are needed."""

    @property
    def topics(self) -> Mapping[str, tuple[str, Hear]]:
        """Type and reader by topic, relative to the camera."""


class RangeReadings:
    """The last messages of every range sensor; several may share a topic."""

    def __init__(self, transforms: Transforms, tolerance: float) -> None:
        """tolerance: seconds that a message may lie from the picture."""
        self._transforms = transforms
        self._tolerance_ns = round(tolerance * 1e9)
        self._lock = threading.Lock()
        self._sensors: OrderedDict[tuple[str, str], deque[Any]] = OrderedDict()
        """By type and frame."""
        self._info: Any = None

    @property
    def topics(self) -> Mapping[str, tuple[str, Hear]]:
        sensors = {
            "scan": "sensor_msgs/msg/LaserScan",
            "points": "sensor_msgs/msg/PointCloud2",
            "range": _RANGE,
            "depth/image_rect": _DEPTH,
        }
        heard = {f"scale/{name}": (kind, self._hearing(kind)) for name, kind in sensors.items()}
        return {**heard, "scale/depth/camera_info": (_INFO, self._calibrate)}

    def measured(self, frame: Frame) -> list[Ranges] | Refusal:
        """What the sensors saw at the moment of a frame, in its camera's frame."""
        with self._lock:
            nearest = [
                (kind, min(kept, key=lambda one: abs(stamp_ns(one.header.stamp) - frame.stamp_ns)))
                for (kind, _), kept in self._sensors.items()
            ]
        if not nearest:
            return Refusal("no scale/scan, scale/points, scale/range or scale/depth/image_rect has come")
        near = [(kind, one) for kind, one in nearest if abs(stamp_ns(one.header.stamp) - frame.stamp_ns) <= self._tolerance_ns]
        if not near:
            return Refusal(f"no measurement lies within {self._tolerance_ns * 1e-9:g} s of the picture")
        read = [self._ranges(frame, kind, message) for kind, message in near]
        found = [one for one in read if isinstance(one, Ranges)]
        return found or next(one for one in read if isinstance(one, Refusal))

    def _ranges(self, frame: Frame, kind: str, message: Any) -> Ranges | Refusal:
        """Of one message, in the frame's camera."""
        camera_from_sensor = self._transforms.lookup(frame.frame_id, message.header.frame_id, stamp_ns(message.header.stamp))
        if isinstance(camera_from_sensor, Refusal):
            return camera_from_sensor
        if camera_from_sensor is None:
            return Refusal("TF has not come as far as the measurements")
        try:
            points = self._points(kind, message)
        except InputError as error:
            return Refusal(str(error))
        cone = message.field_of_view / 2.0 if kind == _RANGE else 0.0
        return Ranges(points @ camera_from_sensor[:3, :3].T + camera_from_sensor[:3, 3], cone)

    def _hearing(self, kind: str) -> Hear:
        def hear(message: Any) -> None:
            with self._lock:
                kept = self._sensors.setdefault((kind, message.header.frame_id), deque(maxlen=_MOST_KEPT))
                kept.append(message)
                while len(kept) > _FEWEST_KEPT and _outlived(kept):
                    kept.popleft()
                if len(self._sensors) > _SENSORS:
                    self._sensors.popitem(last=False)

        return hear

    def _calibrate(self, info: Any) -> None:
        with self._lock:
            self._info = info

    def _points(self, kind: str, message: Any) -> Float64Array:
        if kind != _DEPTH:
            return _POINTS_OF[kind](message)
        if self._info is None:
            raise InputError("input.intrinsics", "scale/depth/image_rect comes without scale/depth/camera_info; publish it beside.")
        return range_points.depth_points(message, self._info)


def _outlived(kept: deque[Any]) -> bool:
    """Whether the oldest message of a sensor may go: no picture is so late, or all of them are too many bytes."""
    span = stamp_ns(kept[-1].header.stamp) - stamp_ns(kept[0].header.stamp)
    return abs(span) > _LONGEST_KEPT_NS or len(kept) * len(getattr(kept[-1], "data", ())) > _MOST_BYTES


class OdometryReadings:
    """The camera's motion from nav_msgs/Odometry: the pose of the robot, and by TF that of the camera on it."""

    def __init__(self, transforms: Transforms) -> None:
        self._transforms = transforms
        self._lock = threading.Lock()
        self._kept: deque[Any] = deque(maxlen=_ODOMETRY_KEPT)

    @property
    def topics(self) -> Mapping[str, tuple[str, Hear]]:
        return {"scale/odom": ("nav_msgs/msg/Odometry", self._add)}

    def pose(self, frame: Frame) -> Float64Array | Refusal | None:
        """float64 [4, 4], camera to the odometry's frame at the moment of a frame; None while odometry is not as far."""
        with self._lock:
            kept = list(self._kept)
        if not kept:
            return Refusal("no scale/odom has come")
        later = earlier = kept[-1]
        if stamp_ns(later.header.stamp) < frame.stamp_ns:
            return None
        for earlier in reversed(kept):  # the picture is recent
            if stamp_ns(earlier.header.stamp) <= frame.stamp_ns:
                break
            later = earlier
        begin, end = stamp_ns(earlier.header.stamp), stamp_ns(later.header.stamp)
        if not begin <= frame.stamp_ns <= end or end - begin > _LONGEST_GAP_NS:
            return Refusal("scale/odom has a gap at the time of the picture")
        robot_from_camera = self._transforms.lookup(later.child_frame_id, frame.frame_id, frame.stamp_ns)
        if robot_from_camera is None or isinstance(robot_from_camera, Refusal):
            return robot_from_camera
        share = (frame.stamp_ns - begin) / max(end - begin, 1)
        return between(_pose_of(earlier), _pose_of(later), share) @ robot_from_camera

    def _add(self, odometry: Any) -> None:
        if not np.isfinite(_pose_of(odometry)).all():
            return  # a filter that has diverged
        with self._lock:
            behind = stamp_ns(self._kept[-1].header.stamp) - stamp_ns(odometry.header.stamp) if self._kept else 0
            if behind > _STEP_BACK_NS:
                self._kept.clear()
            if behind <= 0 or not self._kept:
                self._kept.append(odometry)


def pose_by_tf(transforms: Transforms, odometry_frame: str) -> Callable[[Frame], Float64Array | Refusal | None]:
    """The camera's motion from TF alone."""
    return lambda frame: transforms.lookup(odometry_frame, frame.frame_id, frame.stamp_ns)


def ground_by_tf(transforms: Transforms, options: ScaleOptions) -> Callable[[Frame], CameraHeight | Refusal]:
    """Where the ground is: height and gravity from TF; with a given height, a level camera is assumed where there is no TF."""

    def where(frame: Frame) -> CameraHeight | Refusal:
        ground_from_camera = transforms.lookup(options.camera_height_frame, frame.frame_id, frame.stamp_ns)
        given = options.camera_height_height
        if ground_from_camera is not None and not isinstance(ground_from_camera, Refusal):
            height = given or float(ground_from_camera[2, 3])
            if height <= 0.0:
                return Refusal(f"TF has the camera {height:g} m above {options.camera_height_frame!r}; set scale.camera_height.height")
            return CameraHeight(height, -ground_from_camera[2, :3], np.radians(12.0))
        if given > 0.0:
            return CameraHeight(given, np.array([0.0, 1.0, 0.0]), np.radians(35.0))
        return ground_from_camera or Refusal("TF has not come as far as the pictures")

    return where


def between(first: Float64Array, second: Float64Array, share: float) -> Float64Array:
    """Pose [4, 4] at a share (0 to 1) of the way from one to another: straight on, turning about one axis."""
    turn, _ = cv2.Rodrigues(first[:3, :3].T @ second[:3, :3])
    pose = np.eye(4)
    pose[:3, :3] = first[:3, :3] @ cv2.Rodrigues(turn * share)[0]
    pose[:3, 3] = (1.0 - share) * first[:3, 3] + share * second[:3, 3]
    return pose


def _pose_of(odometry: Any) -> Float64Array:
    return matrix_of(odometry.pose.pose.position, odometry.pose.pose.orientation)
