"""The shapes of a scene: analytic ray intersection, surface normal and texture coordinates.

A ray is `origin + t * direction`; both are triples of scalars or of arrays that broadcast. With directions whose optical z component is 1,
`t` is the Z-depth. `hit` gives `t` of the nearest intersection in front, `inf` where there is none.
"""

import math
from dataclasses import dataclass

import numpy as np

NEAR = 1e-3  # metres along the ray; nearer intersections are the surface a ray starts from
TINY = np.float32(1e-9)


def _valid(t, condition):
    return np.where(condition & (t > NEAR), t, np.float32(np.inf))


def _turned(solid, origin, direction):
    """Ray in the frame of a solid that is turned by its yaw about the vertical through its centre."""
    c, s = math.cos(solid.yaw), math.sin(solid.yaw)
    x, y, z = (origin[i] - solid.centre[i] for i in range(3))
    dx, dy, dz = direction
    return (c * x + s * y, c * y - s * x, z), (c * dx + s * dy, c * dy - s * dx, dz)


def _unturned(solid, normal):
    c, s = math.cos(solid.yaw), math.sin(solid.yaw)
    return np.stack([c * normal[0] - s * normal[1], s * normal[0] + c * normal[1], normal[2]])


def _local(solid, points):
    return _turned(solid, points, (0.0, 0.0, 0.0))[0]


@dataclass(frozen=True)
class Panel:
    """Axis-aligned rectangle: `axis` is the constant coordinate, `low` and `high` bound the other two, in order. Seen from both sides."""

    axis: int
    position: float
    low: tuple
    high: tuple
    material: object
    casts_shadow: bool = False

    @property
    def bounds(self):
        """Centre and radius of a sphere around the shape."""
        middle = [(a + b) / 2 for a, b in zip(self.low, self.high)]
        middle.insert(self.axis, self.position)
        return tuple(middle), math.dist(self.low, self.high) / 2

    def hit(self, origin, direction):
        i, j = (k for k in range(3) if k != self.axis)
        t = (self.position - origin[self.axis]) / (direction[self.axis] + TINY)
        a, b = origin[i] + t * direction[i], origin[j] + t * direction[j]
        inside = (a >= self.low[0]) & (a <= self.high[0]) & (b >= self.low[1]) & (b <= self.high[1])
        return _valid(t, inside)

    def surface(self, points):
        normal = np.zeros_like(points)
        normal[self.axis] = 1.0
        i, j = (k for k in range(3) if k != self.axis)
        return normal, points[i] - self.low[0], points[j] - self.low[1]


@dataclass(frozen=True)
class Box:
    """Box with half sizes, turned by `yaw` (rad)."""

    centre: tuple
    half: tuple
    yaw: float
    material: object
    casts_shadow: bool = True

    @property
    def bounds(self):
        return self.centre, math.hypot(*self.half)

    def hit(self, origin, direction):
        origin, direction = _turned(self, origin, direction)
        enter, leave = np.float32(-np.inf), np.float32(np.inf)
        for o, d, h in zip(origin, direction, self.half):
            inverse = 1.0 / (d + TINY)
            middle, reach = -o * inverse, np.abs(h * inverse)
            enter, leave = np.maximum(enter, middle - reach), np.minimum(leave, middle + reach)
        return _valid(enter, enter <= leave)

    def surface(self, points):
        local = np.stack(_local(self, points))
        face = np.abs(np.abs(local) - np.asarray(self.half, np.float32)[:, None]).argmin(0)
        pick = np.arange(3)[:, None] == face
        normal = _unturned(self, np.where(pick, np.sign(local), 0.0).astype(np.float32))
        u = np.where(face == 0, local[1], local[0])
        v = np.where(face == 2, local[1], local[2])
        return normal, u + self.half[0], v + self.half[2]


@dataclass(frozen=True)
class Cylinder:
    """Capped cylinder; `axis` 2 is upright, 0 and 1 lie along x and y. `half` is half the length."""

    centre: tuple
    radius: float
    half: float
    material: object
    axis: int = 2
    casts_shadow: bool = True

    @property
    def bounds(self):
        return self.centre, math.hypot(self.radius, self.half)

    def hit(self, origin, direction):
        k = self.axis
        i, j = (n for n in range(3) if n != k)
        o = [origin[n] - self.centre[n] for n in range(3)]
        a = direction[i] ** 2 + direction[j] ** 2 + TINY
        b = o[i] * direction[i] + o[j] * direction[j]
        c = o[i] ** 2 + o[j] ** 2 - self.radius**2
        root = b * b - a * c
        side = np.sqrt(np.maximum(root, 0.0))
        inverse = 1.0 / (direction[k] + TINY)
        middle, reach = -o[k] * inverse, np.abs(self.half * inverse)
        enter = np.maximum((-b - side) / a, middle - reach)
        leave = np.minimum((-b + side) / a, middle + reach)
        return _valid(enter, (root > 0) & (enter <= leave))

    def surface(self, points):
        k = self.axis
        i, j = (n for n in range(3) if n != k)
        local = np.stack([points[n] - self.centre[n] for n in range(3)])
        cap = np.abs(local[k]) > self.half - np.minimum(1e-3, self.half * 0.02)
        normal = np.zeros_like(points)
        normal[i] = np.where(cap, 0.0, local[i] / self.radius)
        normal[j] = np.where(cap, 0.0, local[j] / self.radius)
        normal[k] = np.where(cap, np.sign(local[k]), 0.0)
        around = np.arctan2(local[j], local[i]) * self.radius
        return normal, np.where(cap, local[i], around), np.where(cap, local[j], local[k] + self.half)


@dataclass(frozen=True)
class Cone:
    """Upright cone with its tip `height` above `base` (the centre of the bottom, which is open)."""

    base: tuple
    radius: float
    height: float
    material: object
    casts_shadow: bool = True

    @property
    def bounds(self):
        x, y, z = self.base
        return (x, y, z + self.height / 2), math.hypot(self.radius, self.height / 2)

    def hit(self, origin, direction):
        slope = (self.radius / self.height) ** 2
        x, y = origin[0] - self.base[0], origin[1] - self.base[1]
        z = origin[2] - self.base[2] - self.height
        dx, dy, dz = direction
        a = dx * dx + dy * dy - slope * dz * dz
        a = np.where(np.abs(a) < TINY, TINY, a)
        b = x * dx + y * dy - slope * z * dz
        root = b * b - a * (x * x + y * y - slope * z * z)
        side = np.sqrt(np.maximum(root, 0.0))
        best = np.float32(np.inf)
        for t in ((-b - side) / a, (-b + side) / a):
            level = z + t * dz
            best = np.minimum(best, _valid(t, (root > 0) & (level <= 0) & (level >= -self.height)))
        return best

    def surface(self, points):
        x, y = points[0] - self.base[0], points[1] - self.base[1]
        away = np.sqrt(x * x + y * y) + 1e-6
        flat = self.height / math.hypot(self.height, self.radius)
        up = np.full_like(x, self.radius / math.hypot(self.height, self.radius))
        normal = np.stack([x / away * flat, y / away * flat, up])
        return normal, np.arctan2(y, x) * self.radius, points[2] - self.base[2]


@dataclass(frozen=True)
class Ellipsoid:
    """Ellipsoid with half sizes, turned by `yaw` (rad)."""

    centre: tuple
    half: tuple
    yaw: float
    material: object
    casts_shadow: bool = True

    @property
    def bounds(self):
        return self.centre, max(self.half)

    def hit(self, origin, direction):
        origin, direction = _turned(self, origin, direction)
        o = [value / h for value, h in zip(origin, self.half)]
        d = [value / h for value, h in zip(direction, self.half)]
        a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2]
        root = b * b - a * (o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - 1.0)
        return _valid((-b - np.sqrt(np.maximum(root, 0.0))) / a, root > 0)

    def surface(self, points):
        local = np.stack(_local(self, points))
        half = np.asarray(self.half, np.float32)[:, None]
        normal = local / half**2
        normal = _unturned(self, normal / (np.sqrt((normal**2).sum(0)) + 1e-9))
        return normal, np.arctan2(local[1], local[0]) * self.half[0], local[2]


@dataclass(frozen=True)
class Prism:
    """Convex body: the points with `normals @ p <= offsets` in a frame at `centre`, turned by `yaw`; `radius` bounds it."""

    centre: tuple
    normals: tuple
    offsets: tuple
    radius: float
    yaw: float
    material: object
    casts_shadow: bool = True

    @property
    def bounds(self):
        return self.centre, self.radius

    def hit(self, origin, direction):
        origin, direction = _turned(self, origin, direction)
        enter, leave = np.float32(-np.inf), np.float32(np.inf)
        for n, offset in zip(self.normals, self.offsets):
            along = n[0] * direction[0] + n[1] * direction[1] + n[2] * direction[2] + TINY
            t = (offset - n[0] * origin[0] - n[1] * origin[1] - n[2] * origin[2]) / along
            enter = np.where(along < 0, np.maximum(enter, t), enter)
            leave = np.where(along < 0, leave, np.minimum(leave, t))
        return _valid(enter, enter <= leave)

    def surface(self, points):
        local = np.stack(_local(self, points))
        normals = np.asarray(self.normals, np.float32)
        face = np.abs(normals @ local - np.asarray(self.offsets, np.float32)[:, None]).argmin(0)
        normal = _unturned(self, normals[face].T)
        return normal, local[0] + self.radius, np.hypot(local[1], local[2])


def gable(centre, half, yaw, material):
    """Roof over a rectangle: ridge along local x, `half` = half length, half width, height."""
    length, width, height = half
    slope = math.hypot(width, height)
    up, out = width / slope, height / slope
    normals = ((0.0, out, up), (0.0, -out, up), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    offsets = (up * height, up * height, 0.0, length, length)
    return Prism(centre, normals, offsets, math.hypot(length, width, height), yaw, material)


def ramp(centre, half, yaw, material):
    """Wedge that rises along local x from 0 to twice half[2] over twice half[0]."""
    length, width, height = half
    slope = math.hypot(length, height)
    normals = ((-height / slope, 0.0, length / slope), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
    offsets = (length * height / slope, length, width, width, 0.0)
    return Prism(centre, normals, offsets, math.hypot(length, width, 2 * height), yaw, material)
