"""The options of the verb `replay`."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path

if TYPE_CHECKING:
    from depth_anything_ros.replay.options import ReplayOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", type=user_path, help="bag (folder, .mcap, .db3, also .zstd), video, or folder of pictures")
    parser.add_argument("--output", "-o", type=user_path, required=True, metavar="DIR", help="folder of the new bag")
    add = parser.add_argument_group("what is computed").add_argument
    add("--model", metavar="M", help="GGUF file, or name of a fetched model (verb models)")
    add("--params-file", type=user_path, nargs="+", default=[], metavar="YAML", help="parameter files of the node")
    add("--param", "-p", action="append", default=[], metavar="NAME:=VALUE", help="a parameter of the node, over the files; repeatable")
    add(
        "--remap",
        action="append",
        default=[],
        metavar="NAME:=TOPIC",
        help="topic that the scale's source reads under a name of the node, such as scale/points:=/lidar/points; repeatable",
    )
    add = parser.add_argument_group("which pictures").add_argument
    add("--image", nargs="+", default=[], metavar="TOPIC", help="image topics; default: the only one")
    add("--every", type=int, default=1, metavar="N", help="process every n-th picture")
    add("--from", dest="start", type=float, default=0.0, metavar="S", help="begin S seconds after the begin of the recording")
    add("--to", dest="stop", type=float, metavar="S", help="end S seconds after the begin of the recording")
    add = parser.add_argument_group("videos and folders").add_argument
    add("--k", type=float, nargs=4, metavar=("FX", "FY", "CX", "CY"), help="camera of the pictures, pixels")
    add("--calibration", type=user_path, metavar="YAML", help="the same as a file of camera_calibration, with distortion")
    add("--rate", type=float, metavar="HZ", help="pictures per second (default: 10 of a folder, a video's own)")
    add = parser.add_argument_group("what comes out").add_argument
    add("--keep", nargs="+", default=["all"], metavar="TOPIC", help="recorded topics to copy: all (default), none, or names (and TF)")
    add(
        "--outputs",
        nargs="+",
        default=[],
        metavar="NAME",
        help="topics of the node, such as depth/image_rect points; all; default: neither clouds nor colours",
    )
    add("--namespace", metavar="NS", help="of the node's topics; default: that of the image topic")
    add("--storage", default="mcap", metavar="NAME", help="mcap (default) or sqlite3")
    add("--report", type=user_path, metavar="DIR", help="write report.html: times, confidence, scale, pictures, clouds, errors")
    add("--truth", default="", metavar="TOPIC", help="kept topic that the report compares with; default: one that looks like it")
    add = parser.add_argument_group("how the work is done").add_argument
    add("--segment", type=int, default=100, metavar="N", help="pictures that a kill can cost at most, per worker (default 100)")
    add("--jobs", type=int, metavar="N", help="processes; on a cluster workers (default: 1; on a cluster as many as it has room for)")
    add("--ray", default="", metavar="ADDRESS", help="run on a Ray cluster: auto, host:port, or local for one on this machine")


def read(arguments: argparse.Namespace) -> ReplayOptions:
    """Raises OptionError."""
    from depth_anything_ros.replay.camera_replay import NODE_NAME
    from depth_anything_ros.replay.options import ReplayOptions
    from depth_anything_ros.replay.parameter_file import read_options

    overrides = dict(_pairs("--param", arguments.param))
    if arguments.model:
        overrides["model"] = json.dumps(arguments.model, ensure_ascii=False)  # a text for YAML, whatever is in it
    node, remarks = read_options(arguments.params_file, overrides, f"{arguments.namespace or ''}/{NODE_NAME}")
    for remark in remarks:
        print(f"warning: {remark}", file=sys.stderr)
    return ReplayOptions(
        output=arguments.output,
        node=node,
        images=tuple(arguments.image),
        namespace=arguments.namespace,
        keep=tuple(arguments.keep),
        outputs=tuple(arguments.outputs),
        remaps=tuple(_pairs("--remap", arguments.remap)),
        every=arguments.every,
        start=arguments.start,
        stop=arguments.stop,
        storage=arguments.storage,
        segment=arguments.segment,
        jobs=(0 if arguments.ray else 1) if arguments.jobs is None else arguments.jobs,
        cluster=arguments.ray,
    )


def _pairs(flag: str, texts: list[str]) -> list[tuple[str, str]]:
    parts = [text.partition(":=") for text in texts]
    if wrong := [text for text, (name, sign, _) in zip(texts, parts) if not (name and sign)]:
        raise OptionError("option.range", f"{flag} {wrong[0]}: expected NAME:=VALUE.")
    return [(name, value) for name, _, value in parts]
