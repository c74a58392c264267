"""How far a long run is: what is done of what, how fast, time to go."""

from __future__ import annotations

import time
from typing import TextIO

_BAR = 24


class Progress:
    """On a terminal one line that is written over, elsewhere a line every few seconds.

    stream: where to; None for nowhere. things: what is counted. rate: what so many of them in a second are called.
    """

    def __init__(self, stream: TextIO | None, things: str = "frames", rate: str = "fps") -> None:
        self._stream, self._things, self._rate = stream, things, rate
        self._terminal = stream is not None and stream.isatty()
        self._period = 0.2 if self._terminal else 5.0
        self._total = self._done = self._before = 0
        self._began = self._shown = time.monotonic()

    def begin(self, total: int, done: int) -> None:
        """done: pictures that an earlier run has done."""
        self._total, self._done, self._before = total, done, done
        self._began = self._shown = time.monotonic()

    def say(self, text: str) -> None:
        self._print(text, "\n")

    def advance(self, count: int) -> None:
        self._done += count
        self._total = max(self._total, self._done)  # a video's own count is an estimate
        now = time.monotonic()
        if now - self._shown >= self._period:
            self._shown = now
            self._show(now)

    def clear(self) -> None:
        """Take the bar away, so that something else can be printed where it was; the next advance shows it again."""
        if self._terminal:
            self._print("\r\x1b[K", "")

    def end(self) -> None:
        if self._terminal and self._total:
            self._show(time.monotonic())
            self._print("", "\n")

    def _show(self, now: float) -> None:
        rate = (self._done - self._before) / max(now - self._began, 1e-3)
        left = (self._total - self._done) / rate if rate > 0.0 else 0.0
        text = f"{self._done}/{self._total} {self._things}, {rate:.1f} {self._rate}, {_clock(left)} to go"
        if self._terminal:
            full = _BAR * self._done // max(self._total, 1)
            self._print(f"\r[{'#' * full}{'.' * (_BAR - full)}] {text}   ", "")
        else:
            self.say(text)

    def _print(self, text: str, end: str) -> None:
        if self._stream is not None:
            print(text, end=end, file=self._stream, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
