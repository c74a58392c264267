"""Depth of pictures and videos, written beside each other into a folder.

    depth-anything-ros infer photo.jpg --model da3-small -o out
    depth-anything-ros infer 'holiday/*.jpg' clip.mp4 --model da3metric-large --focal 1100 --formats mm color -o out

A folder stands for the pictures in it, a video for each of its pictures (clip_000000, clip_000001, ...). Of several files those that cannot
be read are named, the others are done; the exit code is 4 then.

Formats: color (PNG for people), npz (all maps with their unit), pfm (depth as float), mm (16-bit PNG in millimetres, 0 invalid; only where
the depth is in metres), pose (JSON: the camera as the model sees it). For other programs, as points with their camera: glb, ply, colmap,
colmap-text. docs/exports.md tells what is in each. DA3METRIC needs --focal to give metres.
"""

from __future__ import annotations

import argparse
import os
import sys

from depth_anything_ros.cli import network
from depth_anything_ros.cli.formats import PICTURE_FILES, check_formats, check_model, picture_files
from depth_anything_ros.cli.stopping import interruptible
from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", metavar="PATH", help="pictures and videos: files, folders of pictures, or patterns")
    parser.add_argument("--model", type=user_path, required=True, help="GGUF file, or name of a fetched model (verb models)")
    parser.add_argument("--metric-model", default="", metavar="M", help="metric network that gives --model its metres (da3nested-metric)")
    parser.add_argument("--output", "-o", type=user_path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--formats", nargs="+", default=["color", "npz"], metavar="NAME", help=f"of {', '.join(PICTURE_FILES)} (default color npz)"
    )
    parser.add_argument("--focal", type=float, default=0.0, metavar="PX", help="focal length of the pictures in pixels")
    parser.add_argument("--size", default="camera", help="size of the maps: camera (that of the picture, default) or network")
    network.add_arguments(parser)
    parser.add_argument("--exact", action="store_true", help="compute everything in floats, quantised files too, which takes longer")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.cli.pictures import pictures_of
    from depth_anything_ros.cli.results import write_results
    from depth_anything_ros.engine import Engine
    from depth_anything_ros.files import VIDEO_SUFFIXES, count_pictures, find_pictures, make_folder
    from depth_anything_ros.geometry import centred_intrinsics
    from depth_anything_ros.pipeline import ProcessingOptions, process
    from depth_anything_ros.progress import Progress
    from depth_anything_ros.types import Frame

    check_formats(arguments.formats, PICTURE_FILES)
    if not 0.0 <= arguments.focal < 1e6:
        raise OptionError("option.range", f"--focal {arguments.focal} must be a number of pixels above 0.")
    if arguments.size not in ("camera", "network"):
        raise OptionError("option.range", f"--size {arguments.size} must be camera or network.")
    options = ProcessingOptions(depth_size=arguments.size)
    paths = find_pictures(arguments.images)
    given = set(map(os.path.realpath, paths))
    make_folder(arguments.output)
    chosen = {"metric_model": arguments.metric_model, "exact": arguments.exact, **network.options(arguments)}
    with Engine.load(arguments.model, **chosen) as engine:
        check_model(arguments.formats, engine.info, arguments.focal)
        network.introduce(engine)
        if engine.info.needs_focal and not arguments.focal:
            print("without --focal its depth is relative, with it in metres", flush=True)
        total = sum(count_pictures(path) for path in paths)
        progress = Progress(sys.stderr if sys.stderr.isatty() and total > 1 else None)
        progress.begin(total, 0)
        try:
            for name, path, pixels in pictures_of(paths):
                files = picture_files(arguments.output / name, arguments.formats, given)
                height, width = pixels.shape[:2]
                camera = centred_intrinsics(arguments.focal, width, height) if arguments.focal else None
                frame = Frame(pixels, False, camera, 0, "")
                products = interruptible(engine, lambda frame=frame: process(frame, engine, options))
                write_results(files, products, f"{name}.png" if path.suffix.lower() in VIDEO_SUFFIXES else path.name)
                progress.clear()
                unit = "metres" if products.metric else products.prediction.kind.value
                print(f"{path} -> {name}: {width}x{height}, {unit}, {products.timings['infer'] * 1e3:.0f} ms", flush=True)
                progress.advance(1)
        finally:
            progress.end()
    return 0
