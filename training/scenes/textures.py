"""Procedural textures. Each kind has a fixed physical size (within a few per cent), so that a picture carries cues of true scale.

`footprint` is the size of a pixel on the surface in metres; detail finer than that fades out, which keeps distant texture free of aliasing.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

TRAIN_KINDS = ("plain", "tiles", "checker", "planks", "bricks", "stripes", "grain", "grass", "asphalt", "leaves", "facade", "paving")
TEST_KINDS = ("dots", "plaid", "zigzag")  # appear only in the test set
NOISE_SIZE = 512


@dataclass(frozen=True)
class Material:
    """`size` is the physical period in metres; `first` and `second` are linear colours, `noise` the strength of the irregular part."""

    kind: str
    first: tuple
    second: tuple
    size: float
    noise: float = 0.15
    glow: float = 0.0  # share of the colour that is emitted: lamps, bright windows


@lru_cache(maxsize=1)
def _noise_levels():
    """Wrapping noise of spectrum 1/f with unit deviation, at halved sizes: level n averages cells of 2**n."""
    random = np.random.default_rng(7)
    frequency = np.hypot(np.fft.fftfreq(NOISE_SIZE)[:, None], np.fft.rfftfreq(NOISE_SIZE)[None])
    spectrum = np.fft.rfft2(random.standard_normal((NOISE_SIZE, NOISE_SIZE))) / np.maximum(frequency, 2 / NOISE_SIZE)
    level = np.fft.irfft2(spectrum)
    level = ((level - level.mean()) / level.std()).astype(np.float32)
    levels = []
    while level.shape[0] >= 4:
        levels.append(level)
        level = level.reshape(level.shape[0] // 2, 2, level.shape[1] // 2, 2).mean((1, 3))
    return levels


def noise(u, v, cell, footprint):
    """Irregular pattern of about unit deviation with cells of `cell` metres, averaged over the footprint. Shapes as `u`."""
    levels = _noise_levels()
    level = int(np.clip(np.log2(max(float(np.median(footprint)) / cell, 1.0)), 0, len(levels) - 1)) if u.size else 0
    table = levels[level]
    scale = 1.0 / (cell * 2**level)
    mask = table.shape[0] - 1
    return table[np.floor(v * scale).astype(np.int64) & mask, np.floor(u * scale).astype(np.int64) & mask]


def _edge(value, period, width, footprint):
    """1 on lines of `width` every `period` metres, softened by the footprint, 0 between."""
    distance = np.abs((value / period + 0.5) % 1.0 - 0.5) * period
    soft = np.maximum(width, footprint)
    return np.clip(1.0 - distance / soft, 0.0, 1.0) * np.minimum(1.0, width / soft)


def _parity(value, period):
    return np.floor(value / period) % 2.0


def _fade(period, footprint):
    return np.clip(1.5 - 2.0 * footprint / period, 0.0, 1.0)


def _grid(m, u, v, f):
    return np.maximum(_edge(u, m.size, 0.02 * m.size + 0.003, f), _edge(v, m.size, 0.02 * m.size + 0.003, f))


def _checker(m, u, v, f):
    return 0.5 + (np.abs(_parity(u, m.size) - _parity(v, m.size)) - 0.5) * _fade(m.size, f)


def _planks(m, u, v, f):
    row = np.floor(v / m.size)
    shade = ((row * 0.618) % 1.0 - 0.5) * _fade(m.size, f)
    return np.maximum(0.4 + 0.5 * shade, np.maximum(_edge(v, m.size, 0.006, f), _edge(u + row * 0.53, 8 * m.size, 0.006, f)))


def _bricks(m, u, v, f):
    shift = _parity(v, m.size) * 1.5 * m.size
    return np.maximum(_edge(v, m.size, 0.012, f), _edge(u + shift, 3 * m.size, 0.012, f))


def _stripes(m, u, v, f):
    return 0.5 + (_parity(u, m.size) - 0.5) * _fade(m.size, f)


def _facade(m, u, v, f):
    """Windows of a building: storeys of `size`, panes take the middle of each cell."""
    a, b = (u / (0.9 * m.size)) % 1.0, (v / m.size) % 1.0
    return ((a > 0.25) & (a < 0.75) & (b > 0.3) & (b < 0.8)).astype(np.float32)


def _dots(m, u, v, f):
    a, b = (u / m.size) % 1.0 - 0.5, (v / m.size) % 1.0 - 0.5
    return 0.3 + ((a * a + b * b < 0.08) - 0.3) * _fade(m.size, f)


def _plaid(m, u, v, f):
    return (0.5 * _parity(u, m.size) + 0.5 * _parity(v, m.size) - 0.5) * _fade(m.size, f) + 0.5


def _zigzag(m, u, v, f):
    wave = v + np.abs((u / m.size) % 1.0 - 0.5) * m.size
    return 0.5 + (_parity(wave, 0.5 * m.size) - 0.5) * _fade(m.size, f)


PATTERNS = {
    "tiles": _grid,
    "paving": _grid,
    "checker": _checker,
    "planks": _planks,
    "bricks": _bricks,
    "stripes": _stripes,
    "facade": _facade,
    "dots": _dots,
    "plaid": _plaid,
    "zigzag": _zigzag,
}
GRAIN = {
    "grain": 0.012,
    "grass": 0.02,
    "asphalt": 0.008,
    "leaves": 0.03,
    "plain": 0.05,
    "paving": 0.01,
    "planks": 0.006,
}  # noise cell, metres


def paint(material, u, v, footprint):
    """Colour [3, N] in linear light at texture coordinates `u`, `v` (metres, [N])."""
    first, second = np.asarray(material.first, np.float32)[:, None], np.asarray(material.second, np.float32)[:, None]
    pattern = PATTERNS.get(material.kind)
    cell = GRAIN.get(material.kind, 0.02)
    fine = noise(u, v, cell, footprint)
    if pattern is None:
        share = np.clip(0.5 + 0.35 * noise(v, u, 4 * cell, footprint), 0.0, 1.0)
    else:
        share = pattern(material, u, v, footprint)
    return (first + (second - first) * share) * np.maximum(1.0 + material.noise * fine, 0.1)
