"""A scene in three dimensions from several pictures of it, or from a video.

    depth-anything-ros reconstruct room/*.jpg --model da3-base -o room3d
    depth-anything-ros reconstruct walk.mp4 --frames 24 --model da3-large -o walk3d --formats glb colmap
    depth-anything-ros reconstruct room/*.jpg --model da3nested-anyview --metric-model da3nested-metric -o room3d    # metres

An any-view model looks at all pictures together and finds where each was taken. Pictures should overlap and have one shape.
Files in DIR, by format: cameras (cameras.json: intrinsics and poses), glb (scene.glb, for viewers), ply (scene.ply, points), colmap
and colmap-text (folders, for splatting and NeRF trainers; of a video with its pictures, images), gaussians (gaussians.ply, for splatting
viewers; DA3-GIANT and NESTED only).

Without a metric model the scene has one unknown scale, and the files say so (unit relative_depth). Cameras that you know, in metres,
make it metric too: write them as cameras.json has them and give --cameras (models converted with --with-pose-encoder). The network
holds all pictures at once: where memory does not suffice, take fewer --frames or a lower --resolution.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from depth_anything_ros.cli import network
from depth_anything_ros.cli.formats import SCENE_FILES, check_formats, check_free
from depth_anything_ros.cli.stopping import interruptible
from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.paths import user_path

if TYPE_CHECKING:
    from depth_anything_ros.engine import Engine
    from depth_anything_ros.types import UInt8Array

FRAMES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pictures", nargs="+", metavar="PATH", help="pictures (files, folders or patterns), or one video")
    parser.add_argument("--model", type=user_path, required=True, help="any-view GGUF file, or name of a fetched model (verb models)")
    parser.add_argument("--metric-model", type=user_path, help="metric model that gives the scene its metres")
    parser.add_argument("--output", "-o", type=user_path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--formats", nargs="+", default=["cameras", "glb"], metavar="NAME", help=f"of {', '.join(SCENE_FILES)} (default cameras glb)"
    )
    parser.add_argument("--frames", type=int, default=FRAMES, metavar="N", help=f"pictures taken evenly from a video (default {FRAMES})")
    parser.add_argument(
        "--cameras", type=user_path, metavar="FILE", help="known cameras of the pictures, as cameras.json has them, in metres"
    )
    parser.add_argument("--ray-pose", action="store_true", help="cameras from the rays of all pixels (models converted with --with-aux)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random choices of --ray-pose and --cameras (default 0)")
    network.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.cli.exports import Scene
    from depth_anything_ros.engine import Engine
    from depth_anything_ros.export.cameras import read_cameras
    from depth_anything_ros.export.views import unit_of, view_of
    from depth_anything_ros.files import VIDEO_SUFFIXES, make_folder
    from depth_anything_ros.scenes import read_scene
    from depth_anything_ros.types import Frame, Wanted

    check_formats(arguments.formats, SCENE_FILES)
    if arguments.frames < 1:
        raise OptionError("option.range", f"--frames {arguments.frames} must be 1 or more.")
    files = {name: arguments.output / SCENE_FILES[name] for name in arguments.formats}
    check_free(files.values(), {os.path.realpath(arguments.cameras)} if arguments.cameras else ())
    pictures = read_scene(arguments.pictures, arguments.frames)
    cameras = read_cameras(arguments.cameras, list(pictures)) if arguments.cameras else []
    with Engine.load(arguments.model, metric_model=arguments.metric_model or "", **network.options(arguments)) as engine:
        _check(engine, pictures, arguments.formats)
        network.introduce(engine)
        make_folder(arguments.output)
        print(f"{len(pictures)} pictures ...", flush=True)
        how = {"wanted": Wanted(gaussians="gaussians" in arguments.formats), "ray_pose": arguments.ray_pose, "seed": arguments.seed}
        predictions = interruptible(engine, lambda: engine.infer_views(list(pictures.values()), cameras=cameras, **how))
    if lost := [name for name, one in zip(pictures, predictions) if one.extrinsics is None]:
        raise InputError("input.pose", f"The rays of {lost[0]} fit no camera; leave out the picture, or --ray-pose.")
    views = [view_of(Frame(pixels, False, None, 0, ""), one, name) for (name, pixels), one in zip(pictures.items(), predictions)]
    # Known cameras have a world of their own; that of the Gaussians stays the network's.
    factor = None if cameras else predictions[0].scale_factor
    from_video = any(Path(one).suffix.lower() in VIDEO_SUFFIXES for one in arguments.pictures)
    scene = Scene(views, predictions, factor, pictures if from_video else {})
    for name, file in files.items():
        scene.write(name, file)
        print(file, flush=True)
    print(f"unit: {unit_of(views)}")
    return 0


def _check(engine: Engine, pictures: dict[str, UInt8Array], formats: list[str]) -> None:
    from depth_anything_ros.export.colmap import check_text_names

    if not engine.info.has_pose:
        raise OptionError("option.range", f"{engine.info.checkpoint} finds no poses; take an any-view model (DA3-SMALL to GIANT, NESTED).")
    if "gaussians" in formats and not engine.info.has_gaussians:
        raise OptionError("option.range", f"Format gaussians: {engine.info.checkpoint} has none; take DA3-GIANT or DA3NESTED.")
    if "colmap-text" in formats:
        check_text_names(pictures)
    sizes = {name: engine.processed_size(pixels.shape[1], pixels.shape[0]) for name, pixels in pictures.items()}
    first, size = next(iter(sizes.items()))
    for name, other in sizes.items():
        if other != size:
            raise InputError(
                "input.shape",
                f"{name} is processed at {other[0]}x{other[1]} pixels and {first} at {size[0]}x{size[1]}; a scene's pictures must have "
                "one shape, crop them.",
            )
