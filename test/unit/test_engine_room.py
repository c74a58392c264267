"""The engine room without an engine: who is served when, what is dropped, and what overlaps."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest
from staged_camera import Camera, wait_for

from depth_anything_ros.engine_room import EngineRoom

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
    slot = engine.desk(0)
    wait_for(lambda: len(camera.done("finished")) + slot.dropped + slot.expired + len(camera.failures) >= 400)
    engine.stop()
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
    wait_for(lambda: all(camera.done("infer")[-1] == last for camera, last in zip(cameras, (59, 59, 40))))
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
    wait_for(lambda: all(camera.done("finished")[-1:] == [last] for camera, last in zip(cameras, (38, 39))))
    events = sorted((at, stage) for camera in cameras for stage, _, at in camera.log if stage in ("infer", "inferred"))
    assert len(events) > 10 and [stage for _, stage in events] == ["infer", "inferred"] * (len(events) // 2)


def test_a_frame_is_prepared_while_the_engine_works_and_taken_at_once(room: Room) -> None:
    """One frame per engine time: what waits is prepared by the time that the engine is free, once it is known how long that takes."""
    camera = Camera(infer=0.08, prepare=0.02)
    engine = room(camera)
    for number in range(14):
        engine.desk(0).offer(number)
        wait_for(lambda number=number: number in camera.done("infer"))
        time.sleep(0.01)
    ahead = [camera.when("prepared", n + 1) < camera.when("inferred", n) for n in range(4, 13)]
    assert sum(ahead) >= 5, "most: a busy machine makes one late now and then"
    assert engine.desk(0).dropped == 0


def test_a_prepared_frame_gives_way_to_a_newer_one(room: Room) -> None:
    gate, camera = threading.Event(), Camera(infer=0.05, prepare=0.01)
    engine = room(camera)
    for number in range(4):  # until it is known how long both take
        engine.desk(0).offer(number)
        wait_for(lambda number=number: number in camera.done("inferred"))
    camera.infer_takes = gate
    for frame, stage in (("at work", "infer"), ("prepared", "prepared")):
        engine.desk(0).offer(frame)
        wait_for(lambda frame=frame, stage=stage: frame in camera.done(stage))
    engine.desk(0).offer("newest")
    gate.set()
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
    begun, number = time.monotonic(), 0
    while time.monotonic() < begun + 1.0:
        engine.desk(0).offer(number)
        number += 1
        time.sleep(0.01)
    starts = [at for stage, _, at in camera.log if stage == "infer"]
    assert len(starts) <= (time.monotonic() - begun) / 0.1 + 1
    assert min(b - a for a, b in itertools.pairwise(starts)) < 0.15, "a busy machine is late with most of them at times"
    wait_for(lambda: camera.done("infer")[-1] == number - 1)
