"""The scale of one camera's depth: asks its source about each frame, filters what comes, and says how well it is known."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from depth_anything_ros.scale.estimate import Estimate, Refusal, ScaleSource
from depth_anything_ros.scale.filter import ScaleFilter
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.types import Frame, Prediction, Scale

_STEP_BACK_NS = 1_000_000_000
"""A frame that is older than the newest one by more than this begins a new story (a bag's next loop); less is disorder on the wire."""


@dataclass(frozen=True)
class ScaleState:
    """How well the scale is known, at the last frame."""

    source: str
    scale: Scale | None
    """None while it is not known."""
    age: float | None
    """Seconds from the frame of the last estimate to the last frame; None without an estimate."""
    spread: float | None
    """Relative deviation of the estimates behind the scale."""
    accepted: int
    rejected: int
    jumps: int
    doubted: int
    """Estimates in a row that disagree with the scale."""
    refusal: str
    """Why the source gave nothing the last time, or why what it gave is of no use; else empty."""


class ScaleTracker:
    """`scale_of` is called by one thread, with the frames of one camera; results of the source and `state` may come on others."""

    def __init__(self, name: str, source: ScaleSource, options: ScaleOptions) -> None:
        """name: of the source, as in `scale.source`."""
        self._name = name
        self._source = source
        self._options = options
        self._lock = threading.Lock()
        self._story = 0
        self._newest_ns: int | None = None
        self._filter = ScaleFilter(options, source.least)
        self._refusal = ""

    def scale_of(self, frame: Frame, prediction: Prediction) -> Scale | None:
        """The scale for a frame, after the source has looked at it; None while it is not known."""
        if self._newest_ns is not None and frame.stamp_ns < self._newest_ns - _STEP_BACK_NS:
            self.reset()
        with self._lock:
            self._newest_ns = frame.stamp_ns if self._newest_ns is None else max(self._newest_ns, frame.stamp_ns)
            story = self._story
        take = partial(self._take, story)
        if prediction.kind in self._source.kinds:
            self._source.observe(frame, prediction, take)
        else:
            take(Refusal(f"{self._name} gives no scale to {prediction.kind.value}"))
        with self._lock:
            return self._filter.at(frame.stamp_ns)

    def reset(self) -> None:
        """Forget the scale and everything that it was made from; what is still at work will not count."""
        with self._lock:
            self._story += 1
            self._newest_ns = None
            self._filter = ScaleFilter(self._options, self._source.least)
            self._refusal = ""
        self._source.reset()

    def memory(self) -> tuple[object, ...]:
        """All that is known of earlier frames, for another process; no job may be at work."""
        with self._lock:
            return self._newest_ns, self._filter, self._refusal, self._source.memory()

    def recall(self, memory: tuple[Any, ...]) -> None:
        """Go on from a `memory`."""
        with self._lock:
            self._newest_ns, self._filter, self._refusal, of_source = memory
        self._source.recall(of_source)

    def state(self) -> ScaleState:
        with self._lock:
            now, known = self._newest_ns, self._filter
            age = None if now is None else known.age(now)
            late = age is not None and age > self._options.max_age
            return ScaleState(
                source=self._name,
                scale=None if now is None else known.at(now),
                age=age,
                spread=known.spread,
                accepted=known.accepted,
                rejected=known.rejected,
                jumps=known.jumps,
                doubted=known.doubted,
                refusal=self._refusal or ("estimates come too late or too seldom for scale.max_age" if late else ""),
            )

    def refuse(self, reason: str) -> None:
        """Say why there is no estimate, where the source could not."""
        self._take(self._story, Refusal(reason))

    def _take(self, story: int, reading: Estimate | Refusal) -> None:
        with self._lock:
            if story != self._story:
                return
            if isinstance(reading, Refusal):
                self._refusal = reading.reason
            else:
                self._refusal = ""
                self._filter.add(reading)
