"""Work away from the caller's thread that a stop request can end. Standard library only."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from depth_anything_ros.errors import CancelledError

T = TypeVar("T")

_CANCEL_EVERY = 0.05
"""Seconds between two cancels: one that comes just before the work starts has no effect, so it is repeated until the work has ended."""


class BackgroundTask(Generic[T]):
    """One call on a thread of its own, started at once."""

    def __init__(self, task: Callable[[], T]) -> None:
        self._task = task
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="depth task", daemon=True)
        self._thread.start()

    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Until it has ended, but not longer than this."""
        self._thread.join(seconds)

    def result(self) -> T:
        """What the call gave; raises what it raised. To be asked when it is done."""
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def cancel(self, cancel: Callable[[], None], timeout: float = 3.0) -> bool:
        """Call `cancel` until the task has ended; False if it has not after `timeout` seconds, and is left behind on its daemon thread."""
        return join_cancelling(self._thread, cancel, timeout)

    def _run(self) -> None:
        try:
            self._results.append(self._task())
        except Exception as error:  # noqa: BLE001 - raised again on the thread that asks for the result
            self._errors.append(error)


def run_interruptibly(task: Callable[[], T], stopping: Callable[[], bool], cancel: Callable[[], None] | None = None) -> T:
    """Result of `task`, run on a thread of its own so that this thread stays free for signals.

    Raises what the task raises, or CancelledError once `stopping()` is true: with `cancel` after the task has ended, without it at once,
    and the task is left behind on its daemon thread.
    """
    running = BackgroundTask(task)
    while not running.done() and not stopping():
        running.wait(_CANCEL_EVERY)
    if stopping():
        if cancel is not None:
            running.cancel(cancel)
        raise CancelledError("engine.cancelled", "Stopped by request before the work was done.")
    return running.result()


def join_cancelling(thread: threading.Thread, cancel: Callable[[], None], timeout: float) -> bool:
    """Wait for a thread's end and call `cancel` again and again meanwhile. False if it has not ended after `timeout` seconds."""
    for _ in range(max(1, round(timeout / _CANCEL_EVERY))):
        if not thread.is_alive():
            return True
        cancel()
        thread.join(_CANCEL_EVERY)
    return not thread.is_alive()


def lower_priority(nice: int) -> None:
    """Add to the niceness of the calling thread, and of those that it will make (Linux; elsewhere threads have none of their own)."""
    if nice > 0 and sys.platform == "linux":
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, min(os.getpriority(os.PRIO_PROCESS, own) + nice, 19))
