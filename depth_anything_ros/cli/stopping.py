"""Ctrl-C: as an ordinary end, for verbs that run until they are told to stop, and in the middle of a network's work."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from depth_anything_ros.engine import Engine

Result = TypeVar("Result")


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


def interruptible(engine: Engine, action: Callable[[], Result]) -> Result:
    """What `action` gives, which uses the engine; KeyboardInterrupt cancels the engine's call.

    It runs in a thread of its own: Python hears a signal on the main thread alone, and there not before native code has ended.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():
                engine.cancel()  # without effect where the call has not begun
                wait([future], 0.05)
            raise
