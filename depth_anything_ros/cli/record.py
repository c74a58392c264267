"""Record topics of the live graph into a bag (rosbag2).

    depth-anything-ros record -o drive /camera/image_raw /camera/camera_info
    depth-anything-ros record -o result --until-idle 5 /depth/image_rect /depth/camera_info /tf /tf_static

The bag appears under its name when it is complete; Ctrl-C is the ordinary end. Topics without a publisher yet are waited for.

A topic whose type is not installed is skipped with one line.

Exit codes: 0 recorded; 2 option, or a bag that is there already; 4 disk, or no topic whose type is installed.
"""

from __future__ import annotations

import argparse

from depth_anything_ros.cli.stopping import stop_request
from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.add_argument("--output", "-o", type=user_path, required=True, metavar="DIR", help="folder of the new bag")
    parser.add_argument("--storage", default="mcap", metavar="NAME", help="mcap (default) or sqlite3")
    parser.add_argument("--duration", type=float, default=0.0, metavar="S", help="end after S seconds")
    parser.add_argument("--count", type=int, default=0, metavar="N", help="end after N messages of all topics together")
    parser.add_argument(
        "--until-idle", type=float, default=0.0, metavar="S", help="end when S seconds pass without a message, after the first"
    )


def run(arguments: argparse.Namespace) -> int:
    with stop_request() as stopping:
        from depth_anything_ros.ros.bag_recorder import RecordOptions, record
        from depth_anything_ros.ros.bag_writer import BagWriter
        from depth_anything_ros.ros.middleware import middleware

        options = RecordOptions(tuple(arguments.topics), arguments.duration, arguments.count, arguments.until_idle)
        with middleware(args=[]), BagWriter(arguments.output, arguments.storage) as writer:
            record(writer, options, stopping, _say)
    for topic, count in writer.counts.items():
        _say(f"{topic}: {count} messages")
    _say(f"bag: {writer.folder}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
