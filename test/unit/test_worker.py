"""Tasks on a thread of their own that a stop request can end."""

from __future__ import annotations

import threading
import time

import pytest

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.worker import run_interruptibly


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
