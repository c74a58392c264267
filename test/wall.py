"""Two cameras before one tilted wall: depth by intersecting rays with the plane, so every exported point must lie on the wall."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from depth_anything_ros.export.views import View
from depth_anything_ros.types import DepthKind, Intrinsics

WIDTH, HEIGHT = 28, 14
PICTURE = (112, 70)
"""Original size: 4 and 5 times that of the depth map."""


@dataclass(frozen=True)
class Wall:
    """The plane normal . X = distance in the world, and two views of it."""

    normal: np.ndarray
    distance: float
    views: list[View]

    def off(self, xyz: np.ndarray) -> np.ndarray:
        """Distance of points from the wall."""
        return np.abs(np.asarray(xyz, np.float64) @ self.normal - self.distance)


def two_views() -> Wall:
    normal = np.array([0.2, -0.3, 1.0]) / np.linalg.norm([0.2, -0.3, 1.0])
    poses = [pose((0.1, -0.2, 0.05), (0.3, 0.1, -0.2)), pose((-0.15, 0.3, 1.2), (-0.8, 0.4, 0.1))]
    views = [view_of_plane(f"picture_{number}.jpg", one, normal, 4.0, number) for number, one in enumerate(poses)]
    return Wall(normal, 4.0, views)


def pose(rotation_vector: tuple[float, ...], translation: tuple[float, ...]) -> np.ndarray:
    return np.column_stack([cv2.Rodrigues(np.array(rotation_vector))[0], translation])


def view_of_plane(name: str, camera_from_world: np.ndarray, normal: np.ndarray, distance: float, seed: int) -> View:
    """In the camera X_w = R^T (X_c - t), hence (R n) . X_c = distance + (R n) . t."""
    k = Intrinsics(WIDTH, HEIGHT, 30.0, 28.0, 13.0, 7.5)
    seen = camera_from_world[:, :3] @ normal
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
    slope = seen[0] * (u - k.cx) / k.fx + seen[1] * (v - k.cy) / k.fy + seen[2]
    depth = (distance + seen @ camera_from_world[:, 3]) / slope
    random = np.random.default_rng(seed)
    return View(
        name=name,
        picture_size=PICTURE,
        kind=DepthKind.METRIC,
        depth=depth.astype(np.float32),
        confidence=(1.0 + 3.0 * random.random((HEIGHT, WIDTH))).astype(np.float32),
        pixels=random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8),
        intrinsics=k,
        camera_from_world=camera_from_world,
    )


def without_points(view: View) -> View:
    return replace(view, depth=np.full_like(view.depth, np.nan))
