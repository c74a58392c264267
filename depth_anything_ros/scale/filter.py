"""Estimates over time to one scale: median of a window, age, spread, and a jump detector."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.scale.estimate import Estimate
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.types import Scale

_AGREEING = 3
"""Estimates that must agree with one another, against what is believed, to be a jump and no mistake."""
_FEWEST = 3
"""Estimates that stay in the window whatever their age, for sources that give one only now and then."""


class ScaleFilter:
    """Not thread-safe; the tracker that owns it is."""

    def __init__(self, options: ScaleOptions, least: int) -> None:
        """least: estimates that must agree before the first scale is believed."""
        self._options = options
        self._least = least
        self._believed: deque[Estimate] = deque(maxlen=256)
        self._doubted: deque[Estimate] = deque(maxlen=_AGREEING)
        self.accepted = 0
        self.rejected = 0
        self.jumps = 0

    def add(self, estimate: Estimate) -> None:
        """Believe an estimate, or hold it back until the next ones agree with it."""
        since = self.age(estimate.stamp_ns)
        if since is not None and since > self._options.max_age:
            self._believed.clear()  # what is not known any more has no say
        if self._believed and not self._fits(estimate):
            self._doubt(estimate)
            return
        self._doubted.clear()
        self._accept([estimate])

    def at(self, stamp_ns: int) -> Scale | None:
        """The scale for a frame of that stamp; None while too few estimates agree or after the last one is too old."""
        age = self.age(stamp_ns)
        if age is None or age > self._options.max_age or len(self._believed) < self._least:
            return None
        shift = float(np.median([one.scale.shift for one in self._believed]))
        return Scale(math.exp(float(np.median(self._logs()))), shift)

    def age(self, stamp_ns: int) -> float | None:
        """Seconds since the frame of the last estimate that was believed, or None without one."""
        return max(stamp_ns - self._believed[-1].stamp_ns, 0) * 1e-9 if self._believed else None

    @property
    def spread(self) -> float | None:
        """Relative deviation (1.48 MAD) of the estimates in the window; with one or two, what the last one says of itself."""
        if not self._believed:
            return None
        if len(self._believed) < _FEWEST:
            return self._believed[-1].spread
        logs = self._logs()
        return 1.4826 * float(np.median(np.abs(logs - np.median(logs))))

    @property
    def doubted(self) -> int:
        """Estimates in a row that do not fit what is believed."""
        return len(self._doubted)

    def _fits(self, estimate: Estimate) -> bool:
        centre = float(np.median(self._logs()))
        bound = max(math.log1p(self._options.jump), 3.0 * (self.spread or 0.0))
        return abs(math.log(estimate.scale.factor) - centre) <= bound

    def _doubt(self, estimate: Estimate) -> None:
        self.rejected += 1
        self._doubted.append(estimate)
        logs = [math.log(one.scale.factor) for one in self._doubted]
        if len(logs) == _AGREEING and max(logs) - min(logs) <= math.log1p(self._options.jump):
            self.jumps += 1
            self._believed.clear()
            self._accept(list(self._doubted))
            self._doubted.clear()

    def _accept(self, estimates: list[Estimate]) -> None:
        self.accepted += len(estimates)
        self._believed.extend(estimates)
        oldest = self._believed[-1].stamp_ns - round(self._options.window * 1e9)
        while len(self._believed) > _FEWEST and self._believed[0].stamp_ns < oldest:
            self._believed.popleft()

    def _logs(self) -> NDArray[np.float64]:
        return np.log([one.scale.factor for one in self._believed])
