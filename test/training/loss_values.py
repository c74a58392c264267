"""Run in the parity environment: loss_values.py CASE.npz OUTPUT.npz, what batches and losses of training make of the arrays of a case.

CASE: depth [B, S, H, W], focal [B], pose [B, S, 4, 4], rotations [N, 3, 3], and log_depth [B, S, H, W], which the net gives, off by `off`.
"""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from training import losses
from training.batches import Batch, sample
from training.dataset import RECORD

case = {name: torch.from_numpy(array) for name, array in np.load(sys.argv[1]).items()}
batch = Batch(torch.zeros(1), case["depth"], case["focal"], case["pose"])
target, valid, scale = losses.log_targets(batch, True)
pose = losses.pose_targets(batch, scale)
found = {"quaternions": losses.quaternions(case["rotations"]), "relative": target.exp(), "scale": scale, "pose": pose}
found["canonical"] = losses.log_targets(batch, False)[0].exp()
for off in (0.0, 0.5):
    logits = {"depth": torch.where(valid, target, 9.0) + off, "conf": torch.zeros_like(target), "pose": pose.clone()}
    found |= {f"any_view {name} {off}": value for name, value in losses.any_view(logits, batch).items()}
    metric = {"depth": losses.log_targets(batch, False)[0] + torch.where(valid, off, 9.0), "sky": (~valid).float()}
    found |= {f"metric {name} {off}": value for name, value in losses.metric(metric, batch).items()}
values = torch.linspace(0.0, 1.0, 101)
either = torch.tensor([1.0, torch.inf]).expand(1, 1, 1, 2)
doubtful = Batch(torch.zeros(1), either, torch.tensor([300.0]), torch.eye(4)[None, None])
found["sky of either"] = torch.stack(
    [losses.metric({"depth": torch.zeros(1, 1, 1, 2), "sky": value.expand(1, 1, 1, 2)}, doubtful)["sky"] for value in values]
)
row = np.zeros((), RECORD)  # sky alone, in one grey: mirrored, cropped and with no surface to paint it is the same
row["rgb"], row["depth"], row["focal"], row["pose"] = 128, np.inf, 150, np.eye(4)
random = np.random.default_rng(0)
for share in (0.0, 0.3, 1.0):
    pictures = [sample(row, [0], 56, random, share)[0] for _ in range(300)]
    found[f"recoloured {share}"] = np.mean([not np.allclose(picture, 128 / 255, atol=1e-6) for picture in pictures])
np.savez(sys.argv[2], **{name: np.asarray(value) for name, value in found.items()})
