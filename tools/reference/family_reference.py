"""The official side of family_parity.py in a process of its own, so that only one side's weights are in memory.

family_reference.py FOLDER THREADS: writes the checkpoint of DA3-GIANT with all its parts and seeded weights, has it converted, and leaves
in FOLDER: giant.gguf, CASE.npz with pictures, known cameras and outputs, and rounding.json: how far PyTorch's float32 is from its float64,
for every computed output of every case.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import official
import official_family
import official_views
import torch
from family_cases import CHOICE_SEED, LANDSCAPE, TRUE_SIZE_CASES, TRUE_SIZE_RESOLUTION, Case, known_cameras
from family_comparison import errors_of
from torch import nn

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import HyperParameters, with_pose_encoder, with_rays
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

PICTURE = (640, 427)
CAMERAS = ("extrinsics", "intrinsics")
"""Not computed, where they are known."""


def main(folder: Path, threads: int) -> None:
    torch.set_num_threads(threads)
    parameters = with_pose_encoder(with_rays(OFFICIAL_MODELS["da3-giant"]))
    net = official.network(parameters)
    checkpoint = folder / "giant.safetensors"
    official.save_checkpoint(net, checkpoint)
    convert(checkpoint, folder / "giant.gguf", model="da3-giant", rays=True, pose_encoder=True)
    checkpoint.unlink()
    found = {name: _write_case(folder / f"{name}.npz", net, parameters, case) for name, case in TRUE_SIZE_CASES.items()}
    official.in_float64(net)
    rounding = {}
    for name, case in TRUE_SIZE_CASES.items():
        _, exact = _outputs(net, parameters, case, torch.float64)
        computed = [tensor for tensor in exact if not (case.cameras and tensor in CAMERAS)]
        rounding[name] = {tensor: errors_of(tensor, found[name][tensor], exact[tensor])[0] for tensor in computed}
    (folder / "rounding.json").write_text(json.dumps(rounding))


def _write_case(path: Path, net: nn.Module, parameters: HyperParameters, case: Case) -> official.Arrays:
    given, found = _outputs(net, parameters, case, torch.float32)
    np.savez(path, **given, **found)
    return found


def _outputs(
    net: nn.Module, parameters: HyperParameters, case: Case, precision: torch.dtype
) -> tuple[dict[str, np.ndarray], official.Arrays]:
    """Pictures and known cameras, and what the official code makes of them."""
    shots = official_views.pictures([PICTURE] * len(case.sizes))
    cameras = _cameras(len(shots)) if case.cameras else None
    x, intrinsics = official_family.prepared(shots, TRUE_SIZE_RESOLUTION, parameters, cameras)
    known = None if cameras is None or intrinsics is None else (cameras, intrinsics.to(precision))
    found = official_family.inference(net, x.to(precision), known, rays=case.rays, gaussians=case.gaussians, seed=CHOICE_SEED)
    given = {f"picture_{number:02}": shot for number, shot in enumerate(shots)}
    if cameras is not None:
        given |= {"known_extrinsics": cameras.extrinsics[:, :3], "known_intrinsics": cameras.intrinsics}
    return given, found


def _cameras(count: int) -> official_family.Cameras:
    """Those of the tiny pictures for larger ones."""
    cameras = known_cameras(count)
    larger = np.array(PICTURE) / LANDSCAPE
    intrinsics = cameras.intrinsics.copy()
    intrinsics[:, :2] *= larger[:, None]
    return official_family.Cameras(cameras.extrinsics, intrinsics)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
