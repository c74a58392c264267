"""Slow work beside the live frames: one thread of low priority, one job at a time, and a network that is loaded there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.worker import lower_priority

_NICENESS = 10
"""Added to that of the process. Linux gives such a thread a tenth of the time of a normal one that wants the same core."""
_CANCEL_EVERY = 0.05


class Cancellable(Protocol):
    def cancel(self) -> None: ...
    def close(self) -> None: ...


N = TypeVar("N", bound=Cancellable)


class Background(Generic[N]):
    """A network of its own and the thread that it works on. `net` is to be called inside of jobs.

    Threads that the network makes while it is loaded inherit the low priority.
    """

    def __init__(self, load: Callable[[], N], failed: Callable[[Exception], None]) -> None:
        """load: called once, by the first job. failed: takes, on the thread, what a job raises; the next job runs all the same."""
        self._load = load
        self._failed = failed
        self._changed = threading.Condition()
        self._job: Callable[[], None] | None = None
        self._busy = False
        self._stopping = False
        self._net: N | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopping = self._busy = False
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def run(self, job: Callable[[], None]) -> bool:
        """Take a job if the thread is free. Never waits."""
        with self._changed:
            if self._busy or self._stopping or self._thread is None:
                return False
            self._job, self._busy = job, True
            self._changed.notify()
            return True

    def net(self) -> N:
        """The network, loaded when it is first asked for. Raises what loading raises."""
        if self._net is None:
            self._net = self._load()
        return self._net

    def prepare(self) -> None:
        """Load the network now, on the calling thread, whose priority it lowers for good. Raises what loading raises."""
        lower_priority(_NICENESS)
        self.net()

    def stop(self, timeout: float = 3.0) -> bool:
        """Cancel the job at work and end the thread; False if it is still at work after `timeout` seconds. The network stays."""
        thread = self._thread
        with self._changed:
            self._stopping, self._job = True, None
            self._changed.notify()
        for _ in range(max(1, round(timeout / _CANCEL_EVERY))):
            if thread is None or not thread.is_alive():
                break
            if self._net is not None:
                self._net.cancel()
            thread.join(_CANCEL_EVERY)
        self._thread = None
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Free the network; after `stop`."""
        if self._net is not None:
            self._net.close()
        self._net = None

    def _run(self) -> None:
        lower_priority(_NICENESS)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._job is not None)
                if self._stopping:
                    return
                job, self._job = self._job, None
            try:
                job()  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - a front door: a failed job is reported, and the next one runs
                if not (self._stopping and isinstance(error, CancelledError)):
                    self._failed(error)
            job = None  # a picture must not live until the next job
            with self._changed:
                self._busy = False
