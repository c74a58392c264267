"""Minutes and hundreds: a slow engine behind a fast camera, signals at random moments, memory over thousands of frames."""

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
RELIABLE_INPUT = ("-p", "qos_overrides./image.subscription.reliability:=reliable", "-p", "qos_overrides./image.subscription.depth:=30")
"""So that nothing is lost in the middleware, where nobody could count it."""
PICTURE = np.zeros((240, 320, 3), np.uint8)
COUNTS = ("processed", "dropped", "expired", "rejected", "failed", "unheard")


def timing_of(message: object) -> dict[str, float]:
    return {pair.key: float(pair.value) for pair in message.status[0].values}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.case(49)
@pytest.mark.case(53)
def test_ten_minutes_behind_a_fast_camera(rig: Rig, start: Start) -> None:
    """30 Hz, half a second per frame: age, memory and counts at the end. Some of the pictures cannot be used."""
    node = start(*MODEL, *RELIABLE_INPUT, seconds=0.5)
    rig.listen("depth/timing", "depth/image_rect", "points", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    ages, sent, early, last = [], 0, 0, {}
    begun = time.monotonic()
    while (now := time.monotonic() - begun) < 600:
        camera.publish(image_message(PICTURE, rig.node.get_clock().now().nanoseconds, "foo" if sent % 100 == 50 else "rgb8"))
        sent += 1
        rig.spin(max(0.001, begun + sent / 30 - time.monotonic()))
        for message in rig.received["depth/timing"]:
            last = timing_of(message)
            ages.append(last["age_ms"])
        if not early and now > 60:
            early = node.resident_bytes
        for inbox in rig.received.values():
            inbox.clear()
    grown = node.resident_bytes - early
    rig.spin(3.0)
    message = [s for m in rig.received["/diagnostics"] for s in m.status if s.name.endswith(": camera")][-1]
    counts = {pair.key: pair.value for pair in message.values}
    received = int(counts["received"])
    p99 = float(np.percentile(ages, 99))
    print(
        f"\nsent {sent}, received {received}, frames {len(ages)}, age p50 {np.median(ages):.0f} p99 {p99:.0f} max {max(ages):.0f} ms, "
        f"memory {grown / 1e6:+.1f} MB, {counts}"
    )
    assert received == sum(int(counts[key]) for key in COUNTS), counts
    assert received == sent, "a reliable reader loses nothing"
    assert grown < 5e6
    assert p99 <= 650.0


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.case(50)
def test_two_hundred_signals_at_random_moments(rig: Rig, start: Start) -> None:
    """During load, warm-up, frames, publishing, and between them; once or twice. Gone in 5 s, exit code 0, not a word too much."""
    moments = random.Random(200)
    topics = ("depth/image_rect", "points", "depth/color/compressed")
    rig.listen(*topics)
    camera = rig.camera()
    longest = 0.0
    for turn in range(200):
        engine = {"seconds": moments.choice([0.0, 0.005, 0.05, 0.5]), "load_seconds": moments.choice([0.0, 0.0, 1.0])}
        node = start(*MODEL, ready=False, **engine)
        node.wait_until_signals_are_its_own()
        end = time.monotonic() + moments.choice([moments.uniform(0.0, 1.0), moments.uniform(0.0, 4.0)])
        while time.monotonic() < end:
            camera.publish(image_message(PICTURE, 1))
            rig.spin(1 / 40)
        number = moments.choice([signal.SIGINT, signal.SIGTERM])
        asked = time.monotonic()
        node.signal(number)
        if turn % 3 == 0:
            time.sleep(moments.uniform(0.0, 0.1))
            node.signal(moments.choice([signal.SIGINT, signal.SIGTERM]))
        assert node.wait(5.0) == 0, (turn, node.log)
        longest = max(longest, time.monotonic() - asked)
        for word in ("Traceback", "Error", "terminate", "Segmentation", "core dumped"):
            assert word not in node.log, (turn, node.log)
        for topic in topics:
            rig.received[topic].clear()
    print(f"\nlongest way out {longest:.2f} s")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.case(53)
def test_two_thousand_frames_take_no_more_memory_than_two_hundred(rig: Rig, start: Start) -> None:
    """With all outputs, every fifth picture refused; then 160 changes of resolution; then nobody listens; then 20 times from anew."""
    topics = ("depth/image_rect", "points", "depth/sky_mask", "depth/camera_info", "depth/color/compressed")
    node = start(*MODEL, *RELIABLE_INPUT)
    rig.listen(*topics)
    camera = rig.camera()
    rig.wait_for_node(camera)

    def frames(count: int, size: tuple[int, int] = (320, 240)) -> None:
        picture = np.zeros((size[1], size[0], 3), np.uint8)
        for number in range(count):
            refused = number % 5 == 4
            camera.publish(image_message(picture, 1, "foo" if refused else "rgb8"))
            if not refused:
                rig.until(lambda: bool(rig.received["depth/image_rect"]), 1.0, required=False)
            for inbox in rig.received.values():
                inbox.clear()

    frames(200)
    early = node.resident_bytes
    frames(1800)
    assert node.resident_bytes - early < 5e6
    sizes = [(320, 240), (640, 480), (160, 120)]
    for turn in range(60):  # the first changes take 5 to 9 MB once for all, a cloud or two; 150 more 0.2 MB
        frames(5, sizes[turn % 3])
    early = node.resident_bytes
    for turn in range(100):
        frames(5, sizes[turn % 3])
    assert node.resident_bytes - early < 5e6
    for _ in range(3):
        for transition in ("DEACTIVATE", "CLEANUP", "CONFIGURE", "ACTIVATE"):
            assert rig.change_state(getattr(Transition, f"TRANSITION_{transition}"))
    early = node.resident_bytes
    for _ in range(20):
        for transition in ("DEACTIVATE", "CLEANUP", "CONFIGURE", "ACTIVATE"):
            assert rig.change_state(getattr(Transition, f"TRANSITION_{transition}"))
    assert node.resident_bytes - early < 5e6
