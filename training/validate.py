"""A quick look at a net in training: scores on validation pictures, through PyTorch."""

import numpy as np
import torch

from .batches import collate, sample
from .dataset import load
from .losses import CANONICAL_FOCAL
from .score import SKY_THRESHOLD, abs_rel, best_scale, sky_iou, within


@torch.no_grad()
def quick_score(net, state, pictures, width, scenes=128):
    """Scores of the weights `state` on one view of each validation scene, as a short line; the net's own weights stay."""
    own = {key: value.clone() for key, value in net.state_dict().items()}
    net.load_state_dict(state)
    rows = [row for shard in load(pictures, "validation") for row in shard][:scenes]
    parts = [
        _predict(net, collate([sample(row, [0], width) for row in rows[start : start + 16]]), width) for start in range(0, len(rows), 16)
    ]
    net.load_state_dict(own)
    depth, true, rest = (np.concatenate(part) for part in zip(*parts))
    aligned = depth * best_scale(depth, true)
    line = f"AbsRel one scale {abs_rel(aligned, true):.4f} within 1.25 {within(aligned, true):.3f}"
    if net.shape.multi_view:
        return f"{line} field median error {np.median(rest):.2f} deg"
    metres = f"metres AbsRel {abs_rel(depth, true):.4f} within 1.25 {within(depth, true):.3f}"
    return f"{line} {metres} sky IoU {sky_iou(rest > SKY_THRESHOLD, ~np.isfinite(true)):.3f}"


def _predict(net, batch, width):
    """Depth and truth [N, H, W], and the field of view's error in degrees [N] (any-view) or the sky map (metric)."""
    logits = net(batch.picture)
    depth, true = logits["depth"][:, 0].exp(), batch.depth[:, 0]
    if net.shape.multi_view:
        error = (logits["pose"][:, 0, 8] - 2 * torch.atan(width / 2 / batch.focal)).abs().rad2deg()
        return depth.numpy(), true.numpy(), error.numpy()
    return (depth * batch.focal[:, None, None] / CANONICAL_FOCAL).numpy(), true.numpy(), logits["sky"][:, 0].numpy()
