"""Poses by rays at true size: the engine's against the official code on the same rays, with the same random choices. No arguments.

DA3-SMALL with seeded weights and the ray branch sees a picture of 504x336; the rays that the engine gives as stages go through the official
fit, whose last step takes 8000 of tens of thousands. Run in the parity environment with the extension built (`make parity`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import official
import official_family
import torch
from cache import cached_path
from comparison import BOUND, worst_error

from depth_anything_ros import Engine
from depth_anything_ros.convert.hyper_parameters import with_rays
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import write_seeded

PICTURE_SIZE = (640, 427)
SEEDS = (0, 1, 2)


def main() -> int:
    parameters = with_rays(replace(OFFICIAL_MODELS["da3-small"], checkpoint_name="seeded-small-rays"))
    path = cached_path(parameters, ".gguf")
    if not path.exists():
        write_seeded(path, parameters)
    picture = official.picture(PICTURE_SIZE)
    errors = []
    with Engine.load(path, threads=2) as engine:
        for seed in SEEDS:
            prediction = engine.infer(picture, ray_pose=True, seed=seed, stages=["ray", "ray_conf"])
            expected = official_family.pose_of_rays(prediction.stages["ray"], prediction.stages["ray_conf"], prediction.depth.shape, seed)
            k = prediction.intrinsics
            assert k is not None and prediction.extrinsics is not None
            found = {"extrinsics": prediction.extrinsics, "intrinsics": np.array([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1]])}
            errors += [worst_error(name, found[name], expected[name]) for name in found]
            print(f"seed {seed}: extrinsics {errors[-2]:.1e}, intrinsics {errors[-1]:.1e} (bound {BOUND:.0e})", flush=True)
    return 1 if max(errors) > BOUND else 0


if __name__ == "__main__":
    torch.set_num_threads(2)
    raise SystemExit(main())
