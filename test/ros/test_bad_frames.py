"""Pictures that cannot be used and engines that fail: said once, counted, survived."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from rclpy.serialization import serialize_message
from rig import NodeProcess, Rig, image_message, values_of
from sensor_msgs.msg import Image

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0")
GOOD = np.full((8, 12, 3), 100, np.uint8)


def damaged(**fields: object) -> Image:
    message = image_message(GOOD, 1)
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def with_bytes(size: int) -> Image:
    message = damaged()
    del message.data[:]
    message.data.frombytes(bytes(size))
    return message


def not_utf8() -> bytes:
    """A serialised picture whose encoding is four bytes that no text has."""
    raw = bytes(serialize_message(damaged(encoding="ABCD")))
    assert raw.count(b"ABCD") == 1
    return raw.replace(b"ABCD", b"\xff\xfe\x80\xff")


BAD: dict[str, Callable[[], Image | bytes]] = {
    "no data": lambda: with_bytes(0),
    "one byte short": lambda: with_bytes(8 * 36 - 1),
    "half": lambda: with_bytes(4 * 36),
    "ten megabytes too long": lambda: with_bytes(8 * 36 + 10_000_000),
    "height times step overflows": lambda: damaged(height=65536, width=21845, step=65536),
    "huge": lambda: damaged(height=2**32 - 1, width=2**32 - 1, step=2**32 - 1),
    "zero size": lambda: damaged(height=0, width=0, step=0),
    "step too small": lambda: damaged(step=35),
    "no encoding": lambda: damaged(encoding=""),
    "unknown encoding": lambda: damaged(encoding="foo"),
    "capitals": lambda: damaged(encoding="RGB8"),
    "float colours": lambda: damaged(encoding="32FC3"),
    "long encoding": lambda: damaged(encoding="x" * 4096),
    "encoding is no text": not_utf8,
}


@pytest.mark.case(4)
@pytest.mark.case(12)
def test_every_bad_frame_is_survived(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for name, make in BAD.items():
        before = len(rig.received["depth/image_rect"])
        camera.publish(make())
        rig.spin(0.15)
        assert len(rig.received["depth/image_rect"]) == before, name
        (depth,) = rig.next(lambda: camera.publish(image_message(GOOD, 2)), "depth/image_rect")
        np.testing.assert_allclose(values_of(depth), 1.0 + 100 / 255, rtol=1e-6, err_msg=name)
    assert node.running
    assert "rgb8, bgr8" in node.log, "the accepted names are told"
    assert node.log.count("\n") < 30 and max(map(len, node.log.splitlines())) < 400

    def rejected() -> bool:
        statuses = [status for message in rig.received["/diagnostics"] for status in message.status]
        return any(
            pair.key == "rejected" and int(pair.value) >= 10 and status.level == DiagnosticStatus.WARN
            for status in statuses
            for pair in status.values
        )

    rig.until(rejected, 3.0)


@pytest.mark.case(12)
def test_the_log_is_not_flooded_by_ever_new_names(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    lines = node.log.count("\n")
    for number in range(300):
        camera.publish(damaged(encoding=f"foo{number}"))
        rig.spin(1 / 30)
    assert 1 <= node.log.count("\n") - lines < 20
    rig.next(lambda: camera.publish(image_message(GOOD, 2)), "depth/image_rect")


@pytest.mark.case(51)
def test_a_failing_engine_is_told_and_survived(rig: Rig, start: Start) -> None:
    node = start(*MODEL, failures={"2": "memory", "4": "foreign", "6": "device"})
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    for _ in range(3):
        rig.next(lambda: camera.publish(image_message(GOOD, 1)), "depth/image_rect")
        camera.publish(image_message(GOOD, 1))
        rig.spin(0.2)
    rig.next(lambda: camera.publish(image_message(GOOD, 1)), "depth/image_rect")
    assert len(rig.received["depth/image_rect"]) == 4
    for text in ("MemoryError: no room", "unknown exception", "The graph failed."):
        assert text in node.log
    rig.received["/diagnostics"].clear()

    def failed() -> bool:
        statuses = [status for message in rig.received["/diagnostics"] for status in message.status]
        return any(s.level == DiagnosticStatus.ERROR and "The graph failed." in s.message for s in statuses)

    rig.until(failed, 3.0)


@pytest.mark.case(51)
@pytest.mark.parametrize("autostart", ["true", "false"])
def test_a_dead_thread_ends_the_node(rig: Rig, start: Start, autostart: str) -> None:
    """Also one that a lifecycle manager looks after, which would wait for ever for what does not come."""
    node = start(*MODEL, "-p", f"autostart:={autostart}", ready=autostart == "true", failures={"2": "end"})
    if autostart == "false":
        assert rig.change_state(Transition.TRANSITION_CONFIGURE) and rig.change_state(Transition.TRANSITION_ACTIVATE)
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(GOOD, 1)), "depth/image_rect")
    camera.publish(image_message(GOOD, 2))
    assert node.wait(10) == 1 and node.log.count("worker thread has died") == 1 and "Traceback" not in node.log, node.log
