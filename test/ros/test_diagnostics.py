"""What `/diagnostics` says about a node in its various states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from fake_engine import METRIC
from lifecycle_msgs.msg import Transition
from rig import NodeProcess, Rig, image_message, info_message
from sensor_msgs.msg import CameraInfo

from depth_anything_ros.convert import seeded
from depth_anything_ros.models.checkpoint_facts import CHECKPOINT_FACTS, DOUBTFUL
from depth_anything_ros.ros.diagnostics import OUTDATED, Health, engine_status

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf")
PICTURE = np.zeros((48, 64, 3), np.uint8)


def latest(rig: Rig) -> dict[str, tuple[bytes, str, dict[str, str]]]:
    """Last status of each part: level, message, values."""
    statuses = [status for message in rig.received["/diagnostics"] for status in message.status]
    return {
        status.name.rsplit(": ", 1)[-1]: (status.level, status.message, {pair.key: pair.value for pair in status.values})
        for status in statuses
    }


def test_a_healthy_stream(rig: Rig, start: Start) -> None:
    start(*MODEL, "-r", "__ns:=/robot1")
    rig.listen("/diagnostics")
    rig.until(lambda: {"engine", "camera"} <= set(latest(rig)))
    level, message, values = latest(rig)["engine"]
    assert (level, message) == (DiagnosticStatus.OK, "active")
    assert (values["checkpoint"], values["license"], values["device"]) == ("DA3METRIC-LARGE", "Apache-2.0", "cpu")
    assert latest(rig)["camera"][:2] == (DiagnosticStatus.OK, "idle: no output has a subscriber, or the node is disabled")
    assert rig.received["/diagnostics"][0].status[0].name.startswith("robot1/depth_anything: ")
    rig.listen("/robot1/depth/image_rect")
    camera, infos = rig.camera("/robot1/image"), rig.camera("/robot1/camera_info", CameraInfo)
    rig.until(lambda: latest(rig)["camera"][1] == "no picture has come yet")
    rig.wait_for_node(camera, infos)
    for stamp in range(40):
        infos.publish(info_message((64, 48), stamp))
        camera.publish(image_message(PICTURE, stamp))
        rig.spin(0.05)
    level, message, values = latest(rig)["camera"]
    assert (level, message) == (DiagnosticStatus.OK, "running"), values
    assert 5 < float(values["input_hz"]) < 30 and int(values["processed"]) > 5 and values["rejected"] == "0"
    assert values["calibration"] == "K of camera_info, stamp of the image"
    assert 0 <= float(values["inference_p50_ms"]) <= float(values["inference_p95_ms"])


def test_the_state_through_a_life(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "autostart:=false", ready=False)
    rig.listen("/diagnostics")
    rig.until(lambda: "engine" in latest(rig))
    assert latest(rig)["engine"][2]["state"] == "unconfigured"
    for transition, state in (
        (Transition.TRANSITION_CONFIGURE, "inactive"),
        (Transition.TRANSITION_ACTIVATE, "active"),
        (Transition.TRANSITION_ACTIVE_SHUTDOWN, "finalized"),
    ):
        assert rig.change_state(transition)
        rig.until(lambda state=state: latest(rig)["engine"][2]["state"] == state)


def test_the_log_tells_the_topics_and_a_name_that_nobody_publishes(rig: Rig, start: Start) -> None:
    node = start(*MODEL, "-p", "cameras:=[front]", "-r", "__ns:=/robot1", "-r", "front/image:=/camera/typo")
    rig.until(lambda: "Pictures from /camera/typo; depth in metres on /robot1/front/depth/image_rect, else on" in node.log)
    rig.spin(OUTDATED)
    assert "No picture" not in node.log, "nobody listens"
    rig.listen("/robot1/front/depth/image_rect")
    rig.until(lambda: "No picture from /camera/typo for 5 s: nobody publishes it" in node.log)
    assert node.log.count("No picture") == 1


def test_without_calibration_the_stream_is_a_warning(rig: Rig, start: Start) -> None:
    start(*MODEL)
    rig.listen("/diagnostics", "relative/image")
    camera = rig.camera()
    rig.wait_for_node(camera)
    warning = (DiagnosticStatus.WARN, "no camera_info has come")
    rig.send_until(lambda: camera.publish(image_message(PICTURE, 1)), lambda: latest(rig).get("camera", ())[:2] == warning)


def test_a_camera_that_stops_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("depth_anything_ros.ros.diagnostics.time.monotonic", lambda: now[0])
    health = Health()

    def judged(seconds: float, subscribed: bool = True) -> tuple[bytes, str]:
        now[0] += seconds
        status = health.status("camera", "cpu", subscribed, {})
        return status.level, status.message

    health.count_received()
    assert judged(4.0) == (DiagnosticStatus.OK, "running")
    assert judged(4.0) == (DiagnosticStatus.WARN, "no picture has come for 8 s")
    assert judged(60.0, subscribed=False)[0] == DiagnosticStatus.OK
    assert judged(4.0) == (DiagnosticStatus.OK, "running"), "none could come meanwhile"
    assert judged(4.0)[0] == DiagnosticStatus.WARN
    health.count_received()
    assert judged(1.0) == (DiagnosticStatus.OK, "running")


def test_a_clock_that_is_off_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """With max_age nothing comes out then; one that is too old now and then is no reason."""
    now = [1000.0]
    monkeypatch.setattr("depth_anything_ros.ros.diagnostics.time.monotonic", lambda: now[0])
    health = Health()
    assert health.status("camera", "cpu", False, {}).level == DiagnosticStatus.OK
    for second in range(8):
        health.count_received()
        status = health.status("camera", "cpu", True, {}, expired=second + 1)
        assert (status.level == DiagnosticStatus.WARN) == ("max_age" in status.message) == (second > 5)
        now[0] += 1.0
    health.count_received()
    health.count_processed(0.1, 0.1)
    assert health.status("camera", "cpu", True, {}, expired=9).level == DiagnosticStatus.OK


def test_a_node_without_a_model_is_a_warning(rig: Rig, start: Start) -> None:
    start(*MODEL, "-p", "autostart:=false", ready=False)
    rig.listen("/diagnostics")
    rig.until(lambda: latest(rig).get("engine", ())[:2] == (DiagnosticStatus.WARN, "no model is loaded"))
    assert "camera" not in latest(rig)


@pytest.mark.parametrize("checkpoint", sorted(DOUBTFUL))
def test_models_of_our_own_making_keep_the_engine_at_warn(checkpoint: str) -> None:
    status = engine_status("node", "active", replace(METRIC, checkpoint=checkpoint), "")
    assert status.level == DiagnosticStatus.WARN and checkpoint in status.message


def test_a_model_that_cannot_be_had_is_no_error_of_the_one_at_work() -> None:
    status = engine_status("node", "active", METRIC, "", "still running a.gguf: b.gguf: no such file.")
    assert (status.level, status.message) == (DiagnosticStatus.WARN, "still running a.gguf: b.gguf: no such file.")
    assert engine_status("node", "active", METRIC, "a worker thread has died").level == DiagnosticStatus.ERROR


def test_an_unknown_checkpoint_keeps_the_engine_at_warn() -> None:
    status = engine_status("node", "active", replace(METRIC, checkpoint="mine", license="unknown"), "")
    assert status.level == DiagnosticStatus.WARN and "mine is no published checkpoint" in status.message


def test_doubtful_models_are_those_that_the_package_makes() -> None:
    random_ones = {value.checkpoint_name for name, value in vars(seeded).items() if name.startswith("SEEDED_")}
    small_ones = {fact.name for fact in CHECKPOINT_FACTS if fact.name.endswith("-NANO")}
    assert set(DOUBTFUL) == random_ones | small_ones
