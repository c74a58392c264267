"""Accuracy of predicted maps against truth, the same numbers for PyTorch and for the engine."""

import numpy as np
import torch

from .baselines import abs_rel
from .batches import collate, sample
from .dataset import load


def best_scale(predicted, true):
    """The factor per picture, [N, 1, 1], that brings relative depth [N, H, W] to metres: median of the ratios over valid pixels."""
    return np.stack([np.median(t[np.isfinite(t)] / p[np.isfinite(t)]) for p, t in zip(predicted, true)])[:, None, None]


def within(predicted, true, ratio=1.25):
    """Share of valid pixels whose prediction is within the ratio, mean over pictures."""
    shares = []
    for p, t in zip(predicted, true):
        valid = np.isfinite(t)
        shares.append(np.mean(np.maximum(p[valid] / t[valid], t[valid] / p[valid]) < ratio))
    return float(np.mean(shares))


def sky_iou(predicted, true):
    """Intersection over union of two boolean stacks, over all pictures together."""
    return float((predicted & true).sum() / max((predicted | true).sum(), 1))


@torch.no_grad()
def quick_score(net, state, pictures, width, scenes=128):
    """Scores of the moving average `state` on validation scenes, one view each, as a short line."""
    own = {key: value.clone() for key, value in net.state_dict().items()}
    net.load_state_dict(state)
    rows = [row for shard in load(pictures, "validation") for row in shard][:scenes]
    maps, truths, rest = [], [], []
    for start in range(0, len(rows), 16):
        batch = collate([sample(row, [0], width) for row in rows[start : start + 16]])
        logits = net(batch.picture)
        depth = logits["depth"][:, 0].exp()
        if net.shape.multi_view:
            rest.append((logits["pose"][:, 0, 8] - 2 * torch.atan(width / 2 / batch.focal)).abs().rad2deg().numpy())
        else:
            depth = depth * batch.focal[:, None, None] / 300.0
            rest.append((logits["sky"][:, 0] > 0.3).numpy())
        maps.append(depth.numpy())
        truths.append(batch.depth[:, 0].numpy())
    net.load_state_dict(own)
    depth, true, rest = np.concatenate(maps), np.concatenate(truths), np.concatenate(rest)
    aligned = depth * best_scale(depth, true)
    line = f"AbsRel one scale {abs_rel(aligned, true):.4f} within 1.25 {within(aligned, true):.3f}"
    if net.shape.multi_view:
        return f"{line} field median error {np.median(rest):.2f} deg"
    metres = f"metres AbsRel {abs_rel(depth, true):.4f} within 1.25 {within(depth, true):.3f}"
    return f"{line} {metres} sky IoU {sky_iou(rest, ~np.isfinite(true)):.3f}"
