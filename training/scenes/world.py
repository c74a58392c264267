"""A world under construction: solids, light, and where a camera or an object may stand."""

import math
from dataclasses import dataclass, field

import numpy as np

from .textures import TEST_KINDS, TRAIN_KINDS, Material

SIZES = {  # physical period of each texture in metres
    "plain": 1.0,
    "tiles": 0.3,
    "checker": 0.5,
    "planks": 0.14,
    "bricks": 0.075,
    "stripes": 0.2,
    "grain": 0.5,
    "grass": 0.5,
    "asphalt": 0.5,
    "leaves": 0.3,
    "facade": 3.0,
    "paving": 0.6,
    "dots": 0.25,
    "plaid": 0.2,
    "zigzag": 0.3,
}
HELD_OUT_TEXTURE_SHARE = 0.08


@dataclass(frozen=True)
class Light:
    """Sun (`position` is the direction towards it) or lamp (`position` in metres). Strengths are linear; `ambient` is everywhere."""

    position: tuple
    is_lamp: bool
    strength: tuple
    ambient: tuple


@dataclass(frozen=True)
class Sky:
    zenith: tuple
    horizon: tuple
    clouds: float
    seed: int


@dataclass
class World:
    """`region` is (x0, y0, x1, y1), the ground a camera may stand on; `obstacles` are circles (x, y, radius)."""

    random: np.random.Generator
    held_out: bool
    solids: list = field(default_factory=list)
    obstacles: list = field(default_factory=list)
    region: tuple = (-5.0, -5.0, 5.0, 5.0)
    heights: tuple = (0.55, 0.7)
    light: Light = None
    sky: Sky = None
    haze: float = 400.0

    def add(self, *solids):
        self.solids.extend(solids)

    def uniform(self, low, high):
        return float(self.random.uniform(low, high))

    def chance(self, share):
        return bool(self.random.random() < share)

    def pick(self, options):
        return options[int(self.random.integers(len(options)))]

    def colour(self, brightness=None, saturation=None):
        """Random linear colour; mostly muted, sometimes strong."""
        value = self.uniform(0.08, 0.8) if brightness is None else brightness
        strength = self.uniform(0.0, 0.35) if self.chance(0.6) else self.uniform(0.3, 0.95)
        strength = strength if saturation is None else saturation
        hue = self.uniform(0.0, 2 * math.pi)
        return tuple(value * (1.0 - strength * (0.5 + 0.5 * math.cos(hue + shift))) for shift in (0.0, 2.1, 4.2))

    def material(self, *kinds, first=None, second=None, noise=None, glow=0.0, colour=None):
        """Material of one of `kinds` (any kind if none is named); in test worlds sometimes of a held-out kind instead.

        Both `first` and `colour` give the first colour; `first` also says that the kind must not be replaced.
        """
        if self.held_out and self.chance(HELD_OUT_TEXTURE_SHARE) and first is None:
            kind = self.pick(TEST_KINDS)
        else:
            kind = self.pick(kinds or TRAIN_KINDS[:8])
        first = first or colour or self.colour()
        contrast = self.uniform(0.25, 0.8) if self.chance(0.7) else self.uniform(1.2, 1.8)
        second = tuple(min(0.9, c * contrast) for c in first) if second is None else second
        size = SIZES[kind] * self.uniform(0.92, 1.08)
        if noise is None:
            noise = self.uniform(0.01, 0.08) if kind == "plain" else self.uniform(0.03, 0.25)
        return Material(kind, first, second, size, noise, glow)

    def place(self, radius, gap=0.1, tries=20):
        """A free spot (x, y) in the region for a circle, or None; the spot is taken."""
        x0, y0, x1, y1 = self.region
        for _ in range(tries):
            x, y = self.uniform(x0, x1), self.uniform(y0, y1)
            if self.is_free(x, y, radius + gap):
                self.obstacles.append((x, y, radius))
                return x, y
        return None

    def is_free(self, x, y, radius):
        return all(math.hypot(x - a, y - b) > radius + r for a, b, r in self.obstacles)
