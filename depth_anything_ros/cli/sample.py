"""Make a small camera bag: a scene with its calibration and true depth, or your own pictures.

    depth-anything-ros sample -o drive
    depth-anything-ros sample -o photo --scene motorcycle

--scene drive (default): a robot drives along a computed street that no nano model was trained on; 24 pictures with exact depth and TF.

--scene motorcycle: a photograph, "Motorcycle" of the Middlebury 2014 stereo benchmark (D. Scharstein et al., GCPR 2014), which comes with
scikit-image. A window of 640 x 480 pans over it; /camera/camera_info is exact for every picture, /camera/truth/depth has metres.

With --images: your pictures one after the other. Their calibration is not known: a horizontal field of view is assumed (--fov).
"""

from __future__ import annotations

import argparse

from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path

FOV = 60.0
LONGEST = 1280
SCENES = ("drive", "motorcycle")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", type=user_path, required=True, metavar="DIR", help="folder of the new bag")
    parser.add_argument("--storage", default="mcap", metavar="NAME", help="mcap (default) or sqlite3")
    parser.add_argument("--rate", type=float, default=10.0, help="pictures per second (default 10)")
    parser.add_argument("--frames", type=int, default=40, metavar="N", help="pictures of the scene, at most (default 40)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--scene", choices=SCENES, default="drive", help="drive (default) or motorcycle")
    which.add_argument("--images", nargs="+", default=[], metavar="PATH", help="own pictures: files, folders or patterns")
    parser.add_argument("--fov", type=float, default=FOV, help=f"their assumed horizontal field of view, degrees (default {FOV:g})")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.files import find_pictures
    from depth_anything_ros.ros.camera_bag import write_camera_bag
    from depth_anything_ros.ros.sample_shots import own_pictures, scene_shots

    if arguments.frames < 1:
        raise OptionError("option.range", f"--frames {arguments.frames} must be 1 or more.")
    check_fov(arguments.fov)
    if arguments.images:
        shots = own_pictures(find_pictures(arguments.images), arguments.fov, LONGEST)
    else:
        shots = scene_shots(arguments.scene, arguments.frames)
    counts = write_camera_bag(arguments.output, shots, arguments.rate, arguments.storage)
    for topic, count in counts.items():
        print(f"{topic}: {count} messages")
    print(f"bag: {arguments.output}")
    return 0


def check_fov(degrees: float) -> None:
    """Raises OptionError ``option.range``."""
    if not 0 < degrees < 180:
        raise OptionError("option.range", f"--fov {degrees} must be between 0 and 180 degrees.")
