"""Ray casting: world and camera -> picture with exact Z-depth."""

from dataclasses import dataclass

import cv2
import numpy as np

from .cameras import Camera
from .textures import noise, paint


@dataclass(frozen=True)
class Picture:
    """`rgb` linear light, float32 [H, W, 3]; `depth` metres along the optical axis, float32 [H, W], inf is sky; `owner` solid, -1 sky."""

    rgb: np.ndarray
    depth: np.ndarray
    owner: np.ndarray
    camera: Camera

    @property
    def sky(self):
        return self.owner < 0


def rays(camera):
    """Directions [3, H, W] in the world, optical z component 1, through the pixel centres."""
    u = (np.arange(camera.width) + 0.5 - camera.width / 2) / camera.focal
    v = (np.arange(camera.height) + 0.5 - camera.height / 2) / camera.focal
    right, down, forward = camera.pose[:3, 0], camera.pose[:3, 1], camera.pose[:3, 2]
    return (forward[:, None, None] + right[:, None, None] * u[None, None, :] + down[:, None, None] * v[None, :, None]).astype(np.float32)


def _window(solid, camera):
    """Rows and columns the solid can touch, as slices; None if it is behind the camera."""
    centre, radius = solid.bounds
    x, y, z = camera.pose[:3, :3].T @ (np.asarray(centre) - camera.pose[:3, 3])
    if z + radius <= 0:
        return None
    if z - radius <= 0.05:
        return slice(None), slice(None)
    spans = []
    for value, size in ((y, camera.height), (x, camera.width)):
        ends = [camera.focal * (value + side * radius) / (z + depth * radius) + size / 2 for side in (-1, 1) for depth in (-1, 1)]
        low, high = max(int(min(ends)) - 1, 0), min(int(max(ends)) + 2, size)
        if low >= high:
            return None
        spans.append(slice(low, high))
    return tuple(spans)


def cast(world, camera):
    """Nearest hit of every pixel: depth [H, W] (inf for none) and owner [H, W] (-1 for none)."""
    directions = rays(camera)
    origin = camera.pose[:3, 3].astype(np.float32)
    depth = np.full((camera.height, camera.width), np.inf, np.float32)
    owner = np.full((camera.height, camera.width), -1, np.int16)
    for index, solid in enumerate(world.solids):
        window = _window(solid, camera)
        if window is None:
            continue
        t = solid.hit(origin, directions[(slice(None), *window)])
        nearest = depth[window]
        closer = t < nearest
        nearest[closer] = t[closer]
        owner[window][closer] = index
    return depth, owner, directions


def render(world, camera, hits=None):
    """The picture a camera takes of a world. `hits` is what `cast` gave for the same camera, if it was called before."""
    depth, owner, directions = cast(world, camera) if hits is None else hits
    flat_owner, flat_depth = owner.reshape(-1), depth.reshape(-1)
    points = camera.pose[:3, 3].astype(np.float32)[:, None] + directions.reshape(3, -1) * np.where(flat_owner < 0, 0, flat_depth)
    lit = _light_share(world, points, depth.shape, owner)
    colour = np.zeros_like(points)
    order = np.argsort(flat_owner, kind="stable")
    starts = np.searchsorted(flat_owner[order], np.arange(len(world.solids) + 1))
    for index in np.unique(flat_owner):
        pixels = order[: starts[0]] if index < 0 else order[starts[index] : starts[index + 1]]
        if index < 0:
            colour[:, pixels] = _sky(world.sky, directions.reshape(3, -1)[:, pixels])
        else:
            colour[:, pixels] = _shade(world, world.solids[index], points[:, pixels], flat_depth[pixels], lit[pixels], camera)
    if world.sky is not None:
        share = np.where(flat_owner < 0, 0.0, 1.0 - np.exp(-np.minimum(flat_depth, 1e4) / world.haze))
        colour += (np.asarray(world.sky.horizon, np.float32)[:, None] - colour) * share
    return Picture(np.ascontiguousarray(colour.reshape(3, *depth.shape).transpose(1, 2, 0), np.float32), depth, owner, camera)


def _shade(world, solid, points, depth, lit, camera):
    normal, u, v = solid.surface(points)
    toward_light, _ = _to_light(world.light, points)
    view = camera.pose[:3, 3].astype(np.float32)[:, None] - points
    facing = (normal * view).sum(0)
    cosine = (normal * toward_light).sum(0) * np.sign(facing)
    slant = np.abs(facing) / (np.sqrt((view * view).sum(0)) + 1e-6)
    footprint = depth / camera.focal / np.maximum(slant, 0.1)
    albedo = paint(solid.material, u, v, footprint)
    light = np.asarray(world.light.ambient, np.float32)[:, None] * (0.8 + 0.2 * normal[2] * np.sign(facing))
    light = light + np.asarray(world.light.strength, np.float32)[:, None] * np.maximum(cosine, 0.0) * lit
    return albedo * (light * (1.0 - solid.material.glow) + solid.material.glow)


def _to_light(light, points):
    """Unit direction to the light and distance, for points [3, N]."""
    position = np.asarray(light.position, np.float32)[:, None]
    if not light.is_lamp:
        return position, np.float32(1e4)
    offset = position - points
    distance = np.sqrt((offset * offset).sum(0)) + 1e-6
    return offset / distance, distance


def _light_share(world, points, shape, owner):
    """1 in the light, 0 in shadow, [N]; traced at every second pixel and interpolated."""
    height, width = shape
    coarse = points.reshape(3, height, width)[:, ::2, ::2].reshape(3, -1)
    valid = (owner[::2, ::2] >= 0).reshape(-1)
    toward, distance = _to_light(world.light, coarse)
    toward = np.broadcast_to(toward, coarse.shape)
    distance = np.broadcast_to(distance, coarse.shape[1:])
    origin = coarse + 0.02 * toward
    share = np.ones(coarse.shape[1], np.float32)
    for solid in world.solids:
        if not solid.casts_shadow:
            continue
        centre, radius = solid.bounds
        x, y, z = (np.float32(c) - o for c, o in zip(centre, origin))
        along = x * toward[0] + y * toward[1] + z * toward[2]
        near = (x * x + y * y + z * z - along * along < radius * radius) & (along > -radius) & (along < distance + radius) & valid
        index = np.flatnonzero(near)
        if index.size:
            t = solid.hit(origin[:, index], toward[:, index])
            share[index[t < distance[index]]] = 0.0
    coarse_map = share.reshape((height + 1) // 2, (width + 1) // 2)
    return cv2.resize(coarse_map, (width, height), interpolation=cv2.INTER_LINEAR).reshape(-1)


def _sky(sky, directions):
    x, y, z = directions / np.sqrt((directions * directions).sum(0))
    up = np.clip(z, 0.0, 1.0)
    base = np.asarray(sky.horizon, np.float32)[:, None] + (np.subtract(sky.zenith, sky.horizon).astype(np.float32))[:, None] * np.sqrt(up)
    shift = (sky.seed % 977) * 0.37
    u, v = x / (up + 0.15) + shift, y / (up + 0.15) + shift
    pixel = np.full(1, 0.02, np.float32)
    cloud = noise(u, v, 0.012, pixel) * 0.3 + noise(v, u, 0.05, pixel) * 0.9
    cover = np.clip(cloud * 0.7 + 2.0 * sky.clouds - 1.0, 0.0, 1.0)
    return base + (0.9 - base) * cover
