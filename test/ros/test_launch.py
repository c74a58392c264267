"""The launch file by itself. `launch` and `launch_ros` are in no package index, so small stand-ins record what the file asks of them."""

from __future__ import annotations

import json
import re
import runpy
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from depth_anything_ros.ros.depth_node import NODE_NAME
from depth_anything_ros.ros.parameters import TABLE, options_from
from depth_anything_ros.ros.topics import topics_of

ROOT = Path(__file__).resolve().parents[2]
FILES = {name: ROOT / "launch" / f"{name}.launch.py" for name in ("depth", "multi_camera", "bag")}


class Recorded:
    """Stands for any class of the launch system: keeps its arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


def recorder(name: str) -> type[Recorded]:
    return type(name, (Recorded,), {})


class Configuration(Recorded):
    """LaunchConfiguration: its value is looked up in the context, which is a dict here."""

    def perform(self, context: dict[str, str]) -> str:
        return context[self.args[0]]


STAND_INS: dict[str, dict[str, type]] = {
    "launch": {"LaunchContext": dict, "LaunchDescription": recorder("LaunchDescription")},
    "launch.actions": {
        name: recorder(name) for name in ("DeclareLaunchArgument", "ExecuteProcess", "IncludeLaunchDescription", "OpaqueFunction")
    },
    "launch.launch_description_sources": {"PythonLaunchDescriptionSource": recorder("PythonLaunchDescriptionSource")},
    "launch.conditions": {"IfCondition": recorder("IfCondition")},
    "launch.substitutions": {"LaunchConfiguration": Configuration, "PathJoinSubstitution": recorder("PathJoinSubstitution")},
    "launch_ros": {},
    "launch_ros.actions": {"Node": recorder("Node")},
    "launch_ros.parameter_descriptions": {name: recorder(name) for name in ("ParameterFile", "ParameterValue")},
    "launch_ros.substitutions": {"FindPackageShare": recorder("FindPackageShare")},
}


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Recorded]]:
    """Entities of a launch file by its name."""
    for name, members in STAND_INS.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    def describe(name: str) -> list[Recorded]:
        (listed,) = runpy.run_path(str(FILES[name]))["generate_launch_description"]().args
        return list(listed)

    return describe


@pytest.fixture
def entities(described: Callable[[str], list[Recorded]]) -> list[Recorded]:
    return described("depth")


def named(entities: list[Recorded], kind: str) -> list[Recorded]:
    return [entity for entity in entities if type(entity).__name__ == kind]


def node_of(entities: list[Recorded], **context: str) -> Recorded:
    (function,) = named(entities, "OpaqueFunction")
    (node,) = function.kwargs["function"](context)
    return node


def test_arguments(entities: list[Recorded]) -> None:
    declared = {argument.args[0]: argument.kwargs for argument in named(entities, "DeclareLaunchArgument")}
    assert set(declared) == {
        "model",
        "image_topic",
        "image_transport",
        "camera_info_topic",
        "namespace",
        "params_file",
        "use_sim_time",
        "rviz",
        "log_level",
    }
    assert [name for name, facts in declared.items() if "default_value" not in facts] == ["model"], "only the model is required"
    assert all(facts["description"] for facts in declared.values())


CONTEXTS = {"depth": {"camera_info_topic": "/b/info"}, "multi_camera": {"cameras": "front=/f/image,left=/l/image"}, "bag": {"loop": "true"}}


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_configuration_is_a_declared_argument(described: Callable[[str], list[Recorded]], name: str) -> None:
    entities = described(name)
    declared = {argument.args[0] for argument in named(entities, "DeclareLaunchArgument")}
    used = set(CONTEXTS[name])

    def walk(value: Any) -> None:
        if isinstance(value, Configuration):
            used.add(value.args[0])
        elif isinstance(value, Recorded):
            walk([value.args, value.kwargs])
        elif isinstance(value, dict):
            walk(list(value.values()))
        elif isinstance(value, (list, tuple)):
            for each in value:
                walk(each)

    walk([*named(entities, "Node"), *named(entities, "IncludeLaunchDescription"), node_of(entities, **CONTEXTS[name])])
    assert used == declared


def test_the_node_and_its_typed_parameters(entities: list[Recorded]) -> None:
    node = node_of(entities, camera_info_topic="").kwargs
    assert (node["package"], node["executable"], node["name"]) == ("depth_anything_ros", "depth_node", NODE_NAME)
    file, values = node["parameters"]
    assert type(file).__name__ == "ParameterFile" and file.kwargs == {"allow_substs": True}
    assert {name: value.kwargs["value_type"] for name, value in values.items()} == {
        "model": str,
        "image_transport": str,
        "use_sim_time": bool,
    }
    assert set(values) - {"use_sim_time"} <= {entry.name for entry in TABLE}
    assert "depth_node = depth_anything_ros.ros.node:main" in (ROOT / "setup.py").read_text(encoding="utf-8")


def test_cameras_are_named_and_remapped(described: Callable[[str], list[Recorded]]) -> None:
    node = node_of(described("multi_camera"), cameras="front=/front/image_raw, left=/usb/left/image_rect").kwargs
    assert node["remappings"] == [("front/image", "/front/image_raw"), ("left/image", "/usb/left/image_rect")]
    values = node["parameters"][1]
    assert values["cameras"] == ["front", "left"] and set(values) - {"use_sim_time"} <= {entry.name for entry in TABLE}
    for wrong in ("front", "front=", "=/a", " =/a", "front=/a,", "front=/a,front=/b"):
        with pytest.raises(ValueError, match="name=topic"):
            node_of(described("multi_camera"), cameras=wrong)


def test_the_bag_is_played_with_its_clock(described: Callable[[str], list[Recorded]]) -> None:
    entities = described("bag")
    (include,) = named(entities, "IncludeLaunchDescription")
    passed_on = dict(include.kwargs["launch_arguments"])
    assert passed_on["use_sim_time"] == "true"
    known = {argument.args[0] for argument in named(described("depth"), "DeclareLaunchArgument")}
    assert set(passed_on) <= known, "depth.launch.py takes what it is given"
    command = node_of(entities, loop="true").kwargs["cmd"]
    assert command[:3] == ["ros2", "bag", "play"] and {"--clock", "--loop"} <= {part for part in command if isinstance(part, str)}
    assert "--loop" not in node_of(entities, loop="false").kwargs["cmd"]


def test_camera_info_is_remapped_only_when_it_is_named(entities: list[Recorded]) -> None:
    def remapped(topic: str) -> list[str]:
        return [source for source, _ in node_of(entities, camera_info_topic=topic).kwargs["remappings"]]

    assert remapped("") == ["image"]
    assert remapped("/front/calibration") == ["image", "camera_info"]


def test_the_parameter_file_is_valid_yaml_for_any_node() -> None:
    content = yaml.safe_load((ROOT / "config" / "depth.yaml").read_text(encoding="utf-8"))
    assert content == {"/**": {"ros__parameters": {entry.name: entry.default for entry in TABLE}}}


def test_rviz_shows_topics_that_the_node_has() -> None:
    from fake_engine import METRIC

    content = yaml.safe_load((ROOT / "config" / "depth.rviz").read_text(encoding="utf-8"))
    displays = content["Visualization Manager"]["Displays"]
    shown = {display["Topic"]["Value"] for display in displays if "Topic" in display}
    assert shown == {"points", "depth/image_rect", "relative/image"} and shown <= set(topics_of(METRIC))


def test_examples_for_consumers_name_what_the_node_has() -> None:
    from fake_engine import METRIC

    topics = {*topics_of(METRIC), "/diagnostics", "image", "camera_info"}
    first, _, second = (ROOT / "config" / "nav2_voxel_layer.yaml").read_text(encoding="utf-8").partition("\n# For depth_node")
    layer = yaml.safe_load(first)["local_costmap"]["local_costmap"]["ros__parameters"]["voxel_layer"]["depth"]
    node = yaml.safe_load("#" + second)["/**"]["ros__parameters"]
    assert layer["topic"] == "/points", "a relative name would be one of the costmap's namespace"
    assert node["depth.max"] > layer["raytrace_max_range"] > layer["obstacle_max_range"], "what is behind the obstacles clears them"
    assert layer["clearing"] and layer["marking"] and node["sky.policy"] == "max" and node["points.edge_filter"] > 0
    options_from({**{entry.name: entry.default for entry in TABLE}, **node})
    scan = (ROOT / "config" / "depthimage_to_laserscan.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"depth\w*:=([\w/]+)", scan)) == {"depth/image_rect", "depth/camera_info"} <= topics


def test_the_foxglove_layout_has_panels_and_topics_that_are_there() -> None:
    """Foxglove knows panels by these names, and topics by whole names: it has no namespace that would make others of them."""
    from fake_engine import METRIC

    layout = json.loads((ROOT / "config" / "foxglove.json").read_text(encoding="utf-8"))
    assert set(re.findall(r"\w+!\w+", json.dumps(layout["layout"]))) == set(layout["configById"])
    assert {panel.partition("!")[0] for panel in layout["configById"]} == {"Image", "3D", "DiagnosticSummary", "Plot"}
    named = set(layout["configById"]["3D!cloud"]["topics"])
    for panel in layout["configById"].values():
        named |= {value for key, value in panel.get("imageMode", {}).items()} | (
            {panel["topicToRender"]} if "topicToRender" in panel else set()
        )
        named |= {path["value"].partition(".")[0] for path in panel.get("paths", [])}
    assert named <= {"/diagnostics", "/image", "/camera_info", *(f"/{topic}" for topic in topics_of(METRIC))}
