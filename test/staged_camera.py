"""A camera for the engine room, without an engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Camera:
    """Stages that note what happens and when. infer: how long, or an event to wait for."""

    def __init__(self, infer: float | threading.Event = 0.0, prepare: float = 0.0, finish: float = 0.0, interval: float = 0.0) -> None:
        self.times = {"prepare": prepare, "finish": finish}
        self.infer_takes = infer
        self.gap = interval
        self.old: set[object] = set()
        self.bad: dict[object, Exception] = {}
        self.log: list[tuple[str, Any, float]] = []
        self.failures: list[Exception] = []

    def done(self, stage: str) -> list[Any]:
        return [frame for name, frame, _ in self.log if name == stage]

    def when(self, stage: str, frame: Any) -> float:
        return next(at for name, one, at in self.log if (name, one) == (stage, frame))

    def prepare(self, frame: Any) -> Any:
        return self._timed("prepare", "prepared", frame)

    def infer(self, prepared: Any) -> Any:
        self.log.append(("infer", prepared, time.monotonic()))
        if isinstance(self.infer_takes, threading.Event):
            self.infer_takes.wait(10)
        else:
            time.sleep(self.infer_takes)
        if prepared in self.bad:
            raise self.bad[prepared]
        self.log.append(("inferred", prepared, time.monotonic()))
        return prepared

    def finish(self, result: Any) -> None:
        self._timed("finish", "finished", result)

    def _timed(self, stage: str, done: str, frame: Any) -> Any:
        self.log.append((stage, frame, time.monotonic()))
        time.sleep(self.times[stage])
        if (stage, frame) in self.bad:
            raise self.bad[stage, frame]
        self.log.append((done, frame, time.monotonic()))
        return frame

    def failed(self, error: Exception) -> None:
        self.failures.append(error)

    def too_old(self, frame: Any) -> bool:
        return frame in self.old

    def interval(self) -> float:
        return self.gap


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)
