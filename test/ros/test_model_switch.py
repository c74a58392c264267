"""Another model while one is at work, and loads that fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from fake_engine import FakeEngine
from lifecycle_msgs.msg import Transition
from rcl_interfaces.srv import GetParameters
from rclpy.lifecycle import TransitionCallbackReturn
from rig import NodeProcess, Rig, grey, image_message, statuses, values_of

from depth_anything_ros.errors import ModelError
from depth_anything_ros.ros.depth_node import DepthNode
from depth_anything_ros.ros.middleware import middleware
from depth_anything_ros.ros.parameters import NodeOptions

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "points.edge_filter:=0.0")


@pytest.mark.case(55)
def test_the_model_is_switched_while_frames_flow(rig: Rig, start: Start) -> None:
    """A metric model gives way to one of relative depth; topics that both have keep their listeners."""
    node = start(*MODEL, "-p", "focal:=600.0", load_seconds=0.5, seconds=0.02)
    rig.listen("depth/image_rect", "relative/image", "depth/confidence", "depth/sky_mask", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    (depth,) = rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    np.testing.assert_allclose(values_of(depth), 2.4, rtol=1e-6)
    assert "no such file" in rig.set_parameters({"model": "missing.gguf"})
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    while_loading = len(rig.received["depth/image_rect"])
    for _ in range(5):
        camera.publish(image_message(grey(51), 2))
        rig.spin(0.05)
    assert len(rig.received["depth/image_rect"]) > while_loading, "the old model works on meanwhile"
    rig.send_until(lambda: camera.publish(image_message(grey(51), 3)), lambda: bool(rig.received["depth/confidence"]), 10)
    rig.send_until(lambda: camera.publish(image_message(grey(51), 4)), lambda: bool(rig.received["relative/image"]))
    relative = rig.received["relative/image"][-1]
    np.testing.assert_allclose(values_of(relative), 1.2, rtol=1e-6)
    rig.until(lambda: statuses(rig).get("engine", {}).get("checkpoint") == "DA3-SMALL", 20)
    assert rig.set_parameters({"model": "fake.gguf", "resolution": 280}) == ""
    rig.send_until(
        lambda: camera.publish(image_message(grey(51), 5)),
        lambda: statuses(rig).get("engine", {}).get("checkpoint") == "DA3METRIC-LARGE",
        10,
    )
    assert node.running and "Frame lost" not in node.log


@pytest.mark.case(55)
@pytest.mark.case(69)
def test_a_model_that_does_not_load_leaves_the_old_one_at_work(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "focal:=300.0")
    rig.listen("depth/image_rect", "/diagnostics")
    camera = rig.camera()
    rig.wait_for_node(camera)
    assert rig.set_parameters({"model": "broken.gguf"}) == ""
    rig.until(lambda: "still running fake.gguf" in statuses(rig).get("engine", {}).get("message", ""), 20)
    rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    rig.until(lambda: rig.call(GetParameters, "/depth_anything/get_parameters", names=["model"]).values[0].string_value == "fake.gguf", 20)
    assert node.running and node.log.count("Cannot load another model") == 1
    assert rig.set_parameters({"model": "broken.gguf"}) == "", "the same again, which may have been repaired"
    rig.until(lambda: node.log.count("Cannot load another model") == 2, 20)


@pytest.mark.case(55)
def test_a_load_that_fails_in_any_way_is_survived(rig: Rig, start: Start) -> None:
    """Memory that is not there, and a pair that cannot be had: `scale.source` goes back with the rest."""
    node = start(*MODEL, "-p", "metric_model:=broken.gguf", "-p", "scale.source:=constant", "-p", "scale.value:=2.0", info="any_view")
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)
    assert rig.set_parameters({"model": "foreign.gguf"}) == ""
    rig.until(lambda: "unexpected MemoryError: no room for another one" in node.log, 20)
    assert rig.set_parameters({"scale.source": "model"}) == ""
    rig.until(lambda: node.log.count("Cannot load another model") == 2, 20)
    rig.spin(0.5)
    names = ["model", "scale.source"]
    values = rig.call(GetParameters, "/depth_anything/get_parameters", names=names).values
    assert [value.string_value for value in values] == ["fake.gguf", "constant"]
    (depth,) = rig.next(lambda: camera.publish(image_message(grey(51), 1)), "depth/image_rect")
    np.testing.assert_allclose(values_of(depth), 2.4, rtol=1e-6)


@pytest.mark.case(55)
def test_a_newer_wish_outlives_a_load_that_fails(rig: Rig, start: Start) -> None:
    node = start(*MODEL, load_seconds=1.0)
    assert rig.set_parameters({"model": "broken.gguf"}) == ""
    rig.spin(0.5)
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    rig.until(lambda: "taken over" in node.log, 20)
    assert node.log.count("Cannot load another model") == 1 and "DA3-SMALL" in node.log
    rig.spin(0.5)
    (model,) = rig.call(GetParameters, "/depth_anything/get_parameters", names=["model"]).values
    assert model.string_value == "small.gguf"


def test_clean_up_forgets_what_is_being_loaded(rig: Rig, start: Start) -> None:
    node = start(*MODEL, load_seconds=2.0)
    rig.listen("/diagnostics")
    assert rig.set_parameters({"model": "small.gguf"}) == ""
    rig.until(lambda: "loading small.gguf" in statuses(rig).get("engine", {}).get("state", ""), 10)
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert rig.change_state(transition)
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert rig.change_state(transition)
    rig.spin(2.5)
    assert "DA3-SMALL" in node.log and "taken over" not in node.log, "one of the two copies is for nobody"


def test_what_a_failed_configure_has_loaded_is_given_back(own_domain: None) -> None:
    engines: list[FakeEngine] = []

    def load(options: NodeOptions) -> FakeEngine:
        if options.model == "broken.gguf":
            raise ModelError("model.missing", "broken.gguf: no such file.")
        engines.append(FakeEngine())
        return engines[-1]

    parameters = ("model:=a.gguf", "metric_model:=broken.gguf", "scale.source:=metric_model")
    with middleware(["--ros-args", *(part for one in parameters for part in ("-p", one))]):
        node = DepthNode(load, lambda _: None, lambda: False)
        assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
        assert [engine.closed for engine in engines] == [True]
        node.release()
        node.destroy_node()
