"""Cameras: intrinsics, poses that stand in free space, and short moves for a set of views."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Camera:
    """Pinhole camera with square pixels and its axis in the middle. `pose` is camera to world, 4x4; `focal` is in pixels."""

    width: int
    height: int
    focal: float
    pose: np.ndarray

    @property
    def intrinsics(self):
        """K, [3, 3]; the centre of the top left pixel is (0, 0)."""
        return np.array([[self.focal, 0, (self.width - 1) / 2], [0, self.focal, (self.height - 1) / 2], [0, 0, 1]], np.float64)


def pose_from(position, yaw, pitch, roll):
    """Camera to world of an optical frame; yaw about z up, positive pitch looks up, roll about the viewing axis (rad)."""
    cy, sy, cp, sp, cr, sr = (f(a) for a in (yaw, pitch, roll) for f in (math.cos, math.sin))
    forward = np.array([cy * cp, sy * cp, sp])
    right = np.array([sy, -cy, 0.0])
    down = np.cross(forward, right)
    pose = np.eye(4)
    pose[:3, 0] = cr * right + sr * down
    pose[:3, 1] = cr * down - sr * right
    pose[:3, 2] = forward
    pose[:3, 3] = position
    return pose


def focal_from(width, field_of_view):
    return width / 2 / math.tan(field_of_view / 2)


def sample(world, width, height, fields=(50.0, 100.0)):
    """A camera in free space: horizontal field of view uniform in `fields` (degrees), height log-uniform in the world's range."""
    x0, y0, x1, y1 = world.region
    for _ in range(30):
        x, y = world.uniform(x0, x1), world.uniform(y0, y1)
        if world.is_free(x, y, 0.6):
            break
    z = math.exp(world.uniform(*(math.log(h) for h in world.heights)))
    if world.chance(0.7):  # along the walls, where there is most room
        ways = {0.0: x1 - x, math.pi / 2: y1 - y, math.pi: x - x0, -math.pi / 2: y - y0}
        yaw = max(ways, key=ways.get) + math.radians(world.random.normal(0, 12))
    else:  # towards some other place
        tx, ty = world.uniform(x0, x1), world.uniform(y0, y1)
        yaw = math.atan2(ty - y, tx - x)
    pitch = math.radians(float(np.clip(world.random.normal(-8, 3), -18, 2)))
    roll = math.radians(float(np.clip(world.random.normal(0, 1.5), -5, 5)))
    focal = focal_from(width, math.radians(world.uniform(*fields)))
    return Camera(width, height, focal, pose_from((x, y, z), yaw, pitch, roll))


def moved(world, camera, distance):
    """The same camera after a move of up to `distance` metres and a turn of up to 20 degrees."""
    step = world.random.uniform(-1, 1, 3) * distance * (1.0, 0.1, 1.0)
    turn = pose_from(
        (0, 0, 0), math.radians(world.uniform(-20, 20)), math.radians(world.uniform(-6, 6)), math.radians(world.uniform(-4, 4))
    )
    pose = camera.pose.copy()
    straight = pose_from((0, 0, 0), 0.0, 0.0, 0.0)
    pose[:3, 3] += pose[:3, :3] @ step
    pose[:3, :3] = pose[:3, :3] @ straight[:3, :3].T @ turn[:3, :3]
    pose[2, 3] = float(np.clip(pose[2, 3], 0.25, 2.6))
    return Camera(camera.width, camera.height, camera.focal, pose)
