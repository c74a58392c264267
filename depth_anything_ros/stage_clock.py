"""How long the stages of a frame take, and when it pays to prepare the next one ahead. Standard library only."""

from __future__ import annotations

import time

_WORTH_PREPARING = 1e-3
"""Seconds of preparation below which doing it ahead costs more than it saves."""
_MARGIN = 5e-3


class StageClock:
    """Knows from that when the engine will be free. Guarded by the lock of the `engine_room`."""

    def __init__(self) -> None:
        self._infer = 0.0
        self._prepare = 0.0
        self._started: float | None = None

    def begin(self) -> None:
        self._started = time.monotonic()

    def end(self) -> None:
        if self._started is not None:
            seconds = time.monotonic() - self._started
            self._infer = seconds if self._infer == 0.0 else self._infer + 0.2 * (seconds - self._infer)
        self._started = None

    def prepared(self, seconds: float) -> None:
        self._prepare += 0.2 * (seconds - self._prepare)

    def until_worth_it(self) -> float | None:
        """Seconds until preparing ahead pays: the engine is at work and will soon be free. None while it does not pay at all."""
        if self._started is None or self._prepare <= _WORTH_PREPARING:
            return None
        return max(0.0, self._started + self._infer - 2.0 * self._prepare - _MARGIN - time.monotonic())
