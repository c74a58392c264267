"""Flying pixels: where a network's map slides from a near surface to a far one, and a cloud would hang in the air between them."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.types import Float32Array, UInt8Array

_REACH = 2
"""Half the width of such a slide, network pixels."""


def flying_pixels(depth: Float32Array, jump: float) -> UInt8Array:
    """uint8 [h, w], 255 at edges where depth jumps by more than the fraction `jump`, and as far as the slide reaches; else 0.

    depth: float32 [h, w] at the network's own size, positive along z. What is looked at is the bend of 1/z over the reach, along rows and
    columns: 1/z of a plane is linear in the picture, so that a floor seen at a grazing angle is kept, however steep its depth is.
    """
    nearness = 1.0 / np.maximum(depth, np.float32(1e-6))
    bent = _bends(nearness, jump, axis=0) | _bends(nearness, jump, axis=1)
    return np.asarray(bent * np.uint8(255), np.uint8)


def _bends(nearness: Float32Array, jump: float, *, axis: int) -> UInt8Array:
    """uint8 [h, w], 1 where the values bend along an axis, and as far as the reach about that; else 0."""
    bent = np.zeros(nearness.shape, np.uint8)
    if nearness.shape[axis] <= 2 * _REACH:
        return bent

    def cut(part: slice) -> tuple[slice, slice]:
        return (part, slice(None)) if axis == 0 else (slice(None), part)

    inner = cut(slice(_REACH, -_REACH))
    middle = nearness[inner]
    bend = nearness[cut(slice(None, -2 * _REACH))] + nearness[cut(slice(2 * _REACH, None))]
    bend -= 2.0 * middle
    bent[inner] = np.abs(bend, out=bend) > jump * middle
    kernel = np.ones((2 * _REACH + 1, 1) if axis == 0 else (1, 2 * _REACH + 1), np.uint8)
    return np.asarray(cv2.dilate(bent, kernel), np.uint8).reshape(nearness.shape)
