"""What a source says about one frame, and what a source is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from depth_anything_ros.types import DepthKind, Frame, Prediction, Scale


@dataclass(frozen=True)
class Estimate:
    """The scale of one frame as a source measured it."""

    stamp_ns: int
    """Of the frame."""
    scale: Scale
    spread: float
    """Robust relative deviation of the single measurements behind it (0.1 is 10 %)."""


@dataclass(frozen=True)
class Refusal:
    """Why a source gives no estimate for a frame, for people."""

    reason: str


class WithoutMemory:
    """Of a source that looks at each frame alone."""

    def reset(self) -> None:
        """Nothing is kept from frame to frame."""

    def memory(self) -> object:
        return None

    def recall(self, memory: object) -> None:
        """There is nothing."""


Deliver = Callable[[Estimate | Refusal], None]


class ScaleSource(Protocol):
    """Measures the scale of the frames of one camera."""

    @property
    def least(self) -> int:
        """Estimates that must agree before the first scale is believed."""

    @property
    def kinds(self) -> frozenset[DepthKind]:
        """Of depth, that it can measure."""

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        """Look at a frame; `deliver` is called at once, later from another thread, or not at all."""

    def reset(self) -> None:
        """Forget earlier frames."""

    def memory(self) -> object:
        """What is known of earlier frames, for another process; no job may be at work."""

    def recall(self, memory: object) -> None:
        """Go on from a `memory`."""
