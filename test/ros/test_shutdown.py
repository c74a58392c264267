"""The end of the process: by signal at any moment, and by a model that cannot be loaded."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rig import NodeProcess, Rig, image_message

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0")
PICTURE = np.zeros((8, 12, 3), np.uint8)
SIGNALS = [signal.SIGINT, signal.SIGTERM]


def assert_clean_end(node: NodeProcess, seconds: float = 5.0) -> None:
    assert node.wait(seconds) == 0, node.log
    for word in ("Traceback", "Error", "terminate", "Segmentation", "core dumped"):
        assert word not in node.log, node.log


@pytest.mark.case(50)
@pytest.mark.parametrize("number", SIGNALS)
def test_while_a_long_frame_is_at_work(rig: Rig, start: Start, number: int) -> None:
    node = start(*MODEL, seconds=0.0, slow_from_call=2)
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(PICTURE, 1)), "depth/image_rect")
    camera.publish(image_message(PICTURE, 2))
    rig.spin(0.5)
    node.signal(number)
    assert_clean_end(node)


@pytest.mark.case(50)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("stage", [{"load_seconds": 20.0}, {"seconds": 20.0}], ids=["load", "warm_up"])
def test_during_load_and_warm_up(start: Start, number: int, stage: dict[str, float]) -> None:
    node = start(*MODEL, ready=False, **stage)
    node.wait_until_signals_are_its_own()
    time.sleep(1.0)
    assert node.running
    node.signal(number)
    assert_clean_end(node)


@pytest.mark.case(50)
def test_twice_in_a_row(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    node.signal(signal.SIGINT)
    node.signal(signal.SIGINT)
    time.sleep(0.05)
    node.signal(signal.SIGTERM)
    assert_clean_end(node)


@pytest.mark.case(50)
def test_at_random_moments_of_a_running_stream(rig: Rig, start: Start) -> None:
    moments = random.Random(50)
    rig.listen("depth/image_rect", "points", "depth/camera_info")
    camera = rig.camera()
    for turn in range(10):
        node = start(*MODEL, ready=False, seconds=0.03)
        node.wait_until_signals_are_its_own()
        end = time.monotonic() + moments.uniform(0.0, 2.0)
        while time.monotonic() < end:
            camera.publish(image_message(PICTURE, 1))
            rig.spin(1 / 60)
        node.signal(SIGNALS[turn % 2])
        assert_clean_end(node)


@pytest.mark.case(69)
@pytest.mark.parametrize(
    ("arguments", "engine", "code", "text"),
    [
        (MODEL, {"missing": True}, 3, "fake.gguf: no such file."),
        (("--ros-args",), {}, 2, "parameter model is empty"),
        ((*MODEL, "-p", "depth.min:=-1.0"), {}, 2, "depth.min"),
        ((*MODEL, "-p", "depth.min:=300.0"), {}, 2, "depth.min 300"),
        ((*MODEL, "-p", "depth.max:=5"), {}, 2, "depth.max"),
        ((*MODEL, "-p", "sky.policy:=grey"), {}, 2, "sky.policy 'grey' must be one of inf, nan, max"),
    ],
    ids=["model", "no_model", "range", "pair", "type", "choice"],
)
def test_a_start_that_cannot_work(start: Start, arguments: tuple[str, ...], engine: dict[str, object], code: int, text: str) -> None:
    node = start(*arguments, ready=False, **engine)
    assert node.wait(5.0) == code, node.log
    (line,) = [line for line in node.log.splitlines() if text in line]
    assert "Traceback" not in node.log and ("ERROR" in line or "FATAL" in line)


@pytest.mark.case(69)
def test_without_autostart_a_failed_load_leaves_the_node_there(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "autostart:=false", ready=False, missing=True)
    assert not rig.change_state(Transition.TRANSITION_CONFIGURE)
    assert "fake.gguf: no such file." in node.log and node.running
    assert not rig.change_state(Transition.TRANSITION_CONFIGURE), "still unconfigured, so it may be tried again"
    node.signal()
    assert_clean_end_ignoring_errors(node)


def assert_clean_end_ignoring_errors(node: NodeProcess) -> None:
    assert node.wait(5.0) == 0 and "Traceback" not in node.log, node.log


def test_transitions_that_cannot_be_are_refused(rig: Rig, start: Start) -> None:
    """A lifecycle manager wants to configure and activate a node that has done so itself; and after its end nothing is possible."""
    node = start(*MODEL)
    for asked in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CLEANUP, 250):
        assert not rig.change_state(asked)
    assert "Transition 1 is refused" in node.log
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(PICTURE, 1)), "depth/image_rect")
    assert rig.change_state(Transition.TRANSITION_ACTIVE_SHUTDOWN) and not rig.change_state(Transition.TRANSITION_CONFIGURE)
    node.signal()
    assert_clean_end(node)


def test_the_whole_life(rig: Rig, start: Start) -> None:
    """configure, activate, deactivate in the middle of a frame, activate, clean up, and all over again."""
    node = start(*MODEL, "-p", "autostart:=false", ready=False, seconds=0.2)
    rig.listen("depth/image_rect")
    camera = rig.camera()
    for _ in range(2):
        assert rig.change_state(Transition.TRANSITION_CONFIGURE)
        rig.spin(0.3)
        assert camera.get_subscription_count() == 0
        for _ in range(2):
            assert rig.change_state(Transition.TRANSITION_ACTIVATE)
            rig.wait_for_node(camera)
            rig.next(lambda: camera.publish(image_message(PICTURE, 1)), "depth/image_rect")
            camera.publish(image_message(PICTURE, 2))
            rig.spin(0.05)
            assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
            rig.until(lambda: camera.get_subscription_count() == 0)
        assert rig.change_state(Transition.TRANSITION_CLEANUP)
    assert rig.change_state(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    node.signal()
    assert_clean_end(node)
