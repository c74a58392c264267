"""What the nano models make of real photographs, which are foreign to them: a sheet for the docs, and numbers where truth is known.

    python -m training.photographs --china china.jpg --output docs/nano/photographs.jpg

motorcycle (Middlebury 2014, with true depth) and rocket (SpaceX, CC0) come with scikit-image, china (danielbuechele, CC BY 2.0) with
scikit-learn. The picture of the motorcycle is not ours to show: its place on the sheet is empty.
"""

import argparse
import itertools
from pathlib import Path

import cv2
import numpy as np
import skimage.data

from depth_anything_ros import Engine
from depth_anything_ros.colors import colourise
from depth_anything_ros.depth import resize
from depth_anything_ros.files import make_folder, read_picture, write_file
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.ros.sample_shots import motorcycle_pan

from .score import SKY_THRESHOLD

TILE = (240, 180)
FIELD = 60.0  # degrees, where the calibration is not known


def tile(rgb):
    return cv2.resize(np.zeros((3, 4, 3), np.uint8) if rgb is None else rgb, TILE, interpolation=cv2.INTER_AREA)


def errors(name, depth, true):
    """depth, true: [H, W], NaN in `true` where there is none."""
    known = np.isfinite(true)
    ratio = depth[known] / true[known]
    within = np.mean(np.maximum(ratio, 1 / ratio) < 1.25)
    print(f"motorcycle, {name}: AbsRel {np.abs(ratio - 1).mean():.3f}, within 1.25 {within:.3f}")


def with_one_scale(depth, true):
    known = np.isfinite(true)
    return depth * np.median(true[known] / depth[known])


def photographs(china):
    """Name, picture, intrinsics, true depth or None, whether the picture may be shown."""
    shot = next(itertools.islice(motorcycle_pan(3), 1, None))
    yield "motorcycle", shot.rgb, shot.intrinsics, shot.depth, False
    for name, rgb in (("rocket", skimage.data.rocket()), ("china", read_picture(china))):
        height, width = rgb.shape[:2]
        focal = width / 2 / np.tan(np.radians(FIELD / 2))
        yield name, np.ascontiguousarray(rgb), centred_intrinsics(focal, width, height), None, True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--china", type=Path, required=True, help="china.jpg of scikit-learn")
    parser.add_argument("--any-view", default="nano-any-view", help="GGUF file or name of a model")
    parser.add_argument("--metric", default="nano-metric", help="GGUF file or name of a model")
    parser.add_argument("--output", "-o", type=Path, required=True, help="JPEG of picture, metric net, any-view net, its confidence, truth")
    options = parser.parse_args()
    rows = []
    with Engine.load(options.metric) as metric, Engine.load(options.any_view) as any_view:
        for name, rgb, camera, true, shown in photographs(options.china):
            height, width = rgb.shape[:2]
            metres, relative = (engine.infer(rgb, intrinsics=camera, fill_sky=False) for engine in (metric, any_view))
            print(f"{name}: sky {np.mean(metres.sky >= SKY_THRESHOLD):.1%}, depth {np.percentile(metres.depth, (5, 50, 95)).round(2)} m")
            if true is not None:
                errors("metric net, metres", resize(metres.depth, width, height), true)
                for net, one in (("metric net", metres), ("any-view net", relative)):
                    errors(f"{net}, one scale", with_one_scale(resize(one.depth, width, height), true), true)
            seen = np.where(metres.sky >= SKY_THRESHOLD, np.inf, metres.depth)
            truth = None if true is None else colourise(true)
            rows.append(np.hstack([tile(rgb if shown else None), tile(colourise(seen)), tile(colourise(relative.depth)), tile(truth)]))
    make_folder(options.output.parent)
    sheet = cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR)
    write_file(options.output, cv2.imencode(".jpg", sheet, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes())


if __name__ == "__main__":
    main()
