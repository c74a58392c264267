"""A network's depth map at the size of the picture, with edges where the picture has them."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.types import Float32Array, UInt8Array

_WINDOW = (3, 3)
"""In which depth and brightness are compared, network pixels."""
_REACH = (5, 5)
"""Which of them have a say in the slope at one of them."""
_CONTRAST = 6.0
"""Grey levels of contrast below which the picture does not guide."""


class GuidedUpsampler:
    """Sharpens the maps of one camera; keeps buffers of the picture's size, since fresh pages cost more than the arithmetic.

    Not for two threads at once.
    """

    def __init__(self) -> None:
        self._buffers: list[Float32Array] = []

    def upsample(self, depth: Float32Array, pixels: UInt8Array, *, bgr: bool) -> Float32Array:
        """float32 [h, w] to the [H, W] of the picture: bilinear, plus the detail that the picture's brightness has and the small map lacks.

        Where depth p and brightness I go together, p = a I + b in a window (K. He et al., Guided image filtering, PAMI 2013), the picture
        sharpens: up(p) + a (I - up(I_small)). Where they do not, a is near 0 and the result is the bilinear one: unlike the filter itself,
        this never blurs. The result stays within the range of the window, so that no new depth appears at an edge.

        pixels: uint8 [H, W, 3]. Where depth is not finite (beyond the horizon), the result is NaN, and beside that the picture does not
        guide.
        """
        height, width = pixels.shape[:2]
        unknown = ~np.isfinite(depth)
        if gaps := bool(unknown.any()):
            depth = np.where(unknown, np.float32(0.0), depth)  # the box filter keeps a sum, which an infinity would spoil for good
        detail, slope, bound = self._of_size(height, width)
        grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_BGR2GRAY if bgr else cv2.COLOR_RGB2GRAY)
        small = cv2.resize(grey, depth.shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float32).reshape(depth.shape)
        # In place throughout: detail = I - up(I_small), then a * detail, then + up(p), then within the bounds.
        np.subtract(grey, _up(small, detail), out=detail)
        gradient = _slope(depth, small)
        if gaps:
            gradient[cv2.dilate(unknown.view(np.uint8), np.ones(_REACH)) > 0] = 0.0
        np.multiply(detail, _up(gradient, slope), out=detail)
        result = _up(depth, np.empty((height, width), np.float32))
        np.add(result, detail, out=result)
        np.maximum(result, _up(cv2.erode(depth, np.ones(_WINDOW)), bound), out=result)
        np.minimum(result, _up(cv2.dilate(depth, np.ones(_WINDOW)), bound), out=result)
        if gaps:
            result[_up(unknown.astype(np.float32), bound) > 0.0] = np.nan
        return result

    def _of_size(self, height: int, width: int) -> list[Float32Array]:
        if not self._buffers or self._buffers[0].shape != (height, width):
            self._buffers = [np.empty((height, width), np.float32) for _ in range(3)]
        return self._buffers


def _up(values: Float32Array, into: Float32Array) -> Float32Array:
    cv2.resize(values, into.shape[::-1], dst=into, interpolation=cv2.INTER_LINEAR)
    return into


def _slope(depth: Float32Array, grey: Float32Array) -> Float32Array:
    """float32 [h, w]: depth per grey level, by least squares in the window about each pixel, drawn towards 0 where there is no contrast."""

    def mean(values: Float32Array) -> Float32Array:
        return np.asarray(cv2.boxFilter(values, cv2.CV_32F, _WINDOW), np.float32).reshape(depth.shape)

    mean_grey, mean_depth = mean(grey), mean(depth)
    covariance = mean(grey * depth) - mean_grey * mean_depth
    variance = mean(grey * grey) - mean_grey * mean_grey
    return mean(covariance / (variance + np.float32(_CONTRAST**2)))
