"""The picture of a depth map for people: percentile range and colour map. The only place that normalises values."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.types import Float32Array, UInt8Array


def colourise(depth: Float32Array, *, percentiles: tuple[float, float] = (2.0, 98.0)) -> UInt8Array:
    """uint8 RGB [H, W, 3] of a depth map: near is warm, far is cold, invalid is black.

    depth: float32 [H, W], near is small; NaN is invalid and +Inf the far end. Colours follow 1/depth, which spreads the near range as
    the eye expects it, between the two percentiles of the valid pixels.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        nearness = np.where(depth > 0.0, 1.0 / depth, np.nan)
    return shade(nearness.astype(np.float32), percentiles=percentiles)


def shade(values: Float32Array, *, percentiles: tuple[float, float] = (2.0, 98.0)) -> UInt8Array:
    """uint8 RGB [H, W, 3] of any map: large is warm, small is cold, values that are not finite are black."""
    finite = np.isfinite(values)
    picture = np.zeros((*values.shape, 3), np.uint8)
    if not finite.any():
        return picture
    low, high = np.percentile(values[finite], percentiles)
    span = high - low if high > low else 1.0
    level = np.clip((np.where(finite, values, low) - low) / span, 0.0, 1.0)
    bgr = np.asarray(cv2.applyColorMap(np.rint(level * 255.0).astype(np.uint8), cv2.COLORMAP_TURBO), np.uint8)
    picture[finite] = bgr[finite][:, ::-1]
    return picture
