"""How far one gets without looking: the two baselines a net has to beat, and the spread of the depths.

python -m training.baselines --split test
"""

import argparse
from pathlib import Path

import numpy as np

from . import dataset
from .score import abs_rel


def depths(folder, split, view=0):
    """Depth of one view of every scene, float32 [N, H, W]; inf is sky."""
    return np.concatenate([shard["depth"][:, view].astype(np.float32) for shard in dataset.load(folder, split)])


def row_means(train):
    """Mean depth of each picture row over a training set, [H]."""
    valid = np.isfinite(train)
    return np.where(valid, train, 0.0).sum((0, 2)) / np.maximum(valid.sum((0, 2)), 1)


def best_plane(true):
    """Plane through one picture, [H, W]: inverse depth linear in the pixel, fitted to the picture's own truth for the least AbsRel.

    With r = z * plane the AbsRel of a pixel is |1 - r| / r: reweighted least squares on r = 1 walks to its minimum; the best round counts.
    """
    rows, columns = np.mgrid[-1 : 1 : true.shape[0] * 1j, -1 : 1 : true.shape[1] * 1j]
    valid = np.isfinite(true)
    z = true[valid].astype(np.float64)
    terms = np.stack([np.ones(true.shape), rows, columns], -1)
    farthest = z.max()
    weight, best = np.ones(z.size), (np.inf, None)
    for _ in range(20):
        root = np.sqrt(weight)
        plane = np.linalg.lstsq(terms[valid] * (z * root)[:, None], root, rcond=None)[0]
        fitted = 1.0 / np.maximum(terms @ plane, 1.0 / farthest)
        error = np.mean(np.abs(fitted[valid] - z) / z)
        best = min(best, (error, fitted), key=lambda pair: pair[0])
        ratio = z * np.maximum(terms[valid] @ plane, 1.0 / farthest)
        weight = 1.0 / (ratio * np.maximum(np.abs(1.0 - ratio), 1e-3))
    return best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=dataset.STATE)
    parser.add_argument("--split", choices=dataset.SPLITS, default="test")
    options = parser.parse_args()
    pictures = options.state / "pictures"
    true = depths(pictures, options.split)
    rows = np.broadcast_to(row_means(depths(pictures, "train"))[None, :, None], true.shape)
    low, high = np.percentile(true[np.isfinite(true)], (2.5, 97.5))
    print(f"pictures {len(true)}")
    print(f"row means   AbsRel {abs_rel(rows, true):.3f}")
    planes = np.stack([best_plane(one[::2, ::2]) for one in true])
    print(f"best plane  AbsRel {abs_rel(planes, true[:, ::2, ::2]):.3f}")
    print(f"95 % of depths {low:.2f} to {high:.2f} m, {np.log10(high / low):.2f} decades")


if __name__ == "__main__":
    main()
