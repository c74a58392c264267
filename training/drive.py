"""A bag of a robot that drives through a held-out scene: image, camera_info, true depth, and the camera's pose as TF.

python -m training.drive --output drive.bag
python -m training.drive --compact depth_anything_ros/samples/drive.npz --frames 24 --size 224 168    # as the package ships it
"""

import argparse
import math
from pathlib import Path

import numpy as np

from depth_anything_ros.ros.camera_bag import Shot, write_camera_bag
from depth_anything_ros.ros.drive_file import write_drive
from depth_anything_ros.types import Intrinsics

from .dataset import SPLITS
from .scenes import cameras, layouts, render, sensor

CLEARANCE = 0.45  # metres to the nearest object
SCENE = SPLITS["test"][0] + 500_021  # a street; no seed near it is used by anything else


def straight_way(world, longest):
    """Start (x, y), heading and length of the longest straight way in free space that a few hundred tries find."""
    x0, y0, x1, y1 = world.region
    best = (0.0, (0.0, 0.0), 0.0)
    for _ in range(300):
        x, y, heading = world.uniform(x0, x1), world.uniform(y0, y1), world.uniform(-math.pi, math.pi)
        length = 0.0
        while length < longest:
            a, b = x + length * math.cos(heading), y + length * math.sin(heading)
            if not (x0 <= a <= x1 and y0 <= b <= y1 and world.is_free(a, b, CLEARANCE)):
                break
            length += 0.1
        best = max(best, (length, (x, y), heading))
    length, start, heading = best
    return start, heading, length


def poses(world, frames, height, longest=8.0):
    """Camera poses along a straight way that stops well short of what ends it; the view sways a little."""
    (x, y), heading, length = straight_way(world, longest)
    for n in range(frames):
        way = 0.6 * length * n / max(frames - 1, 1)
        sway = math.radians(10) * math.sin(2 * math.pi * n / max(frames, 1))
        yield cameras.pose_from(
            (x + way * math.cos(heading), y + way * math.sin(heading), height), heading + sway, math.radians(-8), 0.2 * sway
        )


def shots(seed, frames, width, height, field=75.0):
    """Pictures of the drive through the test scene `seed`; `field` is the horizontal field of view in degrees."""
    world = layouts.build(seed, held_out=True)
    camera_height = math.sqrt(world.heights[0] * world.heights[1])
    focal = cameras.focal_from(width, math.radians(field))
    for pose in poses(world, frames, camera_height):
        picture = render.render(world, cameras.Camera(width, height, focal, pose))
        rgb = sensor.develop(picture.rgb, np.random.default_rng(seed))  # the same lens and sensor all the way
        intrinsics = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
        yield Shot(rgb, intrinsics, np.where(picture.sky, np.inf, picture.depth).astype(np.float32), pose)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--output", "-o", type=Path, help="folder of the new bag")
    target.add_argument("--compact", type=Path, metavar="FILE", help="write one small file instead of a bag (JPEG, PNG)")
    parser.add_argument("--storage", default="mcap", help="mcap or sqlite3")
    parser.add_argument("--seed", type=int, default=SCENE, help="a test scene")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--rate", type=float, default=10.0, help="pictures per second")
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480), metavar=("WIDTH", "HEIGHT"))
    options = parser.parse_args()
    drive = shots(options.seed, options.frames, *options.size)
    if options.compact:
        write_drive(options.compact, drive)
        return
    counts = write_camera_bag(options.output, drive, options.rate, options.storage)
    for topic, count in counts.items():
        print(f"{topic}: {count} messages")


if __name__ == "__main__":
    main()
