"""The picture of a depth map for people: range and colour map. The only place that normalises values."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.types import Float32Array, UInt8Array

_PERCENTILES = (2.0, 98.0)
_TURBO = np.ascontiguousarray(cv2.applyColorMap(np.arange(256, dtype=np.uint8), cv2.COLORMAP_TURBO)[:, :, ::-1])
"""RGB of the 256 levels."""


def colourise(depth: Float32Array, *, percentiles: tuple[float, float] = _PERCENTILES) -> UInt8Array:
    """uint8 RGB [H, W, 3] of a depth map: near is warm, far is cold, invalid is black.

    depth: float32 [H, W], near is small; NaN is invalid and +Inf the far end. Colours follow 1/depth, which spreads the near range as
    the eye expects it, between the two percentiles of the valid pixels.
    """
    return shade(_nearness(depth), percentiles=percentiles)


def shade(values: Float32Array, *, percentiles: tuple[float, float] = _PERCENTILES) -> UInt8Array:
    """uint8 RGB [H, W, 3] of any map: large is warm, small is cold, values that are not finite are black."""
    return _paint(values, _range(values, percentiles) or (0.0, 1.0))


class StreamColours:
    """Colours for the pictures of one camera in turn, whose range moves slowly, so that still things keep their colour.

    follow: how far the range moves towards that of the newest picture; with 1 every picture has its own.
    """

    def __init__(self, follow: float = 0.1) -> None:
        self._follow = follow
        self._range: tuple[float, float] | None = None
        self._unit = (False, False)

    def colourise(
        self, depth: Float32Array, *, metric: bool = False, inverse: bool = False, near: float = 0.0, far: float = 0.0
    ) -> UInt8Array:
        """uint8 RGB [H, W, 3] as `colourise` gives it; with `inverse` as `shade` gives it, for maps that are large where it is near.

        metric: in metres; the range of other units says nothing about them, so it begins anew. near, far: depth at the two ends of the
        colours; 0 follows the pictures.
        """
        if self._unit != (metric, inverse):
            self._range, self._unit = None, (metric, inverse)
        values = depth if inverse else _nearness(depth)
        # A sixteenth of the pixels is enough for a percentile, and much faster.
        newest = _range(values[::4, ::4], _PERCENTILES)
        if newest is not None and self._range is not None:
            self._range = tuple(old + self._follow * (new - old) for old, new in zip(self._range, newest))  # type: ignore[assignment]
        elif newest is not None:
            self._range = newest
        low, high = self._range or (0.0, 1.0)
        return _paint(values, (1.0 / far if far > 0.0 else low, 1.0 / near if near > 0.0 else high))


def _nearness(depth: Float32Array) -> Float32Array:
    """1/depth, NaN where depth is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.reciprocal(depth)
    values[~(depth > 0.0)] = np.nan
    return values


def _range(values: Float32Array, percentiles: tuple[float, float]) -> tuple[float, float] | None:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = np.percentile(finite, percentiles)
    return float(low), float(high)


def _paint(values: Float32Array, ends: tuple[float, float]) -> UInt8Array:
    low, high = ends
    span = high - low if high > low else 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.subtract(values, np.float32(low))
        np.clip(above, 0.0, span, out=above)
    # OpenCV scales, rounds to the nearest, looks up and masks faster than an index does. What is not finite becomes some level.
    level = cv2.convertScaleAbs(above, alpha=255.0 / span)
    valid = np.isfinite(values)
    picture = np.asarray(cv2.applyColorMap(level, _TURBO), np.uint8)
    if not valid.all():
        picture = np.asarray(cv2.bitwise_and(picture, picture, mask=valid.view(np.uint8)), np.uint8)
    return picture.reshape(*values.shape, 3)
