"""The recording of a robot that drives through the room of `box_room`, and networks that know the room. Written by `rosbags` itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bag_tools import START_NS, TYPES
from box_room import CAMERA, look, pose_at, rays_of
from fake_engine import ANY_VIEW, FakeEngine
from replay_tools import cdr, write
from room_engine import RoomEngine, metric_engine, picture_at, pose_of

from depth_anything_ros.geometry import quaternion_of
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.types import Intrinsics, Prediction, UInt8Array

UNIT = 0.37
"""Metres in one unit of the network's depth, about; see `DriftingEngine`."""
HEIGHT = 0.6
PERIOD = 100_000_000
IMAGE, INFO, LIDAR, ODOM, TF, TF_STATIC = "/cam/image_rect", "/cam/camera_info", "/lidar/points", "/odom", "/tf", "/tf_static"
KINDS = {
    IMAGE: "sensor_msgs/msg/Image",
    INFO: "sensor_msgs/msg/CameraInfo",
    LIDAR: "sensor_msgs/msg/PointCloud2",
    ODOM: "nav_msgs/msg/Odometry",
    TF: "tf2_msgs/msg/TFMessage",
    TF_STATIC: "tf2_msgs/msg/TFMessage",
}
BASE_FROM_CAMERA = pose_at(0.2, z=HEIGHT)
CAMERA_FROM_LIDAR = np.eye(4)
CAMERA_FROM_LIDAR[:3, :3] = [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]
CAMERA_FROM_LIDAR[:3, 3] = [0.1, -0.2, 0.05]


def place(index: int) -> float:
    """x of the camera at a picture: it stands for a while, then drives."""
    return -1.5 + 0.06 * max(index - 10, 0)


def truth(index: int) -> np.ndarray:
    """float32 [48, 64], metres."""
    return look(pose_at(place(index), z=HEIGHT))[0]


def unit(x: float) -> float:
    """Metres in one unit of `DriftingEngine`."""
    return UNIT * (1.0 + 0.03 * math.sin(3.0 * x))


@dataclass
class DriftingEngine(RoomEngine):
    """Its unit is another one at each place, so that what is remembered shows."""

    def _prediction(self, pixels: UInt8Array, intrinsics: Intrinsics | None) -> Prediction:
        self.unit = unit(float(pose_of(pixels)[0, 3]))
        return super()._prediction(pixels, intrinsics)


def room_engines(options: NodeOptions) -> FakeEngine:
    return metric_engine() if "metric" in options.model else RoomEngine(ANY_VIEW, unit=UNIT)


def drifting_engines(options: NodeOptions) -> FakeEngine:
    return metric_engine() if "metric" in options.model else DriftingEngine(ANY_VIEW)


def header(stamp: int, frame: str) -> object:
    time = TYPES.types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    return TYPES.types["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def transform(parent: str, child: str, pose: np.ndarray, stamp: int) -> object:
    make = TYPES.types
    spot = make["geometry_msgs/msg/Vector3"](*map(float, pose[:3, 3]))
    turn = make["geometry_msgs/msg/Quaternion"](*quaternion_of(pose[:3, :3]))
    moved = make["geometry_msgs/msg/Transform"](translation=spot, rotation=turn)
    return make["geometry_msgs/msg/TransformStamped"](header=header(stamp, parent), child_frame_id=child, transform=moved)


def odometry(stamp: int, x: float) -> bytes:
    make = TYPES.types
    spot, turn = make["geometry_msgs/msg/Point"](x, 0.0, 0.0), make["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    pose = make["geometry_msgs/msg/PoseWithCovariance"](make["geometry_msgs/msg/Pose"](spot, turn), np.zeros(36))
    zero = make["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
    twist = make["geometry_msgs/msg/TwistWithCovariance"](make["geometry_msgs/msg/Twist"](zero, zero), np.zeros(36))
    return cdr(KINDS[ODOM], header=header(stamp, "odom"), child_frame_id="base_link", pose=pose, twist=twist)


def cloud(stamp: int, index: int) -> bytes:
    """What a laser beside the camera measures, in its own frame."""
    seen = (rays_of(CAMERA) * truth(index)[..., np.newaxis])[4::7, 3::5].reshape(-1, 3)
    points = (seen - CAMERA_FROM_LIDAR[:3, 3]) @ CAMERA_FROM_LIDAR[:3, :3]
    fields = [TYPES.types["sensor_msgs/msg/PointField"](name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate("xyz")]
    size = {"height": 1, "width": len(points), "point_step": 12, "row_step": 12 * len(points)}
    data = np.frombuffer(points.astype("<f4").tobytes(), np.uint8)
    return cdr(KINDS[LIDAR], header=header(stamp, "lidar"), **size, fields=fields, is_bigendian=False, data=data, is_dense=True)


def picture(stamp: int, pixels: np.ndarray) -> bytes:
    size = {"height": 48, "width": 64, "step": 192}
    return cdr(KINDS[IMAGE], header=header(stamp, "cam_optical"), **size, encoding="rgb8", is_bigendian=0, data=pixels.ravel())


def calibration(stamp: int) -> bytes:
    k = np.array([CAMERA.fx, 0, CAMERA.cx, 0, CAMERA.fy, CAMERA.cy, 0, 0, 1.0])
    p = np.insert(k, [3, 6, 9], 0.0)
    roi = TYPES.types["sensor_msgs/msg/RegionOfInterest"](x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    fields = {"distortion_model": "plumb_bob", "d": np.zeros(5), "k": k, "r": np.eye(3).ravel(), "p": p}
    size = {"height": 48, "width": 64, "binning_x": 0, "binning_y": 0}
    return cdr(KINDS[INFO], header=header(stamp, "cam_optical"), **size, **fields, roi=roi)


def record(folder: Path, count: int, leave_out: tuple[str, ...] = ()) -> Path:
    """Pictures at 10 Hz; laser at the same rate, odometry and TF at 50 Hz, which are recorded up to 0.1 s after the pictures."""
    static = [transform("base_link", "cam_optical", BASE_FROM_CAMERA, 0), transform("cam_optical", "lidar", CAMERA_FROM_LIDAR, 0)]
    messages = [(TF_STATIC, START_NS - 10**9, cdr(KINDS[TF_STATIC], transforms=static))]
    for index in range(count):
        stamp, x = START_NS + index * PERIOD, place(index) - 0.2
        messages.append((INFO, stamp + 5_000_000, calibration(stamp)))
        messages.append((IMAGE, stamp + 5_000_001, picture(stamp, picture_at(place(index), z=HEIGHT))))
        messages.append((LIDAR, stamp + 60_000_000, cloud(stamp + 10_000_000, index)))
        for step in range(5):
            at, ahead = stamp + step * PERIOD // 5, x + (place(index + 1) - place(index)) * step / 5
            base = np.eye(4)
            base[0, 3] = ahead
            moved = [transform("odom", "base_link", base, at), transform("base_footprint", "odom", np.linalg.inv(base), at)]
            messages.append((ODOM, at + 80_000_000, odometry(at, ahead)))
            messages.append((TF, at + 90_000_000, cdr(KINDS[TF], transforms=moved)))
    messages = sorted((one for one in messages if one[0] not in leave_out), key=lambda one: one[1])
    return write(folder, messages, kinds={topic: kind for topic, kind in KINDS.items() if topic not in leave_out})
