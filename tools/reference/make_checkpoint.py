"""Writes test/data/checkpoint.pth and its values with PyTorch itself: what the converter must read without it.

python tools/reference/make_checkpoint.py test/data
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4, track_running_stats=False))
    state = network.state_dict()  # an OrderedDict with the attribute _metadata
    shared = torch.arange(24, dtype=torch.float32)
    state["first"], state["second"] = shared[:12].reshape(3, 4), shared[12:].reshape(2, 6)  # two tensors in one storage
    state["parameter"] = torch.nn.Parameter(torch.randn(2, 3))
    state["half"] = torch.randn(4, dtype=torch.float32).half()
    state["bfloat16"] = torch.randn(2, 2).bfloat16()
    state["scalar"] = torch.tensor(0.25)
    torch.save(state, folder / "checkpoint.pth")
    np.savez_compressed(folder / "checkpoint.npz", **{name: value.detach().float().numpy() for name, value in state.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
