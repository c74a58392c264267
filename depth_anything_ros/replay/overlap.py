"""Reading ahead and writing behind on threads of their own, so that the engine never waits for the disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from depth_anything_ros.errors import CancelledError

T = TypeVar("T")
_POLL = 0.1
_END = object()


def read_ahead(items: Iterable[T], count: int) -> Iterator[T]:
    """The items, up to `count` of them taken in advance on a thread. Raises here what taking them raises.

    The thread ends when the iterator is closed or used up.
    """
    waiting: queue.Queue[Any] = queue.Queue(count)
    closed = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for item in items:
                if not _put(waiting, item, closed.is_set):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again on the caller's thread
            errors.append(error)
        _put(waiting, _END, closed.is_set)

    thread = threading.Thread(target=run, name="read ahead", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not _END:
            yield item
    finally:
        closed.set()
        thread.join()
    if errors:
        raise errors[0]


class WriteBehind(Generic[T]):
    """Runs `write` on a thread with the items that are `put`, in order; at most `count` of them wait.

    A context manager: leaving it waits until `write` has returned. What `write` raises is raised by the next `put` or at the end. After an
    error in the block, its iterator raises CancelledError, so that `write` does not take what came for all.
    """

    def __init__(self, write: Callable[[Iterator[T]], None], count: int) -> None:
        self._write = write
        self._waiting: queue.Queue[Any] = queue.Queue(count)
        self._errors: list[BaseException] = []
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name="write behind", daemon=True)

    def put(self, item: T) -> None:
        if not _put(self._waiting, item, lambda: bool(self._errors)):
            raise self._errors[0]

    def __enter__(self) -> WriteBehind[T]:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self._abandoned.set()
        _put(self._waiting, _END, lambda: bool(self._errors))
        self._thread.join()
        if error is None and self._errors:
            raise self._errors[0]

    def _run(self) -> None:
        try:
            self._write(self._items())
        except BaseException as error:  # noqa: BLE001 - raised again on the caller's thread
            self._errors.append(error)

    def _items(self) -> Iterator[T]:
        while (item := self._waiting.get()) is not _END:
            yield item
        if self._abandoned.is_set():
            raise CancelledError("engine.cancelled", "The work ended before all was there.")


def _put(waiting: queue.Queue[Any], item: Any, given_up: Callable[[], bool]) -> bool:
    """False when nobody takes items any more."""
    while not given_up():
        try:
            waiting.put(item, timeout=_POLL)
            return True
        except queue.Full:
            continue
    return False
