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
    return np.asarray(_bent_rows(nearness, jump) | _bent_rows(nearness.T, jump).T, np.uint8)


def _bent_rows(nearness: Float32Array, jump: float) -> UInt8Array:
    """uint8 of the same shape, 255 where the values of a column bend from row to row."""
    mask = np.zeros(nearness.shape, np.uint8)
    if nearness.shape[0] <= 2 * _REACH:
        return mask
    before, middle, after = nearness[: -2 * _REACH], nearness[_REACH:-_REACH], nearness[2 * _REACH :]
    mask[_REACH:-_REACH] = np.where(np.abs(before + after - 2.0 * middle) > jump * middle, 255, 0)
    return np.asarray(cv2.dilate(mask, np.ones((2 * _REACH + 1, 1), np.uint8)), np.uint8).reshape(mask.shape)
