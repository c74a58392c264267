"""What the numbers of a depth map mean: scale, validity, sky, size and units. NaN is invalid and +Inf is sky (REP 117, REP 118)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.types import DepthKind, Float32Array, Scale, UInt8Array

SKY_POLICIES = ("inf", "nan", "max")

UInt16Array = NDArray[np.uint16]


def known_scale(kind: DepthKind, source: str, value: float) -> Scale | None:
    """Scale that needs no look at the picture, or None.

    kind: of the prediction. source: ``constant`` gives relative depth `value` metres per unit. Inverse depth lacks a shift as well, so no
    constant makes it metres.
    """
    if kind is DepthKind.METRIC:
        return Scale(1.0)
    if kind is DepthKind.RELATIVE_DEPTH and source == "constant":
        return Scale(value)
    return None


def to_metres(values: Float32Array, kind: DepthKind, scale: Scale) -> Float32Array:
    """float32 [h, w] of the network to metres along z. Inverse depth of nothing or less (beyond the horizon) becomes +Inf."""
    if kind is not DepthKind.RELATIVE_INVERSE_DEPTH:
        return np.asarray(values * np.float32(scale.factor), np.float32)
    inverse = values * np.float32(scale.factor) + np.float32(scale.shift)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(inverse > 0.0, np.float32(1.0) / inverse, np.inf), np.float32)


def resize(values: Float32Array, width: int, height: int) -> Float32Array:
    """float32 [h, w] to [height, width]: bilinear, pixel centres on pixel centres (cv2.resize INTER_LINEAR).

    A network map covers the whole picture, so this puts each value on the camera pixel that it belongs to. Invalid marks come later:
    NaN and Inf would spread to their neighbours.
    """
    if values.shape == (height, width):
        return values
    return np.asarray(cv2.resize(values, (width, height), interpolation=cv2.INTER_LINEAR), np.float32).reshape(height, width)


def resize_mask(mask: UInt8Array, width: int, height: int, stride: int = 1) -> UInt8Array:
    """uint8 [h, w] to [height, width], each pixel that of its centre; of that every `stride`-th pixel of every `stride`-th row."""
    if mask.shape == (height, width):
        return mask[::stride, ::stride]
    rows = (2 * np.arange(0, height, stride) + 1) * mask.shape[0] // (2 * height)
    columns = (2 * np.arange(0, width, stride) + 1) * mask.shape[1] // (2 * width)
    return np.asarray(mask.take(columns, axis=1).take(rows, axis=0))


def confidence_from(raw: Float32Array) -> Float32Array:
    """float32 [h, w], raw network confidence c (1 to inf) to 1 - 1/c: 0 is a guess, 1 is certain; order is kept."""
    return np.asarray(np.float32(1.0) - np.float32(1.0) / np.maximum(raw, np.float32(1.0)), np.float32)


def sky_mask(sky: Float32Array, threshold: float) -> UInt8Array:
    """uint8 [H, W], 255 where the network's sky value reaches the threshold, else 0."""
    return np.asarray((sky >= threshold).view(np.uint8) * np.uint8(255), np.uint8)


def mark_invalid(
    depth: Float32Array,
    *,
    nearest: float,
    farthest: float,
    confidence: Float32Array | None = None,
    least_confidence: float = 0.0,
) -> Float32Array:
    """float32 [H, W] with NaN where depth is not finite, not positive, outside of [nearest, farthest], or not trusted.

    A copy, or `depth` itself where all of it is good. confidence: float32 [H, W], 0 to 1; pixels below `least_confidence` are not trusted.
    """
    limits = np.finfo(np.float32)
    lowest = max(nearest, float(limits.min if nearest < 0.0 else limits.tiny))
    highest = min(farthest, float(limits.max))
    trusted = confidence is None or least_confidence <= 0.0
    with np.errstate(invalid="ignore"):
        if trusted and depth.min() >= lowest and depth.max() <= highest:  # false with any NaN
            return depth
    good = cv2.inRange(depth, lowest, highest)  # 0 for NaN
    if confidence is not None and not trusted:
        good = cv2.bitwise_and(good, cv2.inRange(confidence, least_confidence, np.inf))
    marked: Float32Array = depth.copy()
    np.copyto(marked, np.float32(np.nan), where=good.reshape(depth.shape) == 0)
    return marked


def mark_sky(depth: Float32Array, mask: UInt8Array, policy: str, farthest: float) -> Float32Array:
    """float32 [H, W] with the sky by policy: ``inf`` (+Inf), ``nan``, or ``max``. A copy, or `depth` itself where there is no sky.

    ``max`` writes `farthest` or, where that is no finite number, the largest valid depth of this picture.
    """
    if not cv2.countNonZero(mask):
        return depth
    if policy == "max" and not np.isfinite(farthest):
        valid = depth[np.isfinite(depth) & (mask == 0)]
        farthest = float(valid.max()) if valid.size else np.nan
    value = {"inf": np.inf, "nan": np.nan, "max": farthest}[policy]
    return np.where(mask > 0, np.float32(value), depth)


def to_millimetres(depth: Float32Array) -> UInt16Array:
    """float32 [H, W] metres to uint16 millimetres, nearest; 0 where depth is invalid, sky, or beyond 65.535 m (never wrapped)."""
    with np.errstate(invalid="ignore", over="ignore"):
        scaled: Float32Array = depth * np.float32(1000.0)  # off by 0.004 mm at most
        np.rint(scaled, out=scaled)
        scaled[~((scaled >= 0.0) & (scaled <= 65535.0))] = 0.0
    return scaled.astype(np.uint16)
