"""Parameter files are read as the node reads them: a real node with the same file is the judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.exceptions import ParameterException
from rclpy.node import Node

from depth_anything_ros.errors import OptionError
from depth_anything_ros.replay.parameter_file import read_options
from depth_anything_ros.ros import parameters

NODE = "/robot/front/depth_anything"


@pytest.fixture
def context() -> Iterator[rclpy.Context]:
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=99)
    yield context
    context.shutdown()


def of_a_node(context: rclpy.Context, *files: Path) -> parameters.NodeOptions:
    arguments = [part for file in files for part in ("--params-file", str(file))]
    node = Node(
        "depth_anything", namespace="/robot/front", context=context, cli_args=["--ros-args", *arguments], start_parameter_services=False
    )
    try:
        return parameters.declare(node)
    finally:
        node.destroy_node()


FILES = {
    "nested": "/**: {ros__parameters: {model: a.gguf, depth: {min: 0.5, max: 20.0}, scale: {source: constant, value: 2.5}}}",
    "dotted": "/**: {ros__parameters: {depth.min: 0.25, sky.policy: nan, rectify: off, threads: 3}}",
    "by name": "depth_anything: {ros__parameters: {focal: 1.0}}\n/robot/front/depth_anything: {ros__parameters: {focal: 2.0}}",
    "by namespaces": "robot: {front: {depth_anything: {ros__parameters: {focal: 3.0}}}}",
    "another node": "/**: {ros__parameters: {focal: 1.0}}\n/robot/back/depth_anything: {ros__parameters: {focal: 4.0}}",
    "one part": "/robot/*/depth_anything: {ros__parameters: {focal: 5.0}}",
    "any parts": "/**/depth_anything: {ros__parameters: {focal: 6.0}}",
    "too short": "/*/depth_anything: {ros__parameters: {focal: 7.0}}",
    "of every node": "/**: {ros__parameters: {use_sim_time: true, qos_overrides: {/x: {depth: 3}}, focal: 8.0}}",
    "special numbers": "/**: {ros__parameters: {sky.policy: .inf, autostart: true}}",
    "words for true and false": "/**: {ros__parameters: {temporal.depth: yes, temporal.scale: On, autostart: no, points.confidence: y}}",
    "quoted": "/**: {ros__parameters: {sky.policy: 'max', rectify: 'off', model: '12'}}",
}


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_a_node(tmp_path: Path, context: rclpy.Context, name: str) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(FILES[name])
    options, remarks = read_options([file], {}, NODE)
    assert options == of_a_node(context, file)
    of_others = [f"parameter file {file} has nothing for the node {NODE}, but for /*/depth_anything"]
    assert remarks == (of_others if name == "too short" else [])


def test_the_file_that_comes_with_the_node(context: rclpy.Context) -> None:
    file = Path(__file__).resolve().parents[2] / "config" / "depth.yaml"
    assert read_options([file], {}, NODE)[0] == of_a_node(context, file) == parameters.NodeOptions()


def test_later_files_win(tmp_path: Path, context: rclpy.Context) -> None:
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    files[0].write_text("/**: {ros__parameters: {focal: 1.0, threads: 2}}")
    files[1].write_text("/**: {ros__parameters: {focal: 2.0}}")
    options, _ = read_options(files, {}, NODE)
    assert options == of_a_node(context, *files)
    assert (options.focal, options.threads) == (2.0, 2)


@pytest.mark.parametrize(
    "values", ["focal: 1", "threads: 1.0", "model: 3", "autostart: 1", "depth.min: near", "threads: 1000", "focal: -1.0", "cameras: [1, 2]"]
)
def test_what_the_node_refuses_is_refused(tmp_path: Path, context: rclpy.Context, values: str) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(f"/**: {{ros__parameters: {{{values}}}}}")
    with pytest.raises(OptionError, match=values.partition(":")[0]):
        read_options([file], {}, NODE)
    with pytest.raises((ParameterException, OptionError)):
        of_a_node(context, file)


def test_single_values_win_over_files(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**: {ros__parameters: {focal: 1.0, their_own: 3}}")
    options, remarks = read_options([file], {"focal": "2.5", "depth.encoding": "16UC1"}, NODE)
    assert (options.focal, options.depth_encoding, remarks) == (2.5, "16UC1", ["the node has no parameter their_own"])
    with pytest.raises(OptionError, match="no parameter focus") as caught:
        read_options([], {"focus": "1.0"}, NODE)
    assert caught.value.code == "option.unknown"


@pytest.mark.parametrize("content", ["[1, 2", "- a list", "plain text", "a: {b: *nothing}", b"\xff\xfe\x00"])
def test_files_that_are_none(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(OptionError, match=r"parameters\.yaml"):
        read_options([file], {}, NODE)
    with pytest.raises(OptionError, match=r"absent\.yaml"):
        read_options([tmp_path / "absent.yaml"], {}, NODE)
