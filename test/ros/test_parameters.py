"""The table of parameters: its copies in config and docs, its rules, and changes while frames flow."""

from __future__ import annotations

import re
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rig import NodeProcess, Rig, image_message, values_of

from depth_anything_ros.errors import OptionError
from depth_anything_ros.ros.parameters import TABLE, NodeOptions, options_from

Start = Callable[..., NodeProcess]
MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "focal:=300.0")
ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = {entry.name: entry.default for entry in TABLE}


def test_config_and_document_are_those_that_the_tool_writes() -> None:
    pages = runpy.run_path(str(ROOT / "tools" / "parameter_pages.py"))
    hint = "run: python tools/parameter_pages.py"
    assert (ROOT / "config" / "depth.yaml").read_text(encoding="utf-8") == pages["config"](), hint
    document = (ROOT / "docs" / "node.md").read_text(encoding="utf-8")
    assert document == pages["page"](document), hint
    for entry in TABLE:
        assert f"\n| `{entry.name}` | " in document and entry.description.endswith(".")


def test_defaults_are_the_options_of_the_code() -> None:
    assert options_from(DEFAULTS) == NodeOptions()


@pytest.mark.parametrize("written", ["rectify:=off", "sky.policy:=inf", "sky.policy:=nan", "sky.policy:=max"])
def test_words_that_yaml_takes_for_something_else(rig: Rig, start: Start, written: str) -> None:
    """On the command line and in files, off is false and inf and nan are numbers."""
    start(*MODEL, "-p", written)
    assert rig.set_parameters({"sky.policy": float("nan")}) == "" and rig.set_parameters({"sky.policy": "inf"}) == ""
    assert "sky.policy" in rig.set_parameters({"sky.policy": 3.0})


def test_a_number_without_its_point_is_told_how_to_be_written(start: Start) -> None:
    node = start(*MODEL, "-p", "depth.max:=10", ready=False)
    assert node.wait(20.0) == OptionError.exit_code
    assert "'depth.max' to '10'" in node.log and "write it like its default, 200.0" in node.log


def test_other_values_are_no_words() -> None:
    with pytest.raises(OptionError):
        options_from({**DEFAULTS, "rectify": True})


@pytest.mark.case(55)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", -1),
        ("resolution", 1_000_000),
        ("focal", float("nan")),
        ("focal", -1.0),
        ("depth.encoding", "16SC1"),
        ("depth.max", float("inf")),
        ("depth.min", 201.0),
        ("depth.size", ""),
        ("sky.policy", "INF"),
        ("sky.threshold", 0.0),
        ("confidence.threshold", 1.5),
        ("points.stride", 0),
        ("scale.source", "constant"),
        ("scale.value", float("nan")),
        ("rectify", "always"),
    ],
)
def test_wrong_values_are_refused_with_their_name(name: str, value: object) -> None:
    with pytest.raises(OptionError, match=re.escape(name)):
        options_from({**DEFAULTS, name: value})  # type: ignore[dict-item]


def test_declared_as_the_table_says(rig: Rig, start: Start) -> None:
    start(*MODEL)
    lister = rig.node.create_client(ListParameters, "/depth_anything/list_parameters")
    describer = rig.node.create_client(DescribeParameters, "/depth_anything/describe_parameters")
    rig.until(lambda: lister.service_is_ready() and describer.service_is_ready())
    future = lister.call_async(ListParameters.Request())
    rig.until(future.done)
    foreign = {"use_sim_time", "start_type_description_service"}
    names = {name for name in future.result().result.names if not name.startswith("qos_overrides.")} - foreign
    assert names == set(DEFAULTS)
    future = describer.call_async(DescribeParameters.Request(names=list(DEFAULTS)))
    rig.until(future.done)
    for entry, descriptor in zip(TABLE, future.result().descriptors):
        assert (descriptor.description, descriptor.read_only) == (entry.description, entry.read_only)
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        assert [(r.from_value, r.to_value) for r in ranges] == ([entry.bounds] if entry.bounds else [])


@pytest.mark.case(55)
def test_changes_apply_whole_or_not_at_all(rig: Rig, start: Start) -> None:
    node = start(*MODEL)
    rig.listen("depth/image_rect")
    camera = rig.camera()
    rig.wait_for_node(camera)

    def depth_of_black(stamp: int) -> float:
        (depth,) = rig.next(lambda: camera.publish(image_message(np.zeros((4, 4, 3), np.uint8), stamp)), "depth/image_rect")
        return float(values_of(depth)[0, 0])

    assert depth_of_black(1) == 1.0
    assert "depth.min" in rig.set_parameters({"depth.max": 50.0, "depth.min": 60.0})
    assert "scale.value" in rig.set_parameters({"scale.source": "constant"})
    assert rig.set_parameters({"autostart": False}) and "model is empty" in rig.set_parameters({"model": ""})
    assert (
        "missing.gguf" in rig.set_parameters({"model": "missing.gguf"})
        and rig.set_parameters({"depth.max": "far"})
        and rig.set_parameters({"nothing": 1})
    )
    assert rig.set_parameters({"points.stride": 0})
    assert depth_of_black(2) == 1.0
    assert rig.set_parameters({"depth.min": 1.5, "depth.max": 1.6}) == ""
    assert np.isnan(depth_of_black(3))
    assert rig.set_parameters({"depth.min": 0.0}) == ""
    assert depth_of_black(4) == 1.0
    assert node.running


@pytest.mark.case(55)
def test_a_storm_of_changes(rig: Rig, start: Start) -> None:
    """Depth of black is 1 m: between the two settings it is valid or invalid, never anything else."""
    node = start(*MODEL)
    rig.listen("depth/image_rect", "points", "depth/sky_mask")
    camera = rig.camera()
    rig.wait_for_node(camera)
    settings = [
        {"depth.min": 2.0, "depth.max": 3.0, "depth.size": "network", "points.stride": 1, "depth.encoding": "16UC1", "sky.policy": "nan"},
        {"depth.min": 0.5, "depth.max": 1.5, "depth.size": "camera", "points.stride": 5, "depth.encoding": "32FC1", "sky.policy": "max"},
    ]
    end = time.monotonic() + 5.0
    turn = 0
    while time.monotonic() < end:
        camera.publish(image_message(np.zeros((6, 8, 3), np.uint8), turn))
        assert rig.set_parameters(settings[turn % 2]) == ""
        turn += 1
    rig.spin(0.3)
    messages = rig.received["depth/image_rect"]
    assert turn > 20 and len(messages) > 10 and node.running and "Frame lost" not in node.log
    for message in messages:
        values = values_of(message)
        assert (values == (0 if message.encoding == "16UC1" else 1.0)).all(), "one set of parameters per frame"


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["with space", "שלום", "мир 📷", "it's", "n" * 240])
def test_parameter_files_with_names_in_any_script(start: Start, tmp_path: Path, name: str) -> None:
    """That the file was read shows in the refusal of what it says."""
    path = tmp_path / f"{name}.yaml"
    path.write_text("/**:\n  ros__parameters:\n    model: fake.gguf\n    depth.min: -1.0\n", encoding="utf-8")
    node = start("--ros-args", "--params-file", str(path), ready=False)
    assert node.wait(10.0) == 2 and "depth.min" in node.log, node.log
