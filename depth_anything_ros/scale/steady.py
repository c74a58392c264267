"""Depth that does not flicker while the camera stands: one gain for the whole map, and an average of every pixel that does not change."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import OptionError
from depth_anything_ros.types import Float32Array, Frame

_LARGEST_SHIFT = 0.15
"""Share of a pixel that half of the picture may seem displaced before the camera is moving, and nothing is held."""
_LEAST_CONTRAST = 0.005
_LARGEST_STEP = 0.2
"""Depth that differs by this share (of the log) is news and no flicker; a scale that does is a new scale."""
_REACH = 15
"""Pixels around a change that may change with it: the network sees patches of 14."""
_LONGEST_GAP_NS = 5_000_000_000


@dataclass(frozen=True)
class TemporalOptions:
    """What is held still. Raises OptionError ``option.range``."""

    scale: bool = False
    """The scale of the whole map."""
    depth: bool = False
    """Every pixel; this holds the scale too."""
    memory: int = 60
    """Frames that are averaged."""

    def __post_init__(self) -> None:
        if not 2 <= self.memory <= 1000:
            raise OptionError("option.range", f"temporal.memory {self.memory} must be 2 to 1000 frames.")


class DepthSteadier:
    """One camera's depth over time. A pixel is still while picture and depth do not change there; others are shown as they are now."""

    def __init__(self, options: TemporalOptions) -> None:
        self._options = options
        self._stamp_ns = 0
        self._metric = False
        self._picture: Float32Array | None = None
        self._memory: Float32Array = np.empty((0, 0), np.float32)
        self._seen: Float32Array = np.empty((0, 0), np.float32)
        """Frames that the memory of each pixel holds."""
        self._level_seen = 1

    def apply(self, frame: Frame, depth: Float32Array, metric: bool) -> Float32Array:
        """Steadied float32 [h, w] of a frame's depth (any unit; `metric` says whether it is in metres)."""
        picture = _grey(frame, depth.shape)
        before = self._picture if self._continues(frame.stamp_ns, depth.shape, metric) else None
        self._stamp_ns, self._metric = frame.stamp_ns, metric
        if before is None:
            return self._begin(picture, depth)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = np.asarray(np.log(self._memory / depth), np.float32)
        changed = _changed(before, picture)
        still = np.isfinite(steps) if changed is None else np.isfinite(steps) & ~changed
        if changed is None or not still.any():
            return self._begin(picture, depth)
        gain = float(np.median(steps[still]))
        if abs(gain) > _LARGEST_STEP:
            return self._begin(picture, depth)
        return self._blend(picture, before, depth, still & (np.abs(steps - gain) < _LARGEST_STEP), gain)

    def _continues(self, stamp_ns: int, shape: tuple[int, ...], metric: bool) -> bool:
        return self._memory.shape == shape and metric == self._metric and 0 <= stamp_ns - self._stamp_ns <= _LONGEST_GAP_NS

    def reset(self) -> None:
        """Forget earlier frames."""
        self._picture = None

    def _begin(self, picture: Float32Array, depth: Float32Array) -> Float32Array:
        self._picture, self._memory, self._seen, self._level_seen = picture, depth, np.ones(depth.shape, np.float32), 1
        return depth

    def _blend(
        self, picture: Float32Array, before: Float32Array, depth: Float32Array, held: NDArray[np.bool_], gain: float
    ) -> Float32Array:
        """held: bool [h, w], pixels that do not change. gain: log of what brings the map to the memory's scale."""
        self._level_seen = min(self._level_seen + 1, self._options.memory)
        drift = gain / self._level_seen  # so much of it is believed: the level follows slowly
        aligned = np.asarray(depth * np.float32(np.exp(gain - drift)), np.float32)
        self._seen = np.where(held, np.minimum(self._seen + 1.0, self._options.memory), 1.0).astype(np.float32)
        # The picture is averaged too: what creeps along is seen against where it was, not against the frame before.
        self._picture = np.asarray(np.where(held, before + (picture - before) / self._seen, picture), np.float32)
        if not self._options.depth:
            self._memory = aligned
            return aligned
        memory = self._memory * np.float32(np.exp(-drift))
        with np.errstate(invalid="ignore"):
            self._memory = np.where(held, memory + (aligned - memory) / self._seen, aligned)
        return self._memory


def _grey(frame: Frame, shape: tuple[int, ...]) -> Float32Array:
    """float32 [h, w], the picture's brightness at the size of the map."""
    height, width = shape
    small = cv2.resize(np.ascontiguousarray(frame.pixels), (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY if frame.bgr else cv2.COLOR_RGB2GRAY), np.float32)


def _changed(before: Float32Array, now: Float32Array) -> NDArray[np.bool_] | None:
    """bool [h, w]: pixels that change by more than the camera's noise, and what is near them; None while the camera moves.

    It moves when what has contrast is displaced (by the change over the gradient) nearly everywhere. Plain walls look the same from any
    place, so they have no say, and a picture of nothing else counts as moving.
    """
    difference = now - before
    smooth = cv2.blur(difference, (3, 3))
    smooth = np.abs(smooth - np.median(smooth))  # the median is the camera's exposure
    # A quarter of the pixels see noise and nothing else; 0.3186 is that quantile of a normal deviation, and `smooth` the mean of nine.
    noise = float(np.quantile(np.abs(difference - cv2.blur(difference, (3, 3))), 0.25)) / 0.3186 / 3.0
    slope = np.hypot(cv2.Sobel(before, cv2.CV_32F, 1, 0, scale=0.125), cv2.Sobel(before, cv2.CV_32F, 0, 1, scale=0.125))
    contrast = slope > 2.0 + 6.0 * noise
    if np.mean(contrast) < _LEAST_CONTRAST or np.median(smooth[contrast] / slope[contrast]) > _LARGEST_SHIFT:
        return None
    changed = (smooth > 2.0 + 5.0 * noise).astype(np.uint8)
    return np.asarray(cv2.dilate(changed, np.ones((_REACH, _REACH), np.uint8)), bool)
