"""How far one gets without looking: the two baselines a net has to beat, and the spread of the depths.

python -m training.baselines --split test
"""

import argparse
from pathlib import Path

import numpy as np

from . import dataset


def depths(folder, split, view=0):
    """Depth of one view of every scene, float32 [N, H, W]; inf is sky."""
    return np.concatenate([shard["depth"][:, view].astype(np.float32) for shard in dataset.load(folder, split)])


def abs_rel(predicted, true):
    """Mean over pictures of mean |predicted - true| / true over their valid pixels."""
    valid = np.isfinite(true)
    error = np.where(valid, np.abs(predicted - np.where(valid, true, 1.0)) / np.where(valid, true, 1.0), 0.0)
    return float(np.mean(error.sum((1, 2)) / valid.sum((1, 2))))


def row_means(train):
    """Mean depth of each picture row over a training set, [H]."""
    valid = np.isfinite(train)
    return np.where(valid, train, 0.0).sum((0, 2)) / np.maximum(valid.sum((0, 2)), 1)


def best_plane(true):
    """Plane through one picture: inverse depth linear in the pixel, fitted to its own truth by reweighted least squares for AbsRel."""
    rows, columns = np.mgrid[-1 : 1 : true.shape[0] * 1j, -1 : 1 : true.shape[1] * 1j]
    valid = np.isfinite(true)
    z = true[valid].astype(np.float64)
    terms = np.stack([np.ones(z.size), rows[valid], columns[valid]], 1)
    weight = z
    for _ in range(12):
        plane = np.linalg.lstsq(terms * weight[:, None], weight / z, rcond=None)[0]
        fitted = 1.0 / np.maximum(terms @ plane, 1.0 / (2 * z.max()))
        error = np.abs(terms @ plane - 1.0 / z)
        weight = np.sqrt((np.abs(fitted - z) / z + 1e-3) / (error + 1e-6 / z) / (error + 1e-3 / z))
    everywhere = np.stack([np.ones(true.shape), rows, columns], -1) @ plane
    return 1.0 / np.maximum(everywhere, 1.0 / (2 * z.max()))


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
    print(f"best plane  AbsRel {abs_rel(np.stack([best_plane(one) for one in true]), true):.3f}")
    print(f"95 % of depths {low:.2f} to {high:.2f} m, {np.log10(high / low):.2f} decades")


if __name__ == "__main__":
    main()
