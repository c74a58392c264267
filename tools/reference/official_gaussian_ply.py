"""Writes Gaussians as PLY by the official code itself: python tools/reference/official_gaussian_ply.py gaussians.npz OUT.ply

gaussians.npz: depth [views, h, w] and, for the pixels of all views, means [n, 3], scales [n, 3], rotations [n, 4], harmonics [n, 3, 9] and
opacities [n].
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from depth_anything_3.specs import Gaussians
from depth_anything_3.utils.gsply_helpers import save_gaussian_ply


def main(source: Path, target: Path) -> None:
    values = {name: torch.from_numpy(array) for name, array in np.load(source).items()}
    depth = values.pop("depth")
    # The settings of the official export_to_gs_ply, whose module needs the makers of films.
    save_gaussian_ply(
        Gaussians(**{name: array[None] for name, array in values.items()}),
        str(target),
        depth[..., None],
        prune_by_depth_percent=0.9,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
