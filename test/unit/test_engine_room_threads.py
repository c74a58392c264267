"""The threads of the engine room: how they end, what priority they have, and that they sleep while there is nothing to do."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from staged_camera import Camera, wait_for

from depth_anything_ros import stage_clock
from depth_anything_ros.engine_room import EngineRoom
from depth_anything_ros.errors import CancelledError

Room = Callable[..., EngineRoom]


@pytest.mark.case(50)
@pytest.mark.parametrize("late", [0.0, 0.2])
def test_stop_ends_a_long_frame_even_if_it_starts_late(room: Room, late: float) -> None:
    """`late` seconds pass in the frame before it reaches the part that can be cancelled; a cancel before that has no effect."""
    cancelled, begun = threading.Event(), threading.Event()
    camera = Camera()

    def infer(frame: Any) -> Any:
        begun.set()
        time.sleep(late)
        cancelled.clear()
        if cancelled.wait(30):
            raise CancelledError("engine.cancelled", "cancelled")

    camera.infer = infer  # type: ignore[method-assign]
    engine = room(camera, cancel=cancelled.set)
    engine.desk(0).offer(1)
    assert begun.wait(5)
    engine.desk(0).offer(2)
    started = time.monotonic()
    assert engine.stop() and not engine.alive
    assert time.monotonic() - started < 1.0
    assert camera.failures == [], "a cancelled frame on the way out is no failure"


@pytest.mark.case(50)
def test_stop_tells_when_the_work_does_not_end(room: Room) -> None:
    gate = threading.Event()
    camera = Camera(infer=gate)
    engine = room(camera)
    engine.desk(0).offer(1)
    wait_for(lambda: camera.done("infer") == [1])
    started = time.monotonic()
    assert not engine.stop(timeout=0.2)
    assert time.monotonic() - started < 1.0, "one limit for all threads together"
    gate.set()


@pytest.mark.case(53)
def test_no_picture_outlives_its_turn(room: Room) -> None:
    class Picture:
        pass

    camera = Camera()
    camera.log = type("Nothing", (list,), {"append": lambda *_: None})()
    engine = room(camera)
    picture = Picture()
    alive = weakref.ref(picture)
    engine.desk(0).offer(picture)
    del picture
    wait_for(lambda: alive() is None)


def test_the_threads_are_nice(room: Room) -> None:
    seen: list[int] = []
    camera = Camera()
    for stage in ("prepare", "infer", "finish"):
        setattr(camera, stage, lambda frame: seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id())) or 1)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    engine = room(camera, nice=5)
    engine.desk(0).offer(1)
    wait_for(lambda: len(seen) == 3)
    assert seen == [min(19, before + 5)] * 3 and os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.skipif(sys.platform != "linux", reason="counts of context switches come from /proc")
def test_threads_sleep_while_there_is_nothing_for_them(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that wakes for nothing takes the interpreter from the one that has work. Preparing ahead is never worth it here."""
    monkeypatch.setattr(stage_clock, "_WORTH_PREPARING", math.inf)  # on a busy machine preparing may seem to take time
    camera = Camera()
    busy = room(camera)
    desk = busy.desk(0)
    (preparer,) = (thread for thread in threading.enumerate() if thread.name == "depth preparer")

    def sleeps() -> int:
        status = Path(f"/proc/self/task/{preparer.native_id}/status").read_text(encoding="ascii")
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    wait_for(lambda: sleeps() > 0)
    before = sleeps()
    for frame in range(20):
        desk.offer(frame)
        wait_for(lambda frame=frame: frame in camera.done("finished"))
    assert sleeps() - before < 5, "far fewer than one a frame"


@pytest.mark.case(55)
def test_a_rate_of_next_to_nothing_is_waited_for(room: Room) -> None:
    camera = Camera(interval=math.inf)
    busy = room(camera)
    busy.desk(0).offer(1)
    time.sleep(0.1)
    assert busy.alive and not camera.log
    camera.gap = 0.0
    busy.desk(0).offer(2)
    wait_for(lambda: camera.done("finished") == [2])
