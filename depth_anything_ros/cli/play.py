"""Play a bag (rosbag2: mcap or sqlite3) on the live graph.

    depth-anything-ros play drive --rate 0.5 --loop 3
    depth-anything-ros play drive --remap /front/image_raw:=/camera/image_raw --clock
    depth-anything-ros play drive --wait-for /camera/image_raw /camera/camera_info --wait 30

The recorded bytes are published with the recorded QoS and timing. Topics whose message types are not installed are skipped with one
message. A damaged bag is played as far as it can be read.

Exit codes: 0 played to its end or stopped (Ctrl-C, SIGTERM); 2 option; 4 no bag that can be read.
"""

from __future__ import annotations

import argparse
import sys

from depth_anything_ros.cli.stopping import stop_request
from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=user_path, help="folder, .mcap or .db3 file")
    parser.add_argument("--rate", type=float, default=1.0, help="speed (default 1: as recorded)")
    parser.add_argument("--loop", type=int, default=1, metavar="N", help="play N times; 0 is without end")
    parser.add_argument("--topics", nargs="+", default=[], metavar="TOPIC", help="only these (recorded names)")
    parser.add_argument("--remap", nargs="+", default=[], metavar="OLD:=NEW", help="publish a topic under another name")
    parser.add_argument("--clock", action="store_true", help="publish the recorded time on /clock")
    parser.add_argument("--wait", type=float, default=10.0, metavar="S", help="wait at most S seconds for readers (default 10)")
    parser.add_argument("--wait-for", nargs="+", default=[], metavar="TOPIC", help="published topics that must have readers; default: any")
    parser.add_argument("--readers", type=int, default=1, metavar="N", help="how many readers each of them must have (default 1)")


def run(arguments: argparse.Namespace) -> int:
    with stop_request() as stopping:
        from depth_anything_ros.ros.bag_player import PlayOptions, play
        from depth_anything_ros.ros.bag_reader import BagReader
        from depth_anything_ros.ros.middleware import middleware

        options = PlayOptions(
            rate=arguments.rate,
            loop=arguments.loop,
            topics=tuple(arguments.topics),
            remap=_remappings(arguments.remap),
            clock=arguments.clock,
            wait=arguments.wait,
            wait_for=tuple(arguments.wait_for),
            readers=arguments.readers,
        )
        with BagReader(arguments.bag) as reader:
            with middleware(args=[]):
                sent = play(reader, options, stopping, _say)
            for warning in reader.warnings:
                print(f"warning: {warning}", file=sys.stderr)
    for topic, count in sent.items():
        _say(f"{topic}: {count} messages")
    return 0


def _remappings(texts: list[str]) -> dict[str, str]:
    if wrong := [text for text in texts if not all(text.partition(":="))]:
        raise OptionError("option.range", f"--remap {wrong[0]}: expected OLD:=NEW.")
    return {old: new for old, _, new in (text.partition(":=") for text in texts)}


def _say(line: str) -> None:
    print(line, flush=True)
