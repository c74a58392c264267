"""A room of known geometry: floor, walls and boxes, seen by a pinhole camera. Depth by ray casting, for tests of scale and motion.

World: x forward, y left, z up, metres; the floor is z = 0.
"""

from __future__ import annotations

import math

import numpy as np

from depth_anything_ros.types import Intrinsics

CAMERA = Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5)
ROOM = (np.array([-2.0, -2.5, 0.0]), np.array([9.0, 2.5, 2.8]))
"""Its corners; the camera is inside."""
BOXES = [
    (np.array([3.0, 0.6, 0.0]), np.array([3.8, 1.4, 1.0])),
    (np.array([4.5, -1.8, 0.0]), np.array([5.2, -1.0, 1.9])),
    (np.array([2.4, -1.2, 0.0]), np.array([2.8, -0.8, 0.5])),
]
_LEVEL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Axes of an optical frame that looks along x: columns right, down, forward."""


def pose_at(x: float, y: float = 0.0, z: float = 0.6, yaw: float = 0.0, pitch: float = 0.0) -> np.ndarray:
    """[4, 4] camera (optical) to world. yaw: to the left, pitch: down, radians."""
    cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    turn = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn @ _LEVEL, (x, y, z)
    return pose


def rays_of(camera: Intrinsics) -> np.ndarray:
    """[H, W, 3] with z = 1, optical frame."""
    v, u = np.mgrid[0 : camera.height, 0 : camera.width]
    return np.stack([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones(u.shape)], axis=-1)


def look(pose: np.ndarray, camera: Intrinsics = CAMERA) -> tuple[np.ndarray, np.ndarray]:
    """Depth float32 [H, W] along z in metres, and a picture uint8 [H, W, 3] that is painted on the surfaces."""
    directions = rays_of(camera) @ pose[:3, :3].T
    origin = pose[:3, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        _, depth = _slabs(origin, directions, *ROOM)
        for low, high in BOXES:
            enter, leave = _slabs(origin, directions, low, high)
            depth = np.where((enter < leave) & (enter > 0.0) & (enter < depth), enter, depth)
    points = origin + directions * depth[..., np.newaxis]
    paint = 128.0 + 60.0 * np.sin(points * 7.0) + 40.0 * np.sin(points[..., ::-1] * 2.3)
    return depth.astype(np.float32), paint.clip(0, 250).astype(np.uint8)


def _slabs(origin: np.ndarray, directions: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ray parameters where lines enter and leave an axis-aligned box."""
    first, second = (low - origin) / directions, (high - origin) / directions
    return np.minimum(first, second).max(axis=-1), np.maximum(first, second).min(axis=-1)
