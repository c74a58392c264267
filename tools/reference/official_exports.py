"""Writes the official GLB and COLMAP files of a scene, by the official code itself.

python tools/reference/official_exports.py scene.npz FOLDER

scene.npz: depth, conf [n, h, w], processed_images [n, h, w, 3], intrinsics [n, 3, 3], extrinsics [n, 3, 4], names [n] and picture_size
(width, height). FOLDER gets scene.glb and COLMAP's binary files. Modules that the official code imports only for films are replaced by
nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import cv2
import numpy as np

EXPORT = "depth_anything_3.utils.export"
UNUSED = ("moviepy", "moviepy.editor", f"{EXPORT}.gs", f"{EXPORT}.feat_vis", f"{EXPORT}.depth_vis")
sys.modules.update({name: MagicMock(__spec__=None) for name in UNUSED})

from depth_anything_3.utils.export.colmap import export_to_colmap  # noqa: E402
from depth_anything_3.utils.export.glb import export_to_glb  # noqa: E402


def main(scene_file: Path, folder: Path) -> None:
    scene = dict(np.load(scene_file))
    names, (width, height) = scene.pop("names"), scene.pop("picture_size")
    prediction = SimpleNamespace(**scene)
    export_to_glb(prediction, str(folder), export_depth_vis=False)
    # The official code opens each picture for its size.
    pictures = [str(folder / name) for name in names]
    for picture in pictures:
        cv2.imwrite(picture, np.zeros((height, width, 3), np.uint8))
    export_to_colmap(prediction, str(folder), pictures)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
