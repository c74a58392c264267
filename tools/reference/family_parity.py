"""Rays, known cameras and Gaussians of DA3-GIANT at true size against the official PyTorch code: family_parity.py [--threads N]

As parity.py does for one picture: seeded weights in the official checkpoint layout go through the converter, then the official code and the
engine see the same pictures with the same random choices, each in a process of its own (`make parity`; 16 GB of memory, 10 GB of disk).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from family_cases import CHOICE_SEED, TRUE_SIZE_CASES, TRUE_SIZE_RESOLUTION, Case
from family_comparison import arrays_of, bounds_of, engine_cameras, errors_of

from depth_anything_ros import Engine, Wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    with TemporaryDirectory() as name:
        folder = Path(name)
        reference = Path(__file__).with_name("family_reference.py")
        subprocess.run([sys.executable, str(reference), str(folder), str(threads)], check=True)
        with Engine.load(folder / "giant.gguf", threads=threads, resolution=TRUE_SIZE_RESOLUTION) as engine:
            rounding = json.loads((folder / "rounding.json").read_text())
            cases = [(name, case, dict(np.load(folder / f"{name}.npz"))) for name, case in TRUE_SIZE_CASES.items()]
            verdicts = [_compare(engine, *case, rounding[case[0]]) for case in cases]
    return 0 if all(verdicts) else 1


def _compare(engine: Engine, name: str, case: Case, expected: dict[str, np.ndarray], rounding: dict[str, float]) -> bool:
    """Print one case; whether it is within its bounds. rounding: of PyTorch's float32, for every tensor that is computed."""
    pictures = [expected.pop(key) for key in sorted(expected) if key.startswith("picture_")]
    cameras = engine_cameras(expected.pop("known_extrinsics"), expected.pop("known_intrinsics"), pictures) if case.cameras else ()
    wanted = Wanted(gaussians=case.gaussians)
    found = arrays_of(engine.infer_views(pictures, wanted=wanted, ray_pose=case.rays, cameras=cameras, seed=CHOICE_SEED))
    height, width = expected["depth"].shape[1:]
    print(f"\nda3-giant, {name}: {len(pictures)} views of {width}x{height}")
    print("  tensor       largest error     bound  PyTorch's rounding  rms error     bound")
    passed = True
    for tensor, values in expected.items():
        own = rounding.get(tensor, 0.0)
        errors, bounds = errors_of(tensor, found[tensor], values), bounds_of(tensor, case.rays, own)
        within = errors[0] <= bounds[0] and errors[1] <= bounds[1]
        passed &= within
        verdict = "" if within else "  ABOVE THE BOUND"
        line = f"  {tensor:12s} {errors[0]:13.1e} {bounds[0]:9.1e} {f'{own:.1e}' if own else '':>19s} {errors[1]:10.1e} {bounds[1]:9.1e}"
        print(line + verdict, flush=True)
    return passed


if __name__ == "__main__":
    raise SystemExit(main())
