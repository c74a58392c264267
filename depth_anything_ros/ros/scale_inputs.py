"""What the scale's sources read from the graph: range sensors, odometry, and where the ground is.

Subscriptions are made and destroyed on the executor's thread; what was received is read on the worker's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, LaserScan, PointCloud2, Range

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros import qos, range_points
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.transforms import Transforms, matrix_of
from depth_anything_ros.scale.estimate import Refusal
from depth_anything_ros.scale.ground_plane import CameraHeight
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.ranges import Ranges
from depth_anything_ros.types import Frame

Float64Array = NDArray[np.float64]

_KEPT = 20
"""Messages per sensor: the picture that they belong to comes out of the network later."""
_SENSORS = 16
_ODOMETRY_KEPT = 4000
_LONGEST_GAP_NS = 500_000_000
"""Between two odometry messages that a pose is interpolated from."""


class Inputs:
    """Subscriptions that come and go with the listeners of the node."""

    def __init__(self, node: Node, camera: str, topics: dict[str, tuple[type, Callable[[Any], None]]]) -> None:
        """camera: sub-namespace, empty for none. topics: name in it to message type and callback."""
        self._node = node
        self._topics = {f"{camera}/{topic}".lstrip("/"): read for topic, read in topics.items()}
        self._subscriptions: list[Any] = []

    def subscribe(self) -> None:
        if not self._subscriptions:
            self._subscriptions = [
                self._node.create_subscription(kind, topic, callback, qos.sensor_input(), qos_overriding_options=qos.overrides())
                for topic, (kind, callback) in self._topics.items()
            ]

    def unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []


class RangeInputs(Inputs):
    """The last messages of every range sensor; several may share a topic."""

    def __init__(self, node: Node, camera: str, transforms: Transforms, tolerance: float) -> None:
        """camera: see `Inputs`. tolerance: seconds that a message may lie from the picture."""
        super().__init__(
            node,
            camera,
            {
                "scale/scan": (LaserScan, self._add),
                "scale/points": (PointCloud2, self._add),
                "scale/range": (Range, self._add),
                "scale/depth/image_rect": (Image, self._add),
                "scale/depth/camera_info": (CameraInfo, self._calibrate),
            },
        )
        self._transforms = transforms
        self._tolerance_ns = round(tolerance * 1e9)
        self._lock = threading.Lock()
        self._sensors: OrderedDict[tuple[type, str], deque[Any]] = OrderedDict()
        self._info: CameraInfo | None = None

    def measured(self, frame: Frame) -> list[Ranges] | Refusal:
        """What the sensors saw at the moment of a frame, in its camera's frame."""
        with self._lock:
            nearest = [min(kept, key=lambda one: abs(stamp_ns(one.header.stamp) - frame.stamp_ns)) for kept in self._sensors.values()]
        if not nearest:
            return Refusal("no scale/scan, scale/points, scale/range or scale/depth/image_rect has come")
        near = [one for one in nearest if abs(stamp_ns(one.header.stamp) - frame.stamp_ns) <= self._tolerance_ns]
        if not near:
            return Refusal(f"no measurement lies within {self._tolerance_ns * 1e-9:g} s of the picture")
        found: list[Ranges] = []
        for message in near:
            camera_from_sensor = self._transforms.lookup(frame.frame_id, message.header.frame_id, stamp_ns(message.header.stamp))
            if isinstance(camera_from_sensor, Refusal):
                return camera_from_sensor
            if camera_from_sensor is not None:
                try:
                    points = self._points(message)
                except InputError as error:
                    return Refusal(str(error))
                cone = message.field_of_view / 2.0 if isinstance(message, Range) else 0.0
                found.append(Ranges(points @ camera_from_sensor[:3, :3].T + camera_from_sensor[:3, 3], cone))
        return found or Refusal("TF has not come as far as the measurements")

    def _add(self, message: Any) -> None:
        with self._lock:
            key = (type(message), message.header.frame_id)
            self._sensors.setdefault(key, deque(maxlen=_KEPT)).append(message)
            if len(self._sensors) > _SENSORS:
                self._sensors.popitem(last=False)

    def _calibrate(self, info: CameraInfo) -> None:
        with self._lock:
            self._info = info

    def _points(self, message: Any) -> Float64Array:
        if isinstance(message, LaserScan):
            return range_points.scan_points(message)
        if isinstance(message, PointCloud2):
            return range_points.cloud_points(message)
        if isinstance(message, Range):
            return range_points.beam_point(message)
        if self._info is None:
            raise InputError("input.intrinsics", "scale/depth/image_rect comes without scale/depth/camera_info; publish it beside.")
        return range_points.depth_points(message, self._info)


class OdometryInput(Inputs):
    """The camera's motion from nav_msgs/Odometry: the pose of the robot, and by TF that of the camera on it."""

    def __init__(self, node: Node, camera: str, transforms: Transforms) -> None:
        super().__init__(node, camera, {"scale/odom": (Odometry, self._add)})
        self._transforms = transforms
        self._lock = threading.Lock()
        self._kept: deque[Odometry] = deque(maxlen=_ODOMETRY_KEPT)

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

    def _add(self, odometry: Odometry) -> None:
        with self._lock:
            if self._kept and stamp_ns(odometry.header.stamp) < stamp_ns(self._kept[-1].header.stamp):
                self._kept.clear()  # a bag's next loop
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


def _pose_of(odometry: Odometry) -> Float64Array:
    return matrix_of(odometry.pose.pose.position, odometry.pose.pose.orientation)
