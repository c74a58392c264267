"""The official side of family_parity.py in a process of its own, so that only one side's weights are in memory.

family_reference.py FOLDER THREADS: writes the checkpoint of DA3-GIANT with all its parts and seeded weights, has it converted, and leaves
in FOLDER: giant.gguf, and CASE.npz with pictures, known cameras and outputs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import official
import official_family
import official_views
import torch
from family_cases import CHOICE_SEED, LANDSCAPE, TRUE_SIZE_CASES, TRUE_SIZE_RESOLUTION, known_cameras

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import with_pose_encoder, with_rays
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

PICTURE = (640, 427)


def main(folder: Path, threads: int) -> None:
    torch.set_num_threads(threads)
    parameters = with_pose_encoder(with_rays(OFFICIAL_MODELS["da3-giant"]))
    net = official.network(parameters)
    checkpoint = folder / "giant.safetensors"
    official.save_checkpoint(net, checkpoint)
    convert(checkpoint, folder / "giant.gguf", model="da3-giant", rays=True, pose_encoder=True)
    checkpoint.unlink()
    for name, case in TRUE_SIZE_CASES.items():
        shots = official_views.pictures([PICTURE] * len(case.sizes))
        cameras = _cameras(len(shots)) if case.cameras else None
        x, intrinsics = official_family.prepared(shots, TRUE_SIZE_RESOLUTION, parameters, cameras)
        known = None if cameras is None or intrinsics is None else (cameras, intrinsics)
        found = official_family.inference(net, x, known, rays=case.rays, gaussians=case.gaussians, seed=CHOICE_SEED)
        given = {f"picture_{number:02}": shot for number, shot in enumerate(shots)}
        if cameras is not None:
            given |= {"known_extrinsics": cameras.extrinsics[:, :3], "known_intrinsics": cameras.intrinsics}
        np.savez(folder / f"{name}.npz", **given, **found)


def _cameras(count: int) -> official_family.Cameras:
    """Those of the tiny pictures for larger ones."""
    cameras = known_cameras(count)
    larger = np.array(PICTURE) / LANDSCAPE
    intrinsics = cameras.intrinsics.copy()
    intrinsics[:, :2] *= larger[:, None]
    return official_family.Cameras(cameras.extrinsics, intrinsics)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
