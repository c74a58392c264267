"""Work away from the caller's thread: the newest frame only, and one long task that a stop request can end. Standard library only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from depth_anything_ros.errors import CancelledError

T = TypeVar("T")

_CANCEL_EVERY = 0.05
"""Seconds between two cancels: one that comes just before the work starts has no effect, so it is repeated until the work has ended."""


class LatestFrameWorker(Generic[T]):
    """One thread and one slot. A frame waits in the slot until the thread is free; a newer one replaces it and is counted as a drop.

    work: called with each frame on the worker's thread. failed: called there with every exception of `work`, which the worker survives;
    one that `failed` itself raises ends the thread (`alive` turns False). cancel: makes a running `work` return soon; any thread.
    """

    def __init__(self, work: Callable[[T], None], failed: Callable[[Exception], None], cancel: Callable[[], None]) -> None:
        self._work = work
        self._failed = failed
        self._cancel = cancel
        self._changed = threading.Condition()
        self._slot: T | None = None
        self._stopping = False
        self._dropped = 0
        self._thread = threading.Thread(target=self._run, name="depth worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def dropped(self) -> int:
        """Frames that were replaced before the worker took them."""
        with self._changed:
            return self._dropped

    def offer(self, frame: T) -> None:
        """Put a frame into the slot; never waits."""
        with self._changed:
            if self._slot is not None:
                self._dropped += 1
            self._slot = frame
            self._changed.notify()

    def stop(self, timeout: float = 3.0) -> bool:
        """Cancel what is at work, forget what waits, end the thread. False if the thread is still at work after `timeout` seconds."""
        with self._changed:
            self._stopping = True
            self._slot = None
            self._changed.notify()
        return _join_cancelling(self._thread, self._cancel, timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._slot is not None)
                if self._stopping:
                    return
                frame, self._slot = self._slot, None
            try:
                self._work(frame)  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - a front door: whatever a frame does, the next one is processed
                if not (self._stopping and isinstance(error, CancelledError)):
                    self._failed(error)
            frame = None  # a picture must not live until the next one comes


def run_interruptibly(task: Callable[[], T], stopping: Callable[[], bool], cancel: Callable[[], None] | None = None) -> T:
    """Result of `task`, run on a thread of its own so that this thread stays free for signals.

    Raises what the task raises, or CancelledError once `stopping()` is true: with `cancel` after the task has ended, without it at once,
    and the task is left behind on its daemon thread.
    """
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(task())
        except Exception as error:  # noqa: BLE001 - raised again on the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="depth task", daemon=True)
    thread.start()
    while thread.is_alive() and not stopping():
        thread.join(_CANCEL_EVERY)
    if stopping():
        if cancel is not None:
            _join_cancelling(thread, cancel, 3.0)
        raise CancelledError("engine.cancelled", "Stopped by request before the work was done.")
    if errors:
        raise errors[0]
    return results[0]


def _join_cancelling(thread: threading.Thread, cancel: Callable[[], None], timeout: float) -> bool:
    for _ in range(max(1, round(timeout / _CANCEL_EVERY))):
        if not thread.is_alive():
            return True
        cancel()
        thread.join(_CANCEL_EVERY)
    return not thread.is_alive()
