"""A long stream takes no more memory than a short one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from rig import NodeProcess, Rig, image_message

Start = Callable[..., NodeProcess]
TOPICS = ("depth/image_rect", "points", "depth/sky_mask", "depth/camera_info")


@pytest.mark.case(53)
def test_two_thousand_frames(rig: Rig, start: Start) -> None:
    """Every fifth picture is refused. The allocator settles in the first thousand; over the second, memory grows by less than 5 MB."""
    node = start("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0")
    rig.listen(*TOPICS)
    camera = rig.camera()
    rig.wait_for_node(camera)
    pixels = np.zeros((240, 320, 3), np.uint8)
    good, bad = image_message(pixels, 1), image_message(pixels, 1, "foo")
    early = came = 0
    for number in range(2000):
        if number == 1000:
            early = node.resident_bytes
        if number % 5:
            camera.publish(good)
            came += rig.until(lambda: bool(rig.received["depth/image_rect"]), 0.5, required=False)
        else:
            camera.publish(bad)
        for inbox in rig.received.values():
            inbox.clear()
    assert came > 1500
    assert early and node.resident_bytes - early < 5e6
