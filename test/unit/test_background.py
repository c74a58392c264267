"""Slow work beside the live frames: one job at a time, a network that is loaded once, low priority, a stop that ends it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from depth_anything_ros.background import Background
from depth_anything_ros.errors import CancelledError, ModelError


class Net:
    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.closed = False

    def work(self) -> None:
        """A minute, unless it is cancelled."""
        if self.cancelled.wait(60.0):
            raise CancelledError("engine.cancelled", "Stopped.")

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def failures() -> list[Exception]:
    return []


@pytest.fixture
def background(failures: list[Exception]) -> Iterator[Background[Net]]:
    made = Background(Net, failures.append)
    made.start()
    yield made
    made.stop()


def finish(background: Background[Net], job: Callable[[], object]) -> None:
    """Run a job and wait until it is done and the thread is free."""
    done = threading.Event()

    def run() -> None:
        try:
            job()
        finally:
            done.set()

    assert background.run(run) and done.wait(5.0)
    free = threading.Event()
    while not background.run(free.set):
        free.wait(0.001)
    assert free.wait(5.0)


def test_one_job_at_a_time_and_one_network(background: Background[Net]) -> None:
    nets = []
    finish(background, lambda: nets.append(background.net()))
    gate = threading.Event()
    while not background.run(lambda: gate.wait(5.0)):
        pass
    assert not background.run(lambda: None), "busy"
    gate.set()
    while not background.run(lambda: nets.append(background.net())):
        pass
    assert background.stop() and nets[0] is nets[-1]
    background.close()
    assert nets[0].closed


def test_a_failed_job_is_reported_and_the_next_one_runs(background: Background[Net], failures: list[Exception]) -> None:
    def fail() -> None:
        raise ModelError("model.missing", "no such file")

    seen = []
    finish(background, fail)
    finish(background, lambda: seen.append(1))
    assert [str(one) for one in failures] == ["no such file"] and seen == [1]


def test_stop_ends_what_is_at_work_and_start_goes_on(background: Background[Net], failures: list[Exception]) -> None:
    begun = threading.Event()

    def job() -> None:
        net = background.net()
        begun.set()
        net.work()

    assert background.run(job) and begun.wait(5.0)
    assert background.stop(2.0) and not failures
    assert not background.run(lambda: None), "stopped"
    background.start()
    finish(background, lambda: None)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux only")
def test_it_works_at_a_low_priority_and_so_do_the_threads_of_its_network(background: Background[Net]) -> None:
    found = []

    def priority() -> None:
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    def job() -> None:
        priority()
        thread = threading.Thread(target=priority)
        thread.start()
        thread.join()

    finish(background, job)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert found == [min(own + 10, 19)] * 2
