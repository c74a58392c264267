"""The state of a scale over frames: time that goes back, results that come late, reasons."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from box_room import look, pose_at
from looking import frame_at, prediction_of

from depth_anything_ros.scale.estimate import Deliver, Estimate, Refusal
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import DepthKind, Frame, Prediction, Scale

DEPTH = look(pose_at(0.0))[0]


class Scripted:
    """Says what it is told to, when it is told to."""

    least = 1
    kinds = frozenset({DepthKind.RELATIVE_DEPTH})

    def __init__(self, reading: Callable[[Frame], Estimate | Refusal | None]) -> None:
        self.reading = reading
        self.resets = 0
        self.delivers: list[Deliver] = []

    def observe(self, frame: Frame, prediction: Prediction, deliver: Deliver) -> None:
        self.delivers.append(deliver)
        reading = self.reading(frame)
        if reading is not None:
            deliver(reading)

    def reset(self) -> None:
        self.resets += 1


def always(factor: float) -> Callable[[Frame], Estimate]:
    return lambda frame: Estimate(frame.stamp_ns, Scale(factor), 0.1)


def ask(tracker: ScaleTracker, second: float) -> Scale | None:
    return tracker.scale_of(frame_at(pose_at(0.0), second), prediction_of(DEPTH))


def test_state_says_how_well_the_scale_is_known() -> None:
    source = Scripted(always(2.0))
    tracker = ScaleTracker("range", source, ScaleOptions(max_age=5.0))
    state = tracker.state()
    assert (state.source, state.scale, state.age, state.spread, state.accepted) == ("range", None, None, None, 0)
    assert ask(tracker, 1.0) == Scale(pytest.approx(2.0))
    source.reading = lambda frame: Refusal("fog")
    assert ask(tracker, 4.0) is not None
    state = tracker.state()
    assert (state.age, state.accepted, state.refusal) == (pytest.approx(3.0), 1, "fog")
    assert ask(tracker, 6.5) is None and tracker.state().scale is None
    source.reading = always(2.0)
    assert ask(tracker, 6.6) is not None and tracker.state().refusal == ""


def test_a_look_that_takes_longer_than_the_scale_may_be_old_is_a_reason() -> None:
    source = Scripted(lambda frame: None)
    tracker = ScaleTracker("metric_model", source, ScaleOptions(max_age=5.0))
    assert ask(tracker, 1.0) is None and tracker.state().refusal == ""
    assert ask(tracker, 7.0) is None
    source.delivers[0](Estimate(10**9, Scale(3.0), 0.1))
    assert ask(tracker, 8.0) is None and "scale.max_age" in tracker.state().refusal
    source.delivers[1](Estimate(7 * 10**9, Scale(3.0), 0.1))
    assert ask(tracker, 9.0) is not None and tracker.state().refusal == ""


@pytest.mark.case(44)
def test_a_second_loop_begins_anew() -> None:
    """Another loop, another scale: the first frame has it."""
    source = Scripted(always(2.0))
    tracker = ScaleTracker("range", source, ScaleOptions())
    for loop in range(3):
        source.reading = always(2.0 * (loop + 1))
        for step in range(10):
            assert ask(tracker, 100.0 + step / 5) == Scale(pytest.approx(2.0 * (loop + 1)))
        assert source.resets == loop and tracker.state().accepted == 10


@pytest.mark.case(43)
@pytest.mark.parametrize("stamps", [[-1.0, -1_000_000_000.0, 5.0], [1.0, 0.9, 1.1, 1.0, 1.2, 1.1], [10.0, 5.0, 10.1, 5.1]])
def test_time_may_go_anywhere(stamps: list[float]) -> None:
    tracker = ScaleTracker("range", Scripted(always(2.0)), ScaleOptions())
    for second in stamps:
        assert ask(tracker, second) is not None
        age = tracker.state().age
        assert age is not None and 0.0 <= age < 1.0


def test_swapped_frames_do_not_begin_anew() -> None:
    source = Scripted(always(2.0))
    tracker = ScaleTracker("range", source, ScaleOptions())
    for second in (1.0, 1.2, 1.1, 1.4, 1.3):
        ask(tracker, second)
    assert source.resets == 0 and tracker.state().accepted == 5


def test_results_may_come_later_from_another_thread_but_not_from_before_a_reset() -> None:
    source = Scripted(lambda frame: None)
    tracker = ScaleTracker("metric_model", source, ScaleOptions())
    assert ask(tracker, 1.0) is None
    thread = threading.Thread(target=source.delivers[0], args=(Estimate(10**9, Scale(3.0), 0.1),))
    thread.start()
    thread.join()
    assert ask(tracker, 1.1) == Scale(pytest.approx(3.0))
    tracker.reset()
    source.delivers[0](Estimate(10**9, Scale(3.0), 0.1))
    source.delivers[1](Refusal("late"))
    assert ask(tracker, 1.2) is None and tracker.state().refusal == ""
    assert source.resets == 1 and np.isfinite(DEPTH).all()
