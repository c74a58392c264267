"""Ctrl-C while the network is at work."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from depth_anything_ros.cli.stopping import interruptible
from depth_anything_ros.errors import CancelledError


class Busy:
    """An engine whose call ends when it is cancelled, and hears that only once it has begun."""

    def __init__(self) -> None:
        self.running, self.cancelled = threading.Event(), threading.Event()

    def infer(self) -> None:
        threading.Event().wait(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.2)
        self.running.set()
        assert self.cancelled.wait(30), "nobody cancelled"
        raise CancelledError("engine.cancelled", "The inference was cancelled.")

    def cancel(self) -> None:
        if self.running.is_set():
            self.cancelled.set()


def test_an_interrupt_cancels_the_engine() -> None:
    engine = Busy()
    with pytest.raises(KeyboardInterrupt):
        interruptible(engine, engine.infer)
    assert engine.cancelled.is_set()


def test_results_and_errors_come_through() -> None:
    assert interruptible(Busy(), lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(Busy(), lambda: 1 // 0)
