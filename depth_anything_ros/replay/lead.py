"""The pictures before a segment that are looked at, without output, where depth depends on those before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depth_anything_ros.ros.parameters import NodeOptions

_MEMORIES = 4
"""After so many times its memory, an average has forgotten nearly all that two beginnings differ in."""
_ESTIMATES = 4
"""A filter averages three at least; one more shows a jump."""


@dataclass(frozen=True)
class Lead:
    """How far back it goes: both, whichever is longer."""

    pictures: int
    """Processed ones."""
    seconds: float
    step: int
    """The number of its first picture among the processed ones is a multiple of this, so that all segments have the same keyframes."""

    def first(self, times: Sequence[int], start: int, every: int) -> int:
        """Number of the first picture. times: of all pictures, nanoseconds. start: number of the segment's own first."""
        seen = max(start - self.pictures * every, 0)
        while seen > 0 and times[start] - times[seen] < self.seconds * 1e9:
            seen -= 1
        return seen - seen % (self.step * every)


def lead_of(node: NodeOptions) -> Lead:
    """After it, the state is what it would be had the recording been looked at from its begin, up to about 1e-3 of the depth."""
    pictures, seconds, step = 0, 0.0, 1
    if node.temporal.scale or node.temporal.depth:
        pictures = _MEMORIES * node.temporal.memory
    if node.processing.scale_source not in ("model", "constant"):
        seconds = node.scale.window + node.scale.max_age
        if node.processing.scale_source == "metric_model":
            step = node.scale.metric_model_every
        pictures = max(pictures, _ESTIMATES * step)
    return Lead(pictures, seconds, step)
