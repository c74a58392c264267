"""Another pattern on one flat surface of a picture, so that a net learns what it may not rely on: textures that it has never seen.

The surface is found in the depth map. Gratings and blotches are drawn in its plane, in perspective, with periods from a hand to a step. The
patterns that are kept for the test set are not among them.
"""

import cv2
import numpy as np

PERIODS = (0.08, 0.8)  # metres
NOISE = np.random.default_rng(11).standard_normal((64, 64)).astype(np.float32)


def retexture(rgb, depth, focal, random):
    """`rgb` float32 [H, W, 3] in [0, 1], `depth` [H, W] metres with inf for sky, `focal` pixels -> rgb with one surface painted anew.

    The picture comes back as it is where the drawn pixel is sky, an edge, or lies on a surface of less than 2 % of the picture.
    """
    points = _points(depth, focal)
    normals = _normals(points)
    y, x = (int(random.integers(2, size - 2)) for size in depth.shape)
    here, facing = points[y, x], normals[y, x]
    if not np.isfinite(facing).all():
        return rgb
    away = np.abs((points - here) @ facing)
    surface = (normals @ facing > 0.9) & (away < 0.02 * (depth[y, x] + depth))
    if surface.mean() < 0.02:
        return rgb
    pattern = _pattern(points - here, facing, random)
    first = random.uniform(0.6, 1.4) * random.uniform(0.8, 1.2, 3).astype(np.float32)
    second = first * (random.uniform(0.25, 0.8) if random.random() < 0.7 else random.uniform(1.2, 1.8))
    under = rgb if random.random() < 0.5 else np.repeat(cv2.blur(rgb, (15, 15)).mean(-1, keepdims=True), 3, -1)
    painted = np.clip(under * (first + (second - first) * pattern[..., None]), 0, 1)
    return np.where(surface[..., None], painted, rgb).astype(np.float32)


def _points(depth, focal):
    height, width = depth.shape
    z = np.where(np.isfinite(depth), depth, np.nan).astype(np.float32)
    u, v = np.arange(width, dtype=np.float32) - (width - 1) / 2, np.arange(height, dtype=np.float32) - (height - 1) / 2
    return np.stack([z * u / focal, z * v[:, None] / focal, z], -1)


def _normals(points):
    """Unit vectors [H, W, 3], NaN beside the sky."""
    across, down = points[2:-2, 4:] - points[2:-2, :-4], points[4:, 2:-2] - points[:-4, 2:-2]
    normal = np.cross(across, down)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-12
    return cv2.copyMakeBorder(normal, 2, 2, 2, 2, cv2.BORDER_REPLICATE)


def _pattern(offsets, facing, random):
    """Values in [0, 1] on the plane; what is finer than a pixel fades to a half."""
    side = np.cross(facing, (0.0, 1.0, 0.0) if abs(facing[1]) < 0.8 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    turn = random.uniform(0, np.pi)
    first = np.cos(turn) * side + np.sin(turn) * np.cross(facing, side)
    period = float(np.exp(random.uniform(*np.log(PERIODS))))
    u, v = offsets @ first / period, offsets @ np.cross(facing, first) / period
    footprint = np.maximum(np.hypot(*np.gradient(u)), np.hypot(*np.gradient(v)))
    if random.random() < 0.5:
        wave = np.sin(2 * np.pi * u)
        value = 0.5 + 0.5 * (wave if random.random() < 0.5 else np.clip(4 * wave, -1, 1))
    else:
        u, v = np.nan_to_num(u), np.nan_to_num(v)
        blot = cv2.remap(NOISE, (4 * u % 63).astype(np.float32), (4 * v % 63).astype(np.float32), cv2.INTER_LINEAR)
        value = np.clip(0.5 + blot, 0, 1)
    sharp = np.clip(1.5 - 2 * footprint, 0, 1)
    return np.where(np.isfinite(sharp), 0.5 + (value - 0.5) * sharp, 0.5)  # beside the sky the footprint is not known
