"""A robot in the room of `box_room`: its camera, its sensors, and the messages that they send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from box_room import CAMERA, look, pose_at, rays_of
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rig import Rig, image_message, info_message, values_of
from room_engine import picture_at
from sensor_msgs.msg import CameraInfo, PointCloud2, PointField

from depth_anything_ros.geometry import quaternion_of

UNIT = 0.37
"""Metres in one unit of the network's depth."""
PERIOD = 100_000_000
HEIGHT = 0.6


class Robot:
    """Sends pictures of the room with their calibration, ten a second by their stamps, and reads what comes of them."""

    def __init__(self, rig: Rig, *extra: str) -> None:
        self.rig = rig
        rig.listen("depth/image_rect", "relative/image", "depth/scale", *extra)
        self.camera, self.infos = rig.camera(), rig.camera("camera_info", CameraInfo)
        self.stamp = 0
        self.before: Callable[[Robot, float], None] = lambda robot, x: None
        """Sends what sensors say at the moment and place of the next picture."""

    def ready(self) -> None:
        self.rig.wait_for_node(self.camera, self.infos)

    def see(self, x: float, yaw: float = 0.0) -> np.ndarray | None:
        """One picture; gives the depth in metres that came of it, or None where only relative depth came."""
        self.stamp += PERIOD
        self.before(self, x)
        metric, relative = self.rig.received["depth/image_rect"], self.rig.received["relative/image"]
        counts = len(metric), len(relative)
        self.infos.publish(info_message((64, 48), self.stamp, CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy))
        self.camera.publish(image_message(picture_at(x, z=HEIGHT, yaw=yaw), self.stamp))
        self.rig.until(lambda: (len(metric), len(relative)) != counts, 10.0)
        return values_of(metric[-1]) if len(metric) != counts[0] else None

    def drive(self, steps: int, *, until_known: bool = False, step: float = 0.06, start: float = -1.5) -> np.ndarray | None:
        """The last depth of a way of so many pictures."""
        depth = None
        for number in range(steps):
            depth = self.see(start + step * number)
            if until_known and depth is not None:
                np.testing.assert_allclose(depth, truth(start + step * number), rtol=0.02)
        return depth

    def scale(self) -> dict[str, str]:
        """The last values on depth/scale."""
        self.rig.until(lambda: bool(self.rig.received["depth/scale"]), 10.0)
        self.rig.spin(0.5)
        return {pair.key: pair.value for pair in self.rig.received["depth/scale"][-1].status[0].values}


def truth(x: float) -> np.ndarray:
    return look(pose_at(x, z=HEIGHT))[0]


def stamped(message: Any, stamp: int, frame: str) -> Any:
    message.header.frame_id = frame
    message.header.stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
    return message


def transform(target: str, source: str, pose: np.ndarray, stamp: int = 0) -> TransformStamped:
    """As /tf has it: `source` seen from `target`."""
    message = stamped(TransformStamped(child_frame_id=source), stamp, target)
    spot, turn = message.transform.translation, message.transform.rotation
    spot.x, spot.y, spot.z = map(float, pose[:3, 3])
    turn.x, turn.y, turn.z, turn.w = quaternion_of(pose[:3, :3])
    return message


def cloud(points: np.ndarray, stamp: int, frame: str) -> PointCloud2:
    message = stamped(PointCloud2(height=1, width=len(points), point_step=12, row_step=12 * len(points)), stamp, frame)
    message.fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate("xyz")]
    message.data.frombytes(points.astype("<f4").tobytes())
    return message


def points_of(x: float) -> np.ndarray:
    """[n, 3] points of the room that a camera at x sees, in its optical frame."""
    return (rays_of(CAMERA) * truth(x)[..., np.newaxis])[4::7, 3::5].reshape(-1, 3)
