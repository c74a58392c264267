"""The worker's promises: newest frame, counted drops, errors survived, stop within a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.worker import LatestFrameWorker, run_interruptibly


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the awaited did not happen"
        time.sleep(0.005)


def nothing() -> None:
    pass


@pytest.mark.case(49)
def test_the_newest_frame_wins_and_the_others_are_counted() -> None:
    seen: list[int] = []
    gate = threading.Event()

    def work(frame: int) -> None:
        seen.append(frame)
        gate.wait(5)

    worker = LatestFrameWorker(work, pytest.fail, nothing)
    worker.start()
    worker.offer(0)
    wait_for(lambda: seen == [0])
    for frame in range(1, 11):
        worker.offer(frame)
    assert worker.dropped == 9 and seen == [0], "a frame is taken only when the worker is free"
    gate.set()
    wait_for(lambda: seen == [0, 10])
    assert worker.stop() and not worker.alive


@pytest.mark.case(51)
def test_errors_are_told_and_survived() -> None:
    seen: list[int] = []
    failures: list[Exception] = []

    def work(frame: int) -> None:
        if frame < 2:
            raise (MemoryError("no room"), KeyError("gone"))[frame]
        seen.append(frame)

    worker = LatestFrameWorker(work, failures.append, nothing)
    worker.start()
    for frame in range(3):
        worker.offer(frame)
        wait_for(lambda done=frame + 1: len(seen) + len(failures) == done)
    assert [type(error) for error in failures] == [MemoryError, KeyError] and seen == [2]
    assert worker.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_whose_last_door_fails_is_seen_as_dead() -> None:
    def failed(error: Exception) -> None:
        raise error

    def work(frame: int) -> None:
        raise ValueError("bad")

    worker = LatestFrameWorker(work, failed, nothing)
    worker.start()
    worker.offer(1)
    wait_for(lambda: not worker.alive)


@pytest.mark.case(50)
@pytest.mark.parametrize("late", [0.0, 0.2])
def test_stop_ends_a_long_frame_even_if_it_starts_late(late: float) -> None:
    """`late` seconds pass in the frame before it reaches the part that can be cancelled; a cancel before that has no effect."""
    cancelled = threading.Event()
    begun = threading.Event()
    failures: list[Exception] = []

    def work(frame: int) -> None:
        begun.set()
        time.sleep(late)
        cancelled.clear()
        if cancelled.wait(30):
            raise CancelledError("engine.cancelled", "cancelled")

    worker = LatestFrameWorker(work, failures.append, cancelled.set)
    worker.start()
    worker.offer(1)
    assert begun.wait(5)
    worker.offer(2)
    started = time.monotonic()
    assert worker.stop()
    assert time.monotonic() - started < 1.0
    assert failures == [], "a cancelled frame on the way out is no failure"


def test_stop_tells_when_the_work_does_not_end() -> None:
    gate = threading.Event()
    worker = LatestFrameWorker(lambda frame: gate.wait(5), pytest.fail, nothing)
    worker.start()
    worker.offer(1)
    time.sleep(0.05)
    assert not worker.stop(timeout=0.1)
    gate.set()
    wait_for(lambda: not worker.alive)


def test_a_task_gives_its_result_or_its_error() -> None:
    assert run_interruptibly(lambda: 7, lambda: False) == 7
    with pytest.raises(KeyError):
        run_interruptibly(lambda: {}["x"], lambda: False)


@pytest.mark.case(50)
def test_a_task_that_cannot_be_cancelled_is_left_behind() -> None:
    gate = threading.Event()
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        run_interruptibly(lambda: gate.wait(10), lambda: time.monotonic() - begun > 0.2)
    assert time.monotonic() - begun < 1.0
    gate.set()


@pytest.mark.case(50)
def test_a_task_that_can_be_cancelled_has_ended() -> None:
    gate = threading.Event()
    ended: list[bool] = []
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        run_interruptibly(lambda: ended.append(gate.wait(10)), lambda: time.monotonic() - begun > 0.1, gate.set)
    assert ended == [True]
