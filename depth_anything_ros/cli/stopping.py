"""Signals: as an ordinary end, for verbs that run until they are told to stop; in the middle of a network's work; and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from depth_anything_ros.engine import Engine

Result = TypeVar("Result")
TERMINATED = 143
"""Exit code, as shells have it: 128 and the number of the signal."""


@contextmanager
def stop_request() -> Iterator[Callable[[], bool]]:
    """Inside the block SIGINT and SIGTERM only make the given function return True. To be used on the main thread."""
    # A list, since its append is safe in a handler that interrupts anything; an Event's lock is not.
    requests: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda received, _: requests.append(received)) for number in numbers]
    try:
        yield lambda: bool(requests)
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Inside the block SIGTERM raises SystemExit, so that what is unfinished is cleared away; by itself it ends a process on the spot."""
    if threading.current_thread() is not threading.main_thread():  # the only one that may set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def interruptible(engine: Engine, action: Callable[[], Result]) -> Result:
    """What `action` gives, which uses the engine; KeyboardInterrupt and SystemExit cancel the engine's call.

    It runs in a thread of its own: Python hears a signal on the main thread alone, and there not before native code has ended.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        try:
            return future.result()
        except (KeyboardInterrupt, SystemExit):
            while not future.done():
                engine.cancel()  # without effect where the call has not begun
                wait([future], 0.05)
            raise
