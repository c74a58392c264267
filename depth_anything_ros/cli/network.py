"""Options of the verbs that run a network, and the line that says which one runs where."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depth_anything_ros.engine import Engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--resolution", type=int, default=0, metavar="PX", help="long side of the picture as the network sees it (V2: short)"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="CPU threads; 0 takes the cores that may be used")
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help="cpu (default), cuda, vulkan, cuda:1, or a list such as cuda,cpu: the first that is there",
    )


def options(arguments: argparse.Namespace) -> dict[str, object]:
    """For `Engine.load`."""
    return {name: getattr(arguments, name) for name in ("resolution", "threads", "device")}


def introduce(engine: Engine) -> None:
    """What runs where, and why its numbers deserve no trust, where that is known."""
    from depth_anything_ros.models.checkpoint_facts import doubt_of

    info = engine.info
    where = f"cpu, kernels {info.instruction_set}" if info.device == "cpu" else info.device
    print(f"{info.checkpoint or info.path} on {where}", flush=True)
    if doubt := doubt_of(info.checkpoint, info.license):
        print(doubt, flush=True)
