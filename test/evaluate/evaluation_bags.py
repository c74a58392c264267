"""Bags of a wall whose depth is known, with truth as a depth image, and as a laser behind a chain of transforms."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
from bag_tools import START_NS, TYPES
from replay_tools import cdr, write

DEPTH, INFO, TRUTH, LASER, TF, TF_STATIC = "/cam/depth/image_rect", "/cam/depth/camera_info", "/truth", "/laser", "/tf", "/tf_static"
KINDS = {
    DEPTH: "sensor_msgs/msg/Image",
    INFO: "sensor_msgs/msg/CameraInfo",
    TRUTH: "sensor_msgs/msg/Image",
    LASER: "sensor_msgs/msg/PointCloud2",
    TF: "tf2_msgs/msg/TFMessage",
    TF_STATIC: "tf2_msgs/msg/TFMessage",
}
WIDTH, HEIGHT, FOCAL = 64, 48, 50.0
STEP = 100_000_000


def header(stamp: int, frame: str) -> object:
    seconds, nanoseconds = divmod(stamp, 10**9)
    time = TYPES.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    return TYPES.types["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def depth_message(stamp: int, depth: np.ndarray, encoding: str = "32FC1", padding: int = 0, frame: str = "cam_optical") -> bytes:
    values = depth.astype(np.float32) if encoding == "32FC1" else np.rint(depth * 1000.0).astype(np.uint16)
    rows = values.view(np.uint8).reshape(len(values), -1)
    rows = np.hstack([rows, np.full((len(rows), padding), 0xAA, np.uint8)])
    height, width = depth.shape
    fields = {"height": height, "width": width, "encoding": encoding, "is_bigendian": 0, "step": rows.shape[1], "data": rows.ravel()}
    return cdr(KINDS[DEPTH], header=header(stamp, frame), **fields)


def info_message(stamp: int, d: tuple[float, ...] = (0.0,) * 5) -> bytes:
    roi = TYPES.types["sensor_msgs/msg/RegionOfInterest"](x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    k = np.array([FOCAL, 0, 31.5, 0, FOCAL, 23.5, 0, 0, 1.0])
    fields = {"distortion_model": "plumb_bob", "d": np.array(d), "k": k, "r": np.eye(3).ravel(), "p": np.zeros(12)}
    size = {"height": HEIGHT, "width": WIDTH}
    return cdr(KINDS[INFO], header=header(stamp, "cam_optical"), **size, **fields, binning_x=0, binning_y=0, roi=roi)


def cloud_message(stamp: int, points: np.ndarray, frame: str = "laser") -> bytes:
    """x, y, z float32 at 4, 8, 12 of 20 bytes, as some drivers pack them."""
    data = np.zeros((len(points), 20), np.uint8)
    data[:, 4:16] = points.astype(np.float32).view(np.uint8).reshape(len(points), 12)
    make = TYPES.types["sensor_msgs/msg/PointField"]
    layout = [make(name=name, offset=offset, datatype=7, count=1) for name, offset in (("x", 4), ("y", 8), ("z", 12))]
    sizes = {"height": 1, "width": len(points), "point_step": 20, "row_step": 20 * len(points)}
    flags = {"is_bigendian": False, "is_dense": False}
    return cdr(KINDS[LASER], header=header(stamp, frame), fields=layout, data=data.ravel(), **sizes, **flags)


def tf_message(stamp: int, parent: str, child: str, pose: np.ndarray) -> bytes:
    """pose: [4, 4], child to parent; the quaternion by OpenCV's rotation vector."""
    vector = cv2.Rodrigues(pose[:3, :3])[0].ravel()
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle else vector
    x, y, z = (axis * math.sin(angle / 2)).tolist()
    make = TYPES.types
    transform = make["geometry_msgs/msg/Transform"](
        translation=make["geometry_msgs/msg/Vector3"](*pose[:3, 3].tolist()),
        rotation=make["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=math.cos(angle / 2)),
    )
    one = make["geometry_msgs/msg/TransformStamped"](header=header(stamp, parent), child_frame_id=child, transform=transform)
    return cdr(KINDS[TF], transforms=[one])


def wall(index: int = 0) -> np.ndarray:
    """A tilted plane, 3 to 9 m away, farther with every frame."""
    u, _ = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    return 3.0 + 0.1 * index + 6.0 * u / WIDTH


def pose(vector: tuple[float, float, float], translation: tuple[float, float, float]) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = cv2.Rodrigues(np.array(vector))[0], translation
    return matrix


def image_bag(folder: Path, factor: float = 1.05, encoding: str = "32FC1", shift: int = 0, count: int = 6) -> Path:
    messages = []
    for index in range(count):
        stamp = START_NS + index * STEP
        messages += [(DEPTH, stamp, depth_message(stamp, factor * wall(index))), (INFO, stamp, info_message(stamp))]
        messages.append((TRUTH, stamp + shift, depth_message(stamp + shift, wall(index), encoding, padding=8)))
    return write(folder, messages, kinds={name: KINDS[name] for name in (DEPTH, INFO, TRUTH)})


def laser_bag(folder: Path, with_tf: bool = True, d: tuple[float, ...] = (0.0,) * 5) -> Path:
    """The laser hangs on a moving arm: laser -> arm (static) -> base (moving, between two stamps) <- cam_optical (static)."""
    base_from_camera = pose((-1.2, 1.2, -1.2), (0.3, 0.1, 0.5))
    arm_from_laser = pose((0.1, -0.3, 0.2), (0.0, 0.2, 0.1))
    messages = [
        (TF_STATIC, START_NS - 5, tf_message(START_NS - 5, "base", "cam_optical", base_from_camera)),
        (TF_STATIC, START_NS - 4, tf_message(START_NS - 4, "arm", "laser", arm_from_laser)),
    ]
    for index in range(6):
        stamp = START_NS + index * STEP
        base_from_arm = pose((0.0, 0.0, 0.2 * index), (0.0, 0.1 * index, 0.0))
        if with_tf:
            for side in (-20_000_000, 20_000_000):
                turn = pose((0.0, 0.0, 0.2 * (index + side / STEP)), (0.0, 0.1 * (index + side / STEP), 0.0))
                messages.append((TF, stamp + side, tf_message(stamp + side, "base", "arm", turn)))
        v, u = np.mgrid[2:HEIGHT:3, 2:WIDTH:3].reshape(2, -1)
        z = wall(index)[v, u]
        seen = np.stack([(u - 31.5) / FOCAL * z, (v - 23.5) / FOCAL * z, z, np.ones(len(z))])
        points = (np.linalg.inv(base_from_arm @ arm_from_laser) @ base_from_camera @ seen)[:3].T
        points = np.vstack([points, [[np.nan, 0, 0], [0.0, 0.0, -5.0]]])
        messages += [(DEPTH, stamp, depth_message(stamp, 1.05 * wall(index))), (INFO, stamp, info_message(stamp, d))]
        messages.append((LASER, stamp, cloud_message(stamp, points)))
    messages.sort(key=lambda message: message[1])
    return write(folder, messages, kinds={name: KINDS[name] for name in (DEPTH, INFO, LASER, TF, TF_STATIC)})
