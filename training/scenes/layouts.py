"""Worlds: four indoor and four outdoor layouts; `colonnade` and `market` appear only in the test set."""

import math

import numpy as np

from . import objects
from .solids import Box, Cylinder, Panel
from .world import Light, Sky, World

HELD_OUT_OBJECT_SHARE = 0.1
FAR = 160.0  # metres: half side of an outdoor ground


def _scatter(world, kinds, held_out_kinds, count):
    for _ in range(count):
        kind = world.pick(held_out_kinds) if world.held_out and world.chance(HELD_OUT_OBJECT_SHARE) else world.pick(kinds)
        spot = world.place(objects.RADII[kind])
        if spot is not None:
            kind(world, *spot)


def _lamp(world, x, y, z):
    warm = world.uniform(0.7, 1.0)
    strength = world.uniform(0.4, 1.0)
    world.light = Light((x, y, z), True, (strength, strength * (0.85 + 0.15 * warm), strength * warm), (world.uniform(0.25, 0.5),) * 3)


def _sun(world):
    azimuth, elevation = world.uniform(0, 2 * math.pi), math.radians(world.uniform(15, 75))
    direction = (math.cos(azimuth) * math.cos(elevation), math.sin(azimuth) * math.cos(elevation), math.sin(elevation))
    overcast = world.chance(0.3)
    strength = world.uniform(0.0, 0.15) if overcast else world.uniform(0.5, 1.1)
    world.light = Light(
        direction, False, (strength, strength * 0.95, strength * 0.85), (0.5, 0.53, 0.58) if overcast else (0.28, 0.31, 0.36)
    )
    grey = world.uniform(0.45, 0.9)
    zenith = (grey, grey, grey * 1.03) if overcast else (world.uniform(0.05, 0.25), world.uniform(0.2, 0.45), world.uniform(0.55, 0.95))
    horizon = (grey, grey, grey) if overcast else (world.uniform(0.55, 0.95), world.uniform(0.6, 0.85), world.uniform(0.65, 0.95))
    world.sky = Sky(zenith, horizon, world.uniform(0.0, 0.8), int(world.random.integers(1 << 30)))


def _wall(world, axis, position, low, high, height, material, openings=()):
    """Wall with doorways (start, end, top) along its run; doors and pictures are put on it by `_decorate`."""
    start = low
    for a, b, top in sorted(openings):
        world.add(Panel(axis, position, (start, 0.0), (a, height), material), Panel(axis, position, (a, top), (b, height), material))
        start = b
    world.add(Panel(axis, position, (start, 0.0), (high, height), material))


def _decorate(world, axis, position, low, high, inward, height):
    """Doors, windows and pictures on a wall, as thin panels a centimetre in front of it; `inward` is +1 or -1."""
    at = low + world.uniform(0.2, 1.2)
    while at < high - 1.2:
        kind = world.pick(("door", "window", "picture", "nothing"))
        width = {"door": 0.9, "window": world.uniform(0.8, 1.6), "picture": world.uniform(0.3, 1.0), "nothing": 0.8}[kind]
        if at + width > high - 0.1:
            return
        bottom, top = {"door": (0.0, 2.05), "window": (0.9, 2.1)}.get(kind, (1.2, 1.2 + 0.7 * width))
        if kind == "window":
            bright = world.uniform(0.6, 1.0)
            material = world.material("plain", "tiles", first=(bright, bright, bright), glow=0.8)
        else:
            material = world.material("plain", "planks") if kind == "door" else world.material()
        if kind != "nothing" and top < height:
            depth = 0.02 if kind == "door" else 0.01
            world.add(Panel(axis, position + inward * depth, (at, bottom), (at + width, top), material))
        at += width + world.uniform(0.3, 1.6)


def _floor(world):
    """Dark, as floors are beside their walls."""
    return world.material("tiles", "checker", "planks", "plain", "grain", "paving", colour=world.colour(world.uniform(0.06, 0.25)))


def _plaster(world):
    """Light and pale: most walls of most buildings."""
    return world.material("plain", "plain", "bricks", "tiles", colour=world.colour(world.uniform(0.45, 0.8), world.uniform(0.0, 0.2)))


def _shell(world, x0, y0, x1, y1, height, doorway=False):
    """Floor, ceiling and four walls; with `doorway` the wall at x1 opens into a second space."""
    floor = _floor(world)
    wall = _plaster(world)
    ceiling = world.material("plain", first=world.colour(world.uniform(0.75, 0.95), 0.05))
    world.add(Panel(2, 0.0, (x0, y0), (x1, y1), floor), Panel(2, height, (x0, y0), (x1, y1), ceiling))
    other = wall if world.chance(0.7) else _plaster(world)
    openings = ()
    if doorway:
        start = world.uniform(y0 + 0.2, y1 - 1.4)
        openings = ((start, start + world.uniform(0.9, 1.2), 2.1),)
        depth = world.uniform(2.0, 7.0)
        world.add(Panel(2, 0.0, (x1, y0), (x1 + depth, y1), floor))
        world.add(Panel(2, height, (x1, y0), (x1 + depth, y1), ceiling), Panel(0, x1 + depth, (y0, 0.0), (y1, height), other))
        for y in (y0, y1):
            world.add(Panel(1, y, (x1, 0.0), (x1 + depth, height), other))
        objects.crate(world, x1 + depth * 0.6, (y0 + y1) / 2)
    _wall(world, 0, x0, y0, y1, height, wall)
    _wall(world, 0, x1, y0, y1, height, other, openings)
    _wall(world, 1, y0, x0, x1, height, wall)
    _wall(world, 1, y1, x0, x1, height, other)
    _decorate(world, 0, x0, y0, y1, 1, height)
    _decorate(world, 1, y0, x0, x1, 1, height)
    _decorate(world, 1, y1, x0, x1, -1, height)
    if not doorway:
        _decorate(world, 0, x1, y0, y1, -1, height)
    for _ in range(int(world.random.integers(1, 4))):
        x, y = world.uniform(x0 + 0.6, x1 - 0.6), world.uniform(y0 + 0.6, y1 - 0.6)
        lamp = world.material("plain", first=(1.0, 1.0, 0.95), glow=1.0)
        world.add(Panel(2, height - 0.01, (x - 0.4, y - 0.4), (x + 0.4, y + 0.4), lamp))
    _lamp(world, (x0 + x1) / 2 + world.uniform(-1, 1), (y0 + y1) / 2 + world.uniform(-0.3, 0.3), height - 0.3)


def room(world):
    length, width, height = world.uniform(3.5, 7.0), world.uniform(3.0, 5.0), world.uniform(2.4, 2.8)
    world.region = (0.4, 0.4, length - 0.4, width - 0.4)
    _shell(world, 0.0, 0.0, length, width, height, doorway=world.chance(0.25))
    _scatter(world, objects.INDOOR, objects.HELD_OUT_INDOOR, int(world.random.integers(1, 4)))


def corridor(world):
    length, width, height = world.uniform(6.0, 14.0), world.uniform(1.8, 2.6), world.uniform(2.4, 2.8)
    world.region = (0.4, 0.4, length - 0.4, width - 0.4)
    _shell(world, 0.0, 0.0, length, width, height)
    for _ in range(int(world.random.integers(0, 3))):
        y, radius = world.uniform(0.2, width - 0.2), world.uniform(0.04, 0.12)
        world.add(Cylinder((length / 2, y, height - 0.2), radius, length / 2, world.material("plain"), axis=0))
    kinds = (objects.person, objects.crate, objects.bin_, objects.cabinet, objects.plant)
    _scatter(world, kinds, objects.HELD_OUT_INDOOR, int(world.random.integers(0, 3)))


def warehouse(world):
    length, width, height = world.uniform(12.0, 18.0), world.uniform(7.0, 12.0), world.uniform(4.5, 6.0)
    world.region = (0.6, 0.6, length - 0.6, width - 0.6)
    _shell(world, 0.0, 0.0, length, width, height)
    steel, pitch = world.material("plain"), world.uniform(3.6, 5.0)
    for row in np.arange(2.0, width - 1.5, pitch):
        for start in np.arange(2.0, length - 5.0, world.uniform(3.0, 6.0)):
            _rack(world, float(start), float(row), steel)
    kinds = (objects.person, objects.crate, objects.crate, objects.bin_, objects.cone)
    _scatter(world, kinds, objects.HELD_OUT_INDOOR, int(world.random.integers(1, 4)))


def _rack(world, x, y, steel):
    world.obstacles.extend(((x + 0.7, y, 0.9), (x + 2.0, y, 0.9)))
    for a in (0.0, 2.7):
        for b in (-0.45, 0.45):
            world.add(Box((x + a, y + b, 1.75), (0.04, 0.04, 1.75), 0.0, steel))
    for level in range(3):
        world.add(Box((x + 1.35, y, 0.1 + 1.4 * level), (1.35, 0.5, 0.05), 0.0, steel))
        if world.chance(0.9):
            half = (world.uniform(1.0, 1.3), world.uniform(0.35, 0.48), world.uniform(0.4, 0.6))
            centre = (x + 1.35, y, 0.15 + 1.4 * level + half[2])
            world.add(Box(centre, half, 0.0, world.material("plain", "planks", "grain", first=world.colour(0.35))))


def colonnade(world):
    """Held out: a wide hall with two rows of pillars."""
    length, width, height = world.uniform(10.0, 16.0), world.uniform(6.0, 9.0), world.uniform(3.0, 4.0)
    world.region = (0.6, 0.6, length - 0.6, width - 0.6)
    _shell(world, 0.0, 0.0, length, width, height)
    stone = world.material("plain", "grain", "bricks")
    for x in np.arange(2.0, length - 1.0, world.uniform(2.5, 4.0)):
        for y in (0.3 * width, 0.7 * width):
            world.add(Cylinder((float(x), y, height / 2), 0.3, height / 2, stone))
            world.obstacles.append((float(x), y, 0.3))
    _scatter(world, objects.INDOOR, objects.HELD_OUT_INDOOR, int(world.random.integers(0, 3)))


def _ground(world, material):
    world.add(Panel(2, 0.0, (-FAR, -FAR), (FAR, FAR), material))


def _horizon(world, near, far):
    """Hills, woods or blocks all around, so that every ray below the horizon ends."""
    kind = world.pick(("hills", "woods", "town"))
    count = 26
    for n in range(count):
        angle = 2 * math.pi * (n + world.uniform(-0.2, 0.2)) / count
        away = world.uniform(near, far)
        x, y, size = away * math.cos(angle), away * math.sin(angle), away * 2 * math.pi / count
        if kind == "town":
            half = (size * 0.5, size * 0.55, world.uniform(3.0, 0.14 * away + 3.0))
            world.add(Box((x, y, half[2]), half, angle, world.material("facade", "plain", "bricks"), False))
        else:
            green = (world.uniform(0.05, 0.2), world.uniform(0.12, 0.28), world.uniform(0.03, 0.1))
            height = world.uniform(0.04, 0.2) * away if kind == "hills" else world.uniform(6.0, 14.0)
            objects_material = world.material("leaves", "grass", first=green, noise=0.3)
            world.add(objects.Ellipsoid((x, y, 0.0), (size * 0.8, size * 0.9, height), angle, objects_material, False))


def _open_air(world, reach):
    world.region = (-reach, -reach, reach, reach)
    world.heights = (1.0, 1.25)
    _sun(world)
    _horizon(world, 28.0, 34.0)


def street(world):
    _open_air(world, 14.0)
    _ground(world, world.material("paving", "grass", "grain", "asphalt"))
    half = world.uniform(2.8, 4.5)
    world.add(Box((0.0, 0.0, -0.02), (FAR * 0.5, half, 0.025), 0.0, world.material("asphalt", first=world.colour(0.12, 0.05)), False))
    for x in range(-40, 41, 6):
        world.add(Box((float(x), 0.0, 0.0), (1.5, 0.07, 0.01), 0.0, world.material("plain", first=(0.8, 0.8, 0.8)), False))
    for side in (-1, 1):
        at = -45.0
        while at < 45.0:
            width, depth, height = world.uniform(2.5, 8.0), world.uniform(3.0, 5.0), world.uniform(2.5, 8.0)
            centre = (at + width, side * (half + world.uniform(2.0, 4.5) + depth), height)
            pale = world.colour(world.uniform(0.35, 0.7), world.uniform(0.0, 0.3))
            world.add(Box(centre, (width, depth, height), 0.0, world.material("facade", "bricks", "facade", colour=pale)))
            at += 2 * width + (world.uniform(0.0, 6.0) if world.chance(0.4) else 0.0)
        for _ in range(3):
            x, y = world.uniform(-20, 20), side * (half - 1.0)
            if world.is_free(x, y, 2.5):
                world.obstacles.append((x, y, 2.2))
                objects.car(world, x, y, heading=0.0 if side > 0 else math.pi)
    world.region = (-14.0, -half - 2.0, 14.0, half + 2.0)
    kinds = (objects.person, objects.person, objects.lamp_post, objects.bin_, objects.tree, objects.bush, objects.cone)
    _scatter(world, kinds, objects.HELD_OUT_OUTDOOR, int(world.random.integers(2, 6)))


def park(world):
    _open_air(world, 12.0)
    _ground(world, world.material("grass", first=(world.uniform(0.06, 0.2), world.uniform(0.15, 0.32), 0.06), noise=0.3))
    world.add(
        Box((0.0, world.uniform(-3, 3), -0.02), (60.0, world.uniform(0.8, 2.0), 0.025), 0.0, world.material("grain", "paving"), False)
    )
    kinds = (objects.tree, objects.tree, objects.bush, objects.person, objects.rock, objects.crate)
    _scatter(world, kinds, objects.HELD_OUT_OUTDOOR, int(world.random.integers(3, 8)))


def yard(world):
    _open_air(world, 13.0)
    _ground(world, world.material("asphalt", "paving", "grain", "checker"))
    kinds = (*objects.OUTDOOR, objects.container, objects.crate, objects.hut)
    _scatter(world, kinds, objects.HELD_OUT_OUTDOOR, int(world.random.integers(2, 6)))


def market(world):
    """Held out: a paved square full of stalls."""
    _open_air(world, 11.0)
    _ground(world, world.material("paving", "bricks", "checker"))
    kinds = (objects.stall, objects.stall, objects.person, objects.crate, objects.arch)
    _scatter(world, kinds, (objects.barrel,), int(world.random.integers(3, 7)))


TRAIN_LAYOUTS = (room, room, room, corridor, corridor, warehouse, street, park, yard)
TEST_LAYOUTS = (colonnade, market)
TEST_LAYOUT_SHARE = 0.15


def build(seed, held_out=False):
    """World of `seed`. With `held_out`, things that are kept for the test set may appear."""
    world = World(np.random.default_rng(seed), held_out)
    layouts = TEST_LAYOUTS if held_out and world.chance(TEST_LAYOUT_SHARE) else TRAIN_LAYOUTS
    world.pick(layouts)(world)
    return world
