"""What the node says about its scale, and when the source of it may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rig import LATCHED, NodeProcess, Rig
from room_robot import HEIGHT, UNIT, Robot, cloud, truth
from sensor_msgs.msg import PointCloud2

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=small.gguf")


def test_scale_topic_is_latched_and_in_diagnostics(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "scale.source:=constant", "-p", "scale.value:=0.37", room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    np.testing.assert_allclose(robot.see(0.0), truth(0.0), rtol=1e-5)
    values = robot.scale()
    assert (values["value"], values["known"], values["source"]) == ("0.37", "true", "constant")
    assert rig.set_parameters({"scale.value": 0.74}) == ""
    robot.see(0.0)
    rig.until(lambda: robot.scale()["value"] == "0.74", 5.0)
    late: list[Any] = []
    rig.node.create_subscription(type(rig.received["depth/scale"][0]), "depth/scale", late.append, LATCHED)
    rig.until(lambda: bool(late), 10.0)
    assert late[0].status[0] == rig.received["depth/scale"][-1].status[0]
    rig.listen("/diagnostics")
    statuses: dict[str, Any] = {}

    def reported() -> bool:
        statuses.update({one.name: one for message in rig.received["/diagnostics"] for one in message.status})
        return "depth_anything: scale" in statuses

    rig.until(reported, 5.0)
    assert {pair.key: pair.value for pair in statuses["depth_anything: scale"].values}["value"] == "0.74"


@pytest.mark.parametrize("source", ["camera_height", "constant"])
def test_a_metric_model_says_that_its_metres_are_its_own(rig: Rig, start: Start, source: str) -> None:
    node = start(*MODEL, "-p", f"scale.source:={source}", "-p", "scale.value:=3.0", info="metric")
    robot = Robot(rig)
    robot.ready()
    assert robot.see(0.0) is not None
    values = robot.scale()
    assert (values["known"], values["source"], values["value"]) == ("true", "model", "1") and "not used" in values["reason"]
    assert node.log.count(f"scale.source {source} is not used") == 1


def test_a_reason_with_other_numbers_is_no_new_reason(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "scale.source:=range", room={"unit": UNIT})
    robot = Robot(rig)
    clouds = rig.camera("scale/points", PointCloud2)
    robot.ready()
    rig.wait_for_node(clouds)
    for count in range(30, 36):
        wild = np.random.default_rng(count).uniform((-1.0, -0.7, 1.0), (1.0, 0.7, 9.0), (count, 3))
        clouds.publish(cloud(wild, robot.stamp, "cam_optical"))
        rig.spin(0.3)
        assert robot.see(0.0) is None
    assert node.log.count("disagree with the depth's shape") == 1, node.log


def test_the_source_of_the_start_can_be_come_back_to(rig: Rig, start: Start) -> None:
    """Also after another model was loaded meanwhile."""
    parameters = ("-p", "scale.source:=metric_model", "-p", "metric_model:=metric.gguf")
    node = start(*MODEL, *parameters, room={"unit": UNIT})
    assert rig.set_parameters({"scale.source": "constant", "scale.value": 1.0}) == ""
    assert rig.set_parameters({"model": "other.gguf"}) == ""
    rig.until(lambda: "taken over" in node.log, 20)
    assert rig.set_parameters({"scale.source": "metric_model"}) == ""
    robot = Robot(rig)
    robot.ready()
    robot.before = lambda robot, x: rig.spin(0.1)  # for the work in the background
    assert robot.drive(20, until_known=True) is not None


def test_sources_that_want_a_network_are_set_at_start(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "metric_model:=metric.gguf", room={"unit": UNIT})
    assert "start" in rig.set_parameters({"scale.source": "metric_model"})
    assert "start" in rig.set_parameters({"scale.source": "odometry"})
    assert rig.set_parameters({"scale.source": "camera_height", "scale.camera_height.height": HEIGHT}) == ""
    robot = Robot(rig)
    robot.ready()
    rig.spin(0.5)
    assert robot.drive(5) is not None


@pytest.mark.case(55)
def test_another_constant_is_no_flicker(rig: Rig, start: Start) -> None:
    """Held still over time, and the camera stands."""
    start(*MODEL, "-p", "scale.source:=constant", "-p", "scale.value:=1.0", "-p", "temporal.depth:=true", room={"unit": UNIT})
    robot = Robot(rig)
    robot.ready()
    for _ in range(6):
        depth = robot.see(0.0)
    assert rig.set_parameters({"scale.value": 1.1}) == ""
    rig.spin(0.5)
    np.testing.assert_allclose(robot.see(0.0), 1.1 * depth, rtol=1e-4)
