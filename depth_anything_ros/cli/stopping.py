"""Ctrl-C as an ordinary end: for verbs that run until they are told to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
