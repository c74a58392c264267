"""The official network cut down to what a depth node needs: no ray branch, no camera decoder."""

from __future__ import annotations

import torch
from torch import nn


class DepthNetwork(nn.Module):
    """float32 [1, 1, 3, H, W] to depth [1, H, W] and confidence (any-view) or sky (mono) [1, H, W], by the official modules.

    What depends on the picture size alone (position embeddings, rotary positions) is computed in the first call and constant from then on.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = net.backbone, net.head
        self._constants: dict[str, torch.Tensor] = {}
        vit = self.backbone.pretrained
        for name in ("interpolate_pos_encoding", "_prepare_rope"):
            setattr(vit, name, self._kept(name, getattr(vit, name)))

    def _kept(self, name: str, function):
        def wrapped(*args):
            if name not in self._constants:
                self._constants[name] = function(*args)
            return self._constants[name]

        return wrapped

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        height, width = x.shape[-2:]
        taps, _ = self.backbone(x)
        if not hasattr(self.head.scratch, "refinenet1_aux"):
            result = self.head(taps, height, width, patch_start_idx=0)
            return result["depth"][0], result["sky"][0]
        logits = self._main_branch([tap[0][0] for tap in taps], height, width)
        return torch.exp(logits[:, 0]), torch.exp(logits[:, 1]) + 1

    def _main_branch(self, features: list[torch.Tensor], height: int, width: int) -> torch.Tensor:
        """The main half of DualDPT: features [1, N, D] to logits [1, 2, H, W]."""
        head, scratch = self.head, self.head.scratch
        extent = (height // head.patch_size, width // head.patch_size)
        lateral = []
        for stage, tokens in enumerate(features):
            grid = head.norm(tokens).transpose(1, 2).unflatten(2, extent)
            grid = self._with_position(f"stage {stage}", head.projects[stage](grid), height, width)
            rn = getattr(scratch, f"layer{stage + 1}_rn")
            lateral.append(rn(head.resize_layers[stage](grid)))
        fused = scratch.refinenet4(lateral[3], size=lateral[2].shape[2:])
        fused = scratch.refinenet3(fused, lateral[2], size=lateral[1].shape[2:])
        fused = scratch.refinenet2(fused, lateral[1], size=lateral[0].shape[2:])
        fused = scratch.output_conv1(scratch.refinenet1(fused, lateral[0]))
        fused = nn.functional.interpolate(fused, (height, width), mode="bilinear", align_corners=True)
        return scratch.output_conv2(self._with_position("output", fused, height, width))

    def _with_position(self, name: str, grid: torch.Tensor, height: int, width: int) -> torch.Tensor:
        if name not in self._constants:
            self._constants[name] = self.head._add_pos_embed(torch.zeros_like(grid), width, height)
        return grid + self._constants[name]
