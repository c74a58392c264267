"""Says which of many log lines are worth printing."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable


class LogThrottle:
    """A line passes if it was not printed within `period` seconds and fewer than `burst` lines were.

    New causes show at once, repeated ones now and then (with an infinite period, once), and a flood of ever new ones (garbage from the
    wire) stays bounded. Any thread.
    """

    def __init__(self, period: float = 20.0, burst: int = 12, clock: Callable[[], float] = time.monotonic) -> None:
        self._period = period
        self._burst = burst
        self._clock = clock
        self._printed: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def passes(self, line: str) -> bool:
        now = self._clock()
        with self._lock:
            while self._printed and now - next(iter(self._printed.values())) >= self._period:
                self._printed.popitem(last=False)
            if line in self._printed or len(self._printed) >= self._burst:
                return False
            self._printed[line] = now
            return True
