"""The engine room without an engine: who is served when, what is dropped, what overlaps, and how it ends."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from depth_anything_ros.engine_room import EngineRoom
from depth_anything_ros.errors import CancelledError


class Camera:
    """Stages that note what happens and when. infer: how long, or an event to wait for."""

    def __init__(self, infer: float | threading.Event = 0.0, prepare: float = 0.0, finish: float = 0.0, interval: float = 0.0) -> None:
        self.times = {"prepare": prepare, "finish": finish}
        self.infer_takes = infer
        self.gap = interval
        self.old: set[object] = set()
        self.bad: dict[object, Exception] = {}
        self.log: list[tuple[str, Any, float]] = []
        self.failures: list[Exception] = []

    def done(self, stage: str) -> list[Any]:
        return [frame for name, frame, _ in self.log if name == stage]

    def when(self, stage: str, frame: Any) -> float:
        return next(at for name, one, at in self.log if (name, one) == (stage, frame))

    def prepare(self, frame: Any) -> Any:
        self.log.append(("prepare", frame, time.monotonic()))
        time.sleep(self.times["prepare"])
        if ("prepare", frame) in self.bad:
            raise self.bad["prepare", frame]
        self.log.append(("prepared", frame, time.monotonic()))
        return frame

    def infer(self, prepared: Any) -> Any:
        self.log.append(("infer", prepared, time.monotonic()))
        if isinstance(self.infer_takes, threading.Event):
            self.infer_takes.wait(10)
        else:
            time.sleep(self.infer_takes)
        if prepared in self.bad:
            raise self.bad[prepared]
        self.log.append(("inferred", prepared, time.monotonic()))
        return prepared

    def finish(self, result: Any) -> None:
        self.log.append(("finish", result, time.monotonic()))
        time.sleep(self.times["finish"])
        if ("finish", result) in self.bad:
            raise self.bad["finish", result]
        self.log.append(("finished", result, time.monotonic()))

    def failed(self, error: Exception) -> None:
        self.failures.append(error)

    def too_old(self, frame: Any) -> bool:
        return frame in self.old

    def interval(self) -> float:
        return self.gap


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def room() -> Iterator[Callable[..., EngineRoom]]:
    rooms: list[EngineRoom] = []

    def make(*cameras: Camera, cancel: Callable[[], None] = lambda: None, nice: int = 0) -> EngineRoom:
        rooms.append(EngineRoom(cameras, cancel, nice))
        rooms[-1].start()
        return rooms[-1]

    yield make
    for one in rooms:
        one.stop(1.0)


Room = Callable[..., EngineRoom]


@pytest.mark.case(49)
def test_the_newest_frame_wins_and_the_others_are_counted(room: Room) -> None:
    gate = threading.Event()
    camera = Camera(infer=gate)
    engine = room(camera)
    engine.desk(0).offer(0)
    wait_for(lambda: camera.done("infer") == [0])
    for frame in range(1, 11):
        engine.desk(0).offer(frame)
    time.sleep(0.05)
    assert engine.desk(0).dropped == 9 and camera.done("infer") == [0], "a frame is taken only when the engine is free"
    gate.set()
    wait_for(lambda: camera.done("finished") == [0, 10])


@pytest.mark.case(49)
def test_every_frame_is_accounted_for(room: Room) -> None:
    """A fast camera, frames that fail and frames that are too old: processed + dropped + expired + failed = offered."""
    camera = Camera(infer=0.004, prepare=0.002, finish=0.001)
    camera.old = {number for number in range(1000) if number % 7 == 0}
    camera.bad = {number: ValueError("bad") for number in range(1000) if number % 5 == 0}
    engine = room(camera)
    for number in range(400):
        engine.desk(0).offer(number)
        time.sleep(0.001)
    time.sleep(0.2)
    slot = engine.desk(0)
    assert slot.expired > 0 and slot.dropped > 0 and camera.failures
    assert len(camera.done("finished")) + slot.dropped + slot.expired + len(camera.failures) == 400


def test_cameras_take_turns(room: Room) -> None:
    cameras = [Camera(infer=0.005) for _ in range(3)]
    engine = room(*cameras)
    for number in range(60):
        for index in range(3):
            if index != 2 or number % 20 == 0:  # a slow camera among fast ones
                engine.desk(index).offer(number)
        time.sleep(0.005)
    time.sleep(0.1)
    fast = [len(camera.done("infer")) for camera in cameras[:2]]
    assert abs(fast[0] - fast[1]) <= 1 and min(fast) > 10
    assert cameras[2].done("infer") == [0, 20, 40], "and a slow camera loses nothing to fast ones"


def test_the_engine_goes_on_while_a_frame_is_finished(room: Room) -> None:
    """By one frame: it does not run ahead of what goes out."""
    gate = threading.Event()
    camera = Camera()
    camera.finish = lambda result: camera.log.append(("finish", result, 0.0)) or gate.wait(10)  # type: ignore[method-assign]
    engine = room(camera)
    for frame in range(3):
        engine.desk(0).offer(frame)
        wait_for(lambda frame=frame: frame in camera.done("inferred") or frame == 2)
    time.sleep(0.1)
    assert camera.done("finish") == [0] and camera.done("inferred") == [0, 1]
    gate.set()
    wait_for(lambda: camera.done("finish") == [0, 1, 2])


def test_one_frame_at_a_time_is_in_the_engine(room: Room) -> None:
    cameras = [Camera(infer=0.01, prepare=0.005, finish=0.01) for _ in range(2)]
    engine = room(*cameras)
    for number in range(40):
        engine.desk(number % 2).offer(number)
        time.sleep(0.005)
    time.sleep(0.1)
    events = sorted((at, stage) for camera in cameras for stage, _, at in camera.log if stage in ("infer", "inferred"))
    assert len(events) > 10 and [stage for _, stage in events] == ["infer", "inferred"] * (len(events) // 2)


def test_a_frame_is_prepared_while_the_engine_works_and_taken_at_once(room: Room) -> None:
    """One frame per engine time: what waits is prepared by the time that the engine is free."""
    camera = Camera(infer=0.08, prepare=0.02)
    engine = room(camera)
    for number in range(10):
        engine.desk(0).offer(number)
        wait_for(lambda number=number: number in camera.done("infer"))
        time.sleep(0.01)
    gaps = [camera.when("infer", n + 1) - camera.when("inferred", n) for n in range(9)]
    assert sorted(gaps)[len(gaps) // 2] < 0.5 * 0.02
    assert engine.desk(0).dropped == 0


def test_a_prepared_frame_gives_way_to_a_newer_one(room: Room) -> None:
    camera = Camera(infer=0.4, prepare=0.05)
    engine = room(camera)
    for number in range(4):
        engine.desk(0).offer(number)
        wait_for(lambda number=number: number in camera.done("infer"))
    engine.desk(0).offer("prepared")
    wait_for(lambda: "prepared" in camera.done("prepared"))
    engine.desk(0).offer("newest")
    wait_for(lambda: "newest" in camera.done("infer"))
    assert "prepared" not in camera.done("infer") and engine.desk(0).dropped == 1


@pytest.mark.case(51)
def test_errors_of_every_stage_are_told_and_survived(room: Room) -> None:
    camera = Camera(infer=0.02, prepare=0.005)
    camera.bad = {("prepare", 1): OSError("cut"), 2: MemoryError("no room"), ("finish", 3): KeyError("gone")}
    engine = room(camera)
    for frame in range(5):
        engine.desk(0).offer(frame)
        wait_for(lambda done=frame + 1: len(camera.done("finished")) + len(camera.failures) == done)
    assert [type(error) for error in camera.failures] == [OSError, MemoryError, KeyError]
    assert camera.done("finished") == [0, 4] and engine.alive


@pytest.mark.case(51)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_room_whose_last_door_fails_is_seen_as_dead(room: Room) -> None:
    camera = Camera()
    camera.bad = {1: ValueError("bad")}
    camera.failed = lambda error: (_ for _ in ()).throw(error)  # type: ignore[method-assign]
    engine = room(camera)
    engine.desk(0).offer(1)
    wait_for(lambda: not engine.alive)


def test_the_rate_is_kept_by_the_machine_s_clock(room: Room) -> None:
    camera = Camera(interval=0.1)
    engine = room(camera)
    end = time.monotonic() + 1.0
    number = 0
    while time.monotonic() < end:
        engine.desk(0).offer(number)
        number += 1
        time.sleep(0.01)
    starts = [at for stage, _, at in camera.log if stage == "infer"]
    assert 8 <= len(starts) <= 11
    assert min(b - a for a, b in itertools.pairwise(starts)) > 0.095
    wait_for(lambda: camera.done("infer")[-1] == number - 1)


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
    time.sleep(0.05)
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
def test_threads_sleep_while_there_is_nothing_for_them(room: Callable[..., EngineRoom]) -> None:
    """One that wakes for nothing takes the interpreter from the one that has work. Preparing takes no time, so it is not done ahead."""
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
    assert sleeps() - before < 20, "fewer than one a frame; on a busy machine preparing may seem to take time now and then"


@pytest.mark.case(55)
def test_a_rate_of_next_to_nothing_is_waited_for(room: Callable[..., EngineRoom]) -> None:
    camera = Camera(interval=math.inf)
    busy = room(camera)
    busy.desk(0).offer(1)
    time.sleep(0.1)
    assert busy.alive and not camera.log
    camera.gap = 0.0
    busy.desk(0).offer(2)
    wait_for(lambda: camera.done("finished") == [2])
