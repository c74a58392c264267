"""Depth for a recording: every picture of a bag, a video or a folder, as fast as the machine goes.

    depth-anything-ros replay drive/ -o drive_depth --model da3-small
    depth-anything-ros replay drive/ -o drive_depth --params-file depth.yaml --outputs all --jobs 4 --report report/
    depth-anything-ros replay clip.mp4 -o clip_depth --model da3metric-large --k 1200 1200 959.5 539.5
    depth-anything-ros replay drive/ -o drive_depth --model da3-small -p scale.source:=range --remap scale/points:=/lidar/points

The result is a bag with the recorded topics and those of the node, with their own stamps. Model and options are the node's parameters:
--params-file takes the node's YAML. What a killed or stopped run has done is kept: the same command goes on. docs/replay.md says more.

Exit codes: 0 done; 2 option, or an output that is there already; 3 model; 4 recording or disk; 5 device; 130 stopped.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from depth_anything_ros.cli import replay_options
from depth_anything_ros.cli.stopping import stop_request
from depth_anything_ros.errors import CancelledError, OptionError

if TYPE_CHECKING:
    from depth_anything_ros.replay.options import ReplayOptions
    from depth_anything_ros.replay.run import Summary

INTERRUPTED = 130

add_arguments = replay_options.add_arguments


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.progress import Progress
    from depth_anything_ros.replay.run import replay
    from depth_anything_ros.replay.source import SourceOptions

    _check_report(arguments)
    source = SourceOptions(arguments.recording, tuple(arguments.k) if arguments.k else None, arguments.calibration, arguments.rate)
    options = replay_options.read(arguments)
    with stop_request() as stopping:
        try:
            summary = replay(source, options, stopping, Progress(sys.stderr))
        except CancelledError:
            if not stopping():
                raise
            print("\nstopped; the same command goes on where this one was", file=sys.stderr)
            return INTERRUPTED
    _show(summary, options)
    if arguments.report:
        from depth_anything_ros.report.page import write_report

        print(f"report: {write_report(summary, source, arguments.report, arguments.truth)}")
    return 0


def _check_report(arguments: argparse.Namespace) -> None:
    """Raises OptionError now for what the report would find at the end."""
    from depth_anything_ros.evaluate.evaluation import DEPTH_NAMES

    if arguments.truth and not arguments.report:
        raise OptionError("option.range", "--truth is for --report; the verb evaluate compares a bag that is there.")
    if arguments.report and not {"all", *DEPTH_NAMES}.intersection(arguments.outputs or ["all"]):
        raise OptionError("option.range", f"--report wants depth in the bag: one of {', '.join(DEPTH_NAMES)} among --outputs.")


def _show(summary: Summary, options: ReplayOptions) -> None:
    source = options.node.processing.scale_source
    for warning in summary.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for refusal in summary.refusals:
        print(f"refused: {refusal}", file=sys.stderr)
    without = _messages(summary, "relative/image")
    if without and source not in ("model", "constant"):
        print(f"warning: {without} pictures without metres; depth/scale says why scale.source {source} did not know it", file=sys.stderr)
    elif without and summary.kind == "metric":
        print("warning: depth without metres, for want of a focal length: --k, --calibration or -p focal:=600.0 gives one", file=sys.stderr)
    if absent := [name for name in options.outputs if name != "all" and not _messages(summary, name)]:
        print(f"warning: nothing came of --outputs {' '.join(absent)} (depth/* and points: with metres; rgb/*: rectified)", file=sys.stderr)
    for topic, count in summary.topics.items():
        print(f"{topic}: {count} messages")
    print(f"pictures: {summary.pictures}; processed {summary.processed}, passed over {summary.passed_over}, refused {summary.refused}")
    if summary.seconds and summary.processed:
        each = summary.infer_seconds / summary.processed
        print(f"time: {summary.seconds:.1f} s; engine {each * 1e3:.0f} ms a picture")
    print(f"bag: {summary.output}")


def _messages(summary: Summary, name: str) -> int:
    """Of an output, all cameras together."""
    return sum(summary.topics.get(f"{camera.namespace}/{name}", 0) for camera in summary.cameras)
