"""Things that stand in a world. Each function adds one at (x, y) on height z and has a true-to-life size; `RADII` is the room it needs."""

import math

from .solids import Box, Cone, Cylinder, Ellipsoid, gable, ramp


def _offset(x, y, heading, forward, left):
    c, s = math.cos(heading), math.sin(heading)
    return x + c * forward - s * left, y + s * forward + c * left


def _legs(world, x, y, z, heading, length, width, height, material, thick=0.03):
    for a in (-1, 1):
        for b in (-1, 1):
            px, py = _offset(x, y, heading, a * (length - thick), b * (width - thick))
            world.add(Box((px, py, z + height / 2), (thick, thick, height / 2), heading, material))


def person(world, x, y, z=0.0):
    size = world.uniform(0.92, 1.08)
    heading = world.uniform(0, 2 * math.pi)
    skin = (0.5 * size, 0.3, 0.2) if world.chance(0.6) else (0.18, 0.1, 0.06)
    trousers, shirt = world.material("plain"), world.material("plain", "stripes", "checker")
    hair = world.material("plain", first=(0.05, 0.03, 0.02))
    for side in (-0.1, 0.1):
        px, py = _offset(x, y, heading, 0.0, side * size)
        world.add(Cylinder((px, py, z + 0.42 * size), 0.085 * size, 0.42 * size, trousers))
        px, py = _offset(x, y, heading, 0.02, 2.6 * side * size)
        world.add(Ellipsoid((px, py, z + 1.12 * size), (0.06 * size, 0.06 * size, 0.36 * size), heading, shirt))
    world.add(Ellipsoid((x, y, z + 1.13 * size), (0.14 * size, 0.21 * size, 0.36 * size), heading, shirt))
    px, py = _offset(x, y, heading, 0.02, 0.0)
    world.add(Ellipsoid((px, py, z + 1.6 * size), (0.1 * size, 0.085 * size, 0.13 * size), heading, world.material("plain", first=skin)))
    world.add(Ellipsoid((x, y, z + 1.65 * size), (0.1 * size, 0.095 * size, 0.11 * size), heading, hair))


def crate(world, x, y, z=0.0):
    material = world.material("plain", "planks", "grain", "stripes")
    half = (world.uniform(0.12, 0.5), world.uniform(0.12, 0.5), world.uniform(0.1, 0.45))
    heading = world.uniform(0, math.pi)
    world.add(Box((x, y, z + half[2]), half, heading, material))
    if world.chance(0.35):
        top = tuple(h * world.uniform(0.5, 0.9) for h in half)
        turned = heading + world.uniform(-0.5, 0.5)
        world.add(Box((x, y, z + 2 * half[2] + top[2]), top, turned, world.material("plain", "planks", "grain")))


def bin_(world, x, y, z=0.0):
    radius, half = world.uniform(0.15, 0.3), world.uniform(0.2, 0.5)
    world.add(Cylinder((x, y, z + half), radius, half, world.material("plain", "stripes", "grain")))


def table(world, x, y, z=0.0):
    heading, height = world.uniform(0, math.pi), world.uniform(0.68, 0.78)
    length, width = world.uniform(0.5, 1.0), world.uniform(0.35, 0.5)
    material = world.material("planks", "plain", "grain")
    world.add(Box((x, y, z + height - 0.02), (length, width, 0.02), heading, material))
    _legs(world, x, y, z, heading, length, width, height - 0.04, material)
    for _ in range(int(world.random.integers(0, 4))):
        px, py = _offset(x, y, heading, world.uniform(-0.8, 0.8) * length, world.uniform(-0.7, 0.7) * width)
        size = world.uniform(0.04, 0.16)
        if world.chance(0.5):
            world.add(Cylinder((px, py, z + height + size), size * 0.5, size, world.material("plain")))
        else:
            world.add(
                Box((px, py, z + height + size * 0.7), (size, size, size * 0.7), world.uniform(0, 3), world.material("plain", "stripes"))
            )


def sofa(world, x, y, z=0.0):
    heading, width = world.uniform(0, 2 * math.pi), world.uniform(0.6, 1.0)
    material = world.material("plain", "stripes", "checker")
    world.add(Box((x, y, z + 0.22), (0.42, width, 0.22), heading, material))
    px, py = _offset(x, y, heading, -0.35, 0.0)
    world.add(Box((px, py, z + 0.6), (0.1, width, 0.25), heading, material))
    for side in (-1, 1):
        px, py = _offset(x, y, heading, 0.0, side * (width + 0.08))
        world.add(Box((px, py, z + 0.31), (0.42, 0.08, 0.31), heading, material))


def shelf(world, x, y, z=0.0):
    heading, height = world.pick((0.0, math.pi / 2)), world.uniform(1.2, 2.1)
    width = world.uniform(0.4, 0.6)
    material = world.material("planks", "plain")
    for side in (-1, 1):
        px, py = _offset(x, y, heading, 0.0, side * width)
        world.add(Box((px, py, z + height / 2), (0.17, 0.015, height / 2), heading, material))
    for level in range(int(height / 0.42) + 1):
        world.add(Box((x, y, z + 0.02 + 0.42 * level), (0.17, width, 0.012), heading, material))
        half = world.uniform(0.08, 0.18)
        px, py = _offset(x, y, heading, 0.0, world.uniform(-0.6, 0.6) * width)
        world.add(Box((px, py, z + 0.035 + 0.42 * level + half), (0.13, world.uniform(0.08, 0.2), half), heading, world.material()))


def cabinet(world, x, y, z=0.0):
    half = (world.uniform(0.2, 0.3), world.uniform(0.3, 0.7), world.uniform(0.4, 1.0))
    world.add(Box((x, y, z + half[2]), half, world.pick((0.0, math.pi / 2)), world.material("planks", "plain", "grain")))


def plant(world, x, y, z=0.0):
    world.add(Cylinder((x, y, z + 0.15), 0.16, 0.15, world.material("plain")))
    green = (world.uniform(0.03, 0.12), world.uniform(0.15, 0.35), 0.05)
    size = world.uniform(0.2, 0.4)
    world.add(Ellipsoid((x, y, z + 0.35 + size), (size * 0.8, size * 0.7, size), 0.0, world.material("leaves", first=green, noise=0.35)))


def tree(world, x, y, z=0.0):
    height = world.uniform(3.5, 9.0)
    green = (world.uniform(0.03, 0.15), world.uniform(0.12, 0.3), world.uniform(0.02, 0.07))
    leaves = world.material("leaves", first=green, noise=0.35)
    trunk = world.material("grain", first=(0.16, 0.1, 0.06))
    world.add(Cylinder((x, y, z + height * 0.25), 0.035 * height, height * 0.25, trunk))
    if world.chance(0.4):
        for level in range(3):
            world.add(Cone((x, y, z + height * (0.2 + 0.22 * level)), height * (0.26 - 0.06 * level), height * 0.36, leaves))
        return
    for _ in range(3):
        px, py = x + world.uniform(-0.12, 0.12) * height, y + world.uniform(-0.12, 0.12) * height
        size = height * world.uniform(0.16, 0.26)
        world.add(Ellipsoid((px, py, z + height * world.uniform(0.55, 0.8)), (size, size, size * 0.8), 0.0, leaves))


def bush(world, x, y, z=0.0):
    green = (world.uniform(0.03, 0.15), world.uniform(0.12, 0.3), 0.04)
    size = world.uniform(0.3, 0.8)
    half = (size, size * world.uniform(0.7, 1.3), size * 0.75)
    world.add(Ellipsoid((x, y, z + size * 0.6), half, world.uniform(0, 3), world.material("leaves", first=green, noise=0.35)))


def rock(world, x, y, z=0.0):
    size = world.uniform(0.2, 0.9)
    half = (size, size * world.uniform(0.6, 1.0), size * world.uniform(0.5, 0.9))
    world.add(
        Ellipsoid((x, y, z + half[2] * 0.5), half, world.uniform(0, 3), world.material("grain", first=world.colour(0.3, 0.1), noise=0.3))
    )


def lamp_post(world, x, y, z=0.0):
    height, metal = world.uniform(3.5, 6.0), world.material("plain", first=world.colour(0.15, 0.1))
    world.add(Cylinder((x, y, z + height / 2), 0.06, height / 2, metal))
    world.add(Ellipsoid((x, y, z + height), (0.25, 0.25, 0.15), 0.0, world.material("plain", first=(0.8, 0.8, 0.7))))


def car(world, x, y, z=0.0, heading=None):
    heading = world.uniform(0, 2 * math.pi) if heading is None else heading
    paint, glass = world.material("plain", noise=0.03), world.material("plain", first=(0.04, 0.05, 0.07), noise=0.03)
    rubber = world.material("plain", first=(0.03, 0.03, 0.03))
    world.add(Box((x, y, z + 0.55), (2.05, 0.86, 0.32), heading, paint))
    px, py = _offset(x, y, heading, world.uniform(-0.4, -0.1), 0.0)
    world.add(Box((px, py, z + 1.1), (1.1, 0.76, 0.24), heading, glass))
    world.add(Box((px, py, z + 1.37), (0.98, 0.74, 0.04), heading, paint))
    for a in (-1.3, 1.3):
        for b in (-0.8, 0.8):
            px, py = _offset(x, y, heading, a, b)
            world.add(Ellipsoid((px, py, z + 0.32), (0.32, 0.12, 0.32), heading, rubber))


def hut(world, x, y, z=0.0):
    heading, half = world.uniform(0, math.pi), (world.uniform(1.5, 4.0), world.uniform(1.2, 3.0), world.uniform(1.2, 2.0))
    world.add(Box((x, y, z + half[2]), half, heading, world.material("planks", "bricks", "plain")))
    roof = (half[0] + 0.2, half[1] + 0.2, world.uniform(0.6, 1.5))
    world.add(gable((x, y, z + 2 * half[2]), roof, heading, world.material("tiles", "stripes", "plain")))


def container(world, x, y, z=0.0):
    heading = world.pick((0.0, math.pi / 2)) + world.uniform(-0.1, 0.1)
    world.add(Box((x, y, z + 1.3), (3.03, 1.22, 1.3), heading, world.material("stripes", "plain")))


def cone(world, x, y, z=0.0):
    orange = world.material("stripes", first=(0.8, 0.2, 0.03), second=(0.8, 0.8, 0.8))
    world.add(Cone((x, y, z), 0.16, 0.7, orange), Box((x, y, z + 0.015), (0.19, 0.19, 0.015), 0.0, orange))


def barrel(world, x, y, z=0.0):
    """Held out: three lying barrels in a stack."""
    material = world.material("plain", "stripes")
    for side, level in ((-0.3, 0.29), (0.3, 0.29), (0.0, 0.81)):
        world.add(Cylinder((x, y + side, z + level), 0.29, 0.44, material, axis=0))


def stall(world, x, y, z=0.0):
    """Held out: market stall, a counter under a gable cloth on four poles."""
    heading, wood = world.uniform(0, math.pi), world.material("planks")
    _legs(world, x, y, z, heading, 1.2, 0.8, 2.1, wood, 0.03)
    world.add(Box((x, y, z + 0.85), (1.2, 0.7, 0.04), heading, wood))
    world.add(gable((x, y, z + 2.1), (1.35, 1.0, 0.5), heading, world.material("stripes")))


def wedge(world, x, y, z=0.0):
    """Held out: ramp."""
    half = (world.uniform(0.5, 1.0), world.uniform(0.4, 0.8), world.uniform(0.1, 0.3))
    world.add(ramp((x, y, z), half, world.uniform(0, 2 * math.pi), world.material("planks", "grain", "plain")))


def arch(world, x, y, z=0.0):
    """Held out: gate of two posts and a beam."""
    heading, material = world.uniform(0, math.pi), world.material("plain", "bricks")
    for side in (-1.0, 1.0):
        px, py = _offset(x, y, heading, 0.0, side)
        world.add(Box((px, py, z + 1.2), (0.15, 0.15, 1.2), heading, material))
    world.add(Box((x, y, z + 2.55), (0.18, 1.2, 0.15), heading, material))


INDOOR = (person, crate, bin_, table, sofa, shelf, cabinet, cabinet, plant)
OUTDOOR = (person, crate, bin_, bush, rock, car, cone, lamp_post, tree)
HELD_OUT_INDOOR = (barrel, wedge)
HELD_OUT_OUTDOOR = (barrel, wedge, stall, arch)
RADII = {
    person: 0.35,
    crate: 0.6,
    bin_: 0.3,
    table: 1.0,
    sofa: 1.0,
    shelf: 0.6,
    cabinet: 0.7,
    plant: 0.4,
    tree: 0.8,
    bush: 0.9,
    rock: 0.9,
    lamp_post: 0.3,
    car: 2.2,
    hut: 5.0,
    container: 3.3,
    cone: 0.25,
    barrel: 0.8,
    stall: 1.6,
    wedge: 1.2,
    arch: 1.3,
}
