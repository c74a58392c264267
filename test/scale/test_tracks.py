"""Points from two pictures of a plane with a random texture; OpenCV's homography is the second opinion on where things move."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from looking import prediction_of

from depth_anything_ros.scale.estimate import Estimate, Refusal
from depth_anything_ros.scale.odometry import Keyframe, follow, measure
from depth_anything_ros.scale.tracks import triangulate
from depth_anything_ros.types import Frame, Intrinsics

CAMERA = Intrinsics(320, 240, 210.0, 210.0, 159.5, 119.5)
K = np.array([[210.0, 0.0, 159.5], [0.0, 210.0, 119.5], [0.0, 0.0, 1.0]])
NORMAL = np.array([0.1, -0.35, 1.0]) / np.linalg.norm([0.1, -0.35, 1.0])
DISTANCE = 3.0
"""The plane NORMAL . X = DISTANCE of the first camera, metres."""


def texture() -> np.ndarray:
    noise = np.random.default_rng(1).integers(0, 256, (240, 320, 3)).astype(np.float32)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2.0), None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


def moved(x: float = 0.0, z: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    """[4, 4], points of the first camera to one that went x to the right and z ahead, and turned to the right."""
    pose = np.eye(4)
    pose[:3, :3] = cv2.Rodrigues(np.array([0.0, yaw, 0.0]))[0]
    pose[:3, 3] = (x, 0.0, z)
    return np.linalg.inv(pose)


def seen_from(there_from_here: np.ndarray) -> np.ndarray:
    """The textured plane as the other camera sees it."""
    rotation, way = there_from_here[:3, :3], there_from_here[:3, 3]
    homography = K @ (rotation + np.outer(way, NORMAL) / DISTANCE) @ np.linalg.inv(K)
    return cv2.warpPerspective(texture(), homography, (320, 240), borderValue=(127, 127, 127))


def depth_of_the_plane() -> np.ndarray:
    v, u = np.mgrid[0:240, 0:320]
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones(u.shape)], axis=-1)
    return DISTANCE / (rays @ NORMAL)


@pytest.mark.parametrize("way", [moved(x=0.25), moved(x=-0.15, z=0.3, yaw=0.05)], ids=["sideways", "ahead"])
def test_points_lie_on_the_plane(way: np.ndarray) -> None:
    points = triangulate(texture(), seen_from(way), way, CAMERA, bgr=False)
    assert len(points) > 150
    off = np.abs(points @ NORMAL / DISTANCE - 1.0)
    assert np.median(off) < 0.01 and np.quantile(off, 0.9) < 0.03


@pytest.mark.parametrize("way", [moved(), moved(yaw=0.1)], ids=["nothing", "turn"])
def test_no_way_gives_no_points(way: np.ndarray) -> None:
    assert len(triangulate(texture(), seen_from(way), way, CAMERA, bgr=False)) == 0


def test_a_picture_without_features_gives_no_points() -> None:
    plain = np.full((240, 320, 3), 90, np.uint8)
    assert triangulate(plain, plain, moved(x=0.3), CAMERA, bgr=True).shape == (0, 3)


def keyframes(told: list[float], gone: tuple[float, ...] = (0.2, 0.4, 0.6)) -> list[Keyframe]:
    """The last one is at the origin; the others lie `gone` metres to the left, where odometry has them at `told`."""
    made = []
    for number, (true, said) in enumerate(zip((*gone, 0.0), (*told, 0.0))):
        picture = seen_from(moved(x=-true)) if true else texture()
        pose = np.eye(4)
        pose[0, 3] = -said
        made.append(Keyframe(Frame(picture, False, CAMERA, number, ""), (depth_of_the_plane() / 0.37).astype(np.float32), CAMERA, pose))
    return made


def test_followed_points_give_the_scale() -> None:
    found = follow(keyframes([0.2, 0.4, 0.6]))
    assert isinstance(found, Estimate) and found.scale.factor == pytest.approx(0.37, rel=0.02)


def test_odometry_that_slips_is_noticed() -> None:
    found = follow(keyframes([0.2, 0.75, 1.1]))
    assert isinstance(found, Refusal) and ("agree" in found.reason or "fit" in found.reason)


def test_a_depth_of_another_shape_is_noticed() -> None:
    wrong = keyframes([0.2, 0.4, 0.6])
    noise = np.exp(np.random.default_rng(2).normal(0.0, 0.6, (240, 320)))
    wrong[-1] = replace(wrong[-1], depth=cv2.GaussianBlur(noise, (0, 0), 8.0).astype(np.float32) ** 8)
    found = follow(wrong)
    assert isinstance(found, Refusal) and "fit" in found.reason


def views(factor: float, spots: tuple[float, ...] = (0.2, 0.4, 0.6, 0.0)) -> list:
    """What a network tells of them: positions and depth in a unit of `factor` metres."""
    made = []
    for spot in spots:
        pose = np.eye(4)
        pose[0, 3] = -spot / factor
        made.append(prediction_of(depth_of_the_plane() / factor, pose=pose))
    return made


def test_positions_count_first_points_when_they_do_not_fit_and_nothing_when_both_contradict() -> None:
    known = keyframes([0.2, 0.4, 0.6])
    exact = measure(known, views(5.3))
    assert isinstance(exact, Estimate) and exact.scale.factor == pytest.approx(0.37, rel=1e-4)
    by_points = measure(known, views(5.3, (0.6, 0.1, 0.5, 0.0)))
    assert isinstance(by_points, Estimate) and by_points.scale.factor == pytest.approx(0.37, rel=0.02)
    # Positions twice as far apart as the depth beside them says: they fit the odometry among themselves.
    twice = measure(known, [replace(one, depth=one.depth * 2.0) for one in views(5.3)])
    assert isinstance(twice, Refusal) and "agree" in twice.reason


def test_without_features_the_positions_stand_alone() -> None:
    plain = np.full((240, 320, 3), 90, np.uint8)
    known = [replace(one, frame=replace(one.frame, pixels=plain)) for one in keyframes([0.2, 0.4, 0.6])]
    assert isinstance(measure(known, views(5.3)), Estimate)
    refused = measure(known, views(5.3, (0.6, 0.1, 0.5, 0.0)))
    assert isinstance(refused, Refusal) and "followed" in refused.reason and "positions" in refused.reason
