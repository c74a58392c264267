"""Depth for a recording: every picture of a bag, a video or a folder, as fast as the machine goes.

    depth-anything-ros replay drive/ -o drive_depth --model da3-small
    depth-anything-ros replay clip.mp4 -o clip_depth --model da3metric-large --k 1200 1200 959.5 539.5

The result is a bag with the recorded topics and those of the node, with their own stamps. Model and options are the node's parameters:
--params-file takes the node's YAML. What a killed run has done is kept: the same command goes on. docs/replay.md says more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from depth_anything_ros.cli.stopping import stop_request
from depth_anything_ros.errors import CancelledError, OptionError

if TYPE_CHECKING:
    from depth_anything_ros.replay.options import ReplayOptions
    from depth_anything_ros.replay.run import Summary

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recording", type=Path, help="bag (folder, .mcap, .db3), video, or folder of pictures")
    add("--output", "-o", type=Path, required=True, metavar="DIR", help="folder of the new bag")
    add("--model", metavar="M", help="GGUF file, or name of a fetched model (verb models)")
    add("--params-file", type=Path, nargs="+", default=[], metavar="YAML", help="parameter files of the node")
    add("--param", "-p", action="append", default=[], metavar="NAME:=VALUE", help="a parameter of the node, over the files")
    add("--image", nargs="+", default=[], metavar="TOPIC", help="image topics; default: the only one")
    add("--namespace", metavar="NS", help="of the output topics; default: that of the image topic")
    add("--keep", nargs="+", default=["all"], metavar="TOPIC", help="recorded topics to copy: all (default), none, or names (and TF)")
    add(
        "--outputs",
        nargs="+",
        default=[],
        metavar="NAME",
        help="output topics, such as depth/image_rect points; all; default: neither clouds nor colours",
    )
    add(
        "--remap",
        action="append",
        default=[],
        metavar="NAME:=TOPIC",
        help="topic of the recording that the node's input is, such as scale/points:=/lidar/points (sources of the scale)",
    )
    add("--every", type=int, default=1, metavar="N", help="process every n-th picture")
    add("--from", dest="start", type=float, default=0.0, metavar="S", help="begin S seconds after the begin of the recording")
    add("--to", dest="stop", type=float, metavar="S", help="end S seconds after the begin of the recording")
    add("--storage", default="mcap", metavar="NAME", help="mcap (default) or sqlite3")
    add("--segment", type=int, default=100, metavar="N", help="pictures that a kill can cost at most, per worker (default 100)")
    add("--jobs", type=int, metavar="N", help="processes; on a cluster workers (default: 1; on a cluster as many as it has room for)")
    add("--ray", default="", metavar="ADDRESS", help="run on a Ray cluster: auto, host:port, or local for one on this machine")
    add("--report", type=Path, metavar="DIR", help="write report.html: times, confidence, scale, pictures, clouds, errors")
    add("--truth", default="", metavar="TOPIC", help="kept topic that the report compares with; default: one that looks like it")
    add("--k", type=float, nargs=4, metavar=("FX", "FY", "CX", "CY"), help="camera of a video or of pictures, pixels")
    add("--calibration", type=Path, metavar="YAML", help="the same as a file of camera_calibration")
    add("--rate", type=float, metavar="HZ", help="pictures per second of a folder (10) or video (its own)")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.progress import Progress
    from depth_anything_ros.replay.run import replay
    from depth_anything_ros.replay.source import SourceOptions

    source = SourceOptions(arguments.recording, tuple(arguments.k) if arguments.k else None, arguments.calibration, arguments.rate)
    options = _options(arguments)
    with stop_request() as stopping:
        try:
            summary = replay(source, options, stopping, Progress(sys.stderr))
        except CancelledError:
            if not stopping():
                raise
            print("\nstopped; the same command goes on where this one was", file=sys.stderr)
            return INTERRUPTED
    _show(summary)
    if arguments.report:
        from depth_anything_ros.report.page import write_report

        print(f"report: {write_report(summary, source, arguments.report.expanduser(), arguments.truth)}")
    return 0


def _options(arguments: argparse.Namespace) -> ReplayOptions:
    from depth_anything_ros.replay.camera_replay import NODE_NAME
    from depth_anything_ros.replay.options import ReplayOptions
    from depth_anything_ros.replay.parameter_file import read_options

    overrides = dict(_pairs("--param", arguments.param))
    if arguments.model:
        overrides["model"] = repr(arguments.model)
    node, unknown = read_options(arguments.params_file, overrides, f"{arguments.namespace or ''}/{NODE_NAME}")
    for name in unknown:
        print(f"warning: the node has no parameter {name}", file=sys.stderr)
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


def _show(summary: Summary) -> None:
    for warning in summary.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for refusal in summary.refusals:
        print(f"refused: {refusal}", file=sys.stderr)
    for topic, count in summary.topics.items():
        print(f"{topic}: {count} messages")
    print(f"pictures: {summary.pictures}; processed {summary.processed}, passed over {summary.passed_over}, refused {summary.refused}")
    if summary.seconds and summary.processed:
        each = summary.infer_seconds / summary.processed
        print(f"time: {summary.seconds:.1f} s; engine {each * 1e3:.0f} ms a picture")
    print(f"bag: {summary.output}")
