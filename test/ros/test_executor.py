"""The node on rclpy's executor of events, where it is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from lifecycle_msgs.msg import Transition
from rig import NodeProcess, Rig, image_message
from std_srvs.srv import Trigger

Start = Callable[..., NodeProcess]


def test_the_executor_of_events_does_all_of_it(rig: Rig, start: Start) -> None:
    """Frames, parameters, services, timers, transitions, and a clean end."""
    node = start("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0", "-p", "executor:=events")
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    picture = np.zeros((8, 12, 3), np.uint8)
    for stamp in range(1, 20):
        (depth,) = rig.next(lambda s=stamp: camera.publish(image_message(picture, s)), "depth/image_rect")
        assert depth.header.stamp.nanosec == stamp
    assert rig.set_parameters({"depth.max": 50.0}) == "" and "depth.max" in rig.set_parameters({"depth.max": -1.0})
    assert rig.call(Trigger, "/depth_anything/reset").success
    rig.until(lambda: len(rig.received["/diagnostics"]) > 2)
    assert rig.change_state(Transition.TRANSITION_DEACTIVATE) and rig.change_state(Transition.TRANSITION_ACTIVATE)
    rig.wait_for_node(camera)
    rig.next(lambda: camera.publish(image_message(picture, 30)), "depth/image_rect")
    node.signal()
    assert node.wait(5.0) == 0 and "Traceback" not in node.log, node.log
