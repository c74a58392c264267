"""Play a camera bag into the node and show the depth that comes out.

    depth-anything-ros demo
    depth-anything-ros demo --model da3-small --images 'holiday/*.jpg'

Without --model the small model in the package runs: trained on computed scenes, for demos and tests, not for robots. Without --images
the camera bag is a scene of the verb sample with its true depth, and the accuracy is printed. Player, node and recorder are processes of
their own, on a ROS domain of their own.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from depth_anything_ros.cli import demo_output
from depth_anything_ros.cli.demo_camera import RATE, shots_of, write_bag
from depth_anything_ros.cli.sample import FOV, SCENES, check_fov
from depth_anything_ros.cli.stopping import stop_request
from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path

LEAST = 10
"""Frames of the scene that a slow machine shall process: it gets the bag played more slowly."""
SLACK = 3.0
"""Times that the bag is slower than the model was when it was tried."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=user_path, default=Path("nano"), help="GGUF file, or name of a model (verb models); default: nano")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--scene", choices=SCENES, default="drive", help="of the verb sample; default: drive")
    which.add_argument("--images", nargs="+", default=[], metavar="PATH", help="own pictures: files, folders or patterns")
    parser.add_argument("--fov", type=float, default=FOV, help=f"their assumed horizontal field of view, degrees (default {FOV:g})")
    parser.add_argument(
        "--output", "-o", type=user_path, default=Path("build/demo"), metavar="DIR", help="folder for the results (build/demo)"
    )


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.files import make_folder
    from depth_anything_ros.ros.demo_model import try_model
    from depth_anything_ros.ros.demo_run import DemoRun

    check_fov(arguments.fov)
    folder = arguments.output.absolute()
    camera, depth = folder / "camera", folder / "depth"
    make_folder(folder)
    print("1/4  Model", flush=True)
    shots = shots_of(arguments)
    model = try_model(arguments.model, next(shots()))
    demo_output.describe(model)
    print("2/4  Camera bag", flush=True)
    _clear(folder, (camera, depth))
    count = write_bag(arguments, camera, shots())
    print("3/4  Bag -> node -> bag, over the middleware", flush=True)
    rate = _play_rate(count, count if arguments.images else LEAST, model.seconds)
    with stop_request() as stopping:
        DemoRun(camera, depth, folder, model.parameters, model.seconds, rate).run(stopping, demo_output.Progress())
    print("\n4/4  Results", flush=True)
    demo_output.report(folder, camera, model)
    return 0


def _clear(folder: Path, bags: tuple[Path, ...]) -> None:
    """Remove the bags of an earlier demo. Raises OptionError ``option.range`` for other things of those names."""
    mark = folder / "play.log"  # which every demo leaves
    if foreign := [bag for bag in bags if bag.exists() and not mark.is_file()]:
        raise OptionError("option.range", f"--output {folder}: {foreign[0].name} is there, and not from a demo; take another folder.")
    mark.touch()
    for bag in bags:
        shutil.rmtree(bag, ignore_errors=True)


def _play_rate(frames: int, least: int, seconds: float) -> float:
    """Speed at which about `least` of the frames can be processed, at most that of the recording."""
    rate = min(1.0, frames / RATE / (SLACK * least * seconds))
    if rate < 1.0:
        print(f"     played at {rate:.2g} of its speed, so that this machine can process {least} of {frames} frames", flush=True)
    return rate
