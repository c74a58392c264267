"""Proves that the parity test of the tiny networks sees wrong constants: each mistake is put into the official code and must be found.

Run in the parity environment, from the repository root. Exit code 1 when a mistake stays unseen, or the unchanged code is complained of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import official
from comparison import RMS_BOUND, rms_error, stage_bound, worst_error
from make_reference import NETWORKS, SEED
from torch import nn

REFERENCE = Path("test/data/reference")


def _final_norm(net: nn.Module) -> None:
    net.backbone.pretrained.norm.eps = 1e-6


def _block_norms(net: nn.Module) -> None:
    for block in net.backbone.pretrained.blocks:
        block.norm1.eps = block.norm2.eps = 1e-5


def _head_norm(net: nn.Module) -> None:
    net.head.norm.eps = 1e-6


def _query_key_norms(net: nn.Module) -> None:
    for block in net.backbone.pretrained.blocks:
        if isinstance(block.attn.q_norm, nn.LayerNorm):
            block.attn.q_norm.eps = block.attn.k_norm.eps = 1e-6


def _tanh_gelu(net: nn.Module) -> None:
    for block in net.backbone.pretrained.blocks:
        block.mlp.act = nn.GELU(approximate="tanh")


def _no_offset(net: nn.Module) -> None:
    net.backbone.pretrained.interpolate_offset = 0.0


def _no_rotary_positions(net: nn.Module) -> None:
    for block in net.backbone.pretrained.blocks:
        block.attn.rope = None


MISTAKES: dict[str, tuple[Callable[[nn.Module], None], ...]] = {
    "any_view": (_final_norm, _block_norms, _head_norm, _query_key_norms, _tanh_gelu, _no_offset, _no_rotary_positions),
    "mono": (_final_norm, _block_norms, _tanh_gelu, _no_offset),
}


def main() -> int:
    unseen = 0
    for name, mistakes in MISTAKES.items():
        for mistake in (None, *mistakes):
            seen = _tensors_above_their_bound(name, mistake)
            label = mistake.__name__.strip("_") if mistake else "unchanged"
            print(f"{name:9s} {label:22s} seen in {len(seen):2d} tensors {' '.join(seen[:4])}")
            unseen += bool(seen) != (mistake is not None)
    return 1 if unseen else 0


def _tensors_above_their_bound(name: str, mistake: Callable[[nn.Module], None] | None) -> list[str]:
    """The tensors that the official code with this mistake makes wrong, as the parity test would say."""
    case = f"{name}_portrait"
    reference = np.load(REFERENCE / f"{case}.npz")
    rounding = json.loads((REFERENCE / "manifest.json").read_text())["rounding"][case]
    net = official.network(NETWORKS[name], SEED)
    if mistake is not None:
        mistake(net)
    found = official.forward(net, official.normalised(reference["processed"], NETWORKS[name]))
    return [
        tensor
        for tensor, error in rounding.items()
        if worst_error(tensor, found[tensor], reference[tensor]) > stage_bound(error)
        or rms_error(tensor, found[tensor], reference[tensor]) > RMS_BOUND
    ]


if __name__ == "__main__":
    raise SystemExit(main())
