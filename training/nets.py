"""The two nano nets, built from the official Depth Anything 3 modules, and their state in the official checkpoint layout.

The official package is the only source of the modules. The forward pass here runs the same modules in the same order as the official
one, without the auxiliary ray branch, and returns logits, so that a loss sees them before the activations.
"""

import os
from dataclasses import dataclass

import torch

os.environ.setdefault("DA3_LOG_LEVEL", "ERROR")  # read once by the official package, which otherwise reports every forward pass

from depth_anything_3.model.cam_dec import CameraDec
from depth_anything_3.model.dinov2.vision_transformer import DinoVisionTransformer
from depth_anything_3.model.dpt import DPT
from depth_anything_3.model.dualdpt import DualDPT
from depth_anything_3.model.utils.head_utils import custom_interpolate
from torch import nn


@dataclass(frozen=True)
class NanoShape:
    """Hyper-parameters, under the names of the official configuration."""

    embed_dim: int = 192
    depth: int = 8
    num_heads: int = 3
    out_layers: tuple = (1, 3, 5, 7)
    alt_start: int = 4
    features: int = 32
    out_channels: tuple = (32, 48, 96, 128)
    pos_embed_grid: int = 16
    multi_view: bool = True

    @property
    def checkpoint_name(self):
        return "DA3-NANO" if self.multi_view else "DA3METRIC-NANO"


class Backbone(nn.Module):
    """Carries the name level `backbone.pretrained` of the official checkpoints."""

    def __init__(self, shape):
        super().__init__()
        start = shape.alt_start if shape.multi_view else -1
        self.pretrained = DinoVisionTransformer(
            img_size=14 * shape.pos_embed_grid,
            patch_size=14,
            embed_dim=shape.embed_dim,
            depth=shape.depth,
            num_heads=shape.num_heads,
            ffn_layer="mlp",
            alt_start=start,
            qknorm_start=start,
            rope_start=start,
            cat_token=shape.multi_view,
        )


class NanoNet(nn.Module):
    """Any-view net (DualDPT, camera decoder) or metric net (DPT, sky), by `shape.multi_view`."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.backbone = Backbone(shape)
        sizes = {"features": shape.features, "out_channels": shape.out_channels}
        if shape.multi_view:
            self.head = DualDPT(2 * shape.embed_dim, output_dim=2, **sizes)
            self.cam_dec = CameraDec(2 * shape.embed_dim)
            _drop_ray_branch(self.head)
        else:
            self.head = DPT(shape.embed_dim, output_dim=1, **sizes)
        _initialise(self)

    def forward(self, x):
        """Pictures [B, S, 3, H, W], normalised -> dict of logits.

        `depth` [B, S, H, W] is in logs. Any-view adds `conf` [B, S, H, W] (confidence is exp + 1) and `pose` [B, S, 9], metric adds `sky`.
        """
        feats, _ = self.backbone.pretrained.get_intermediate_layers(x, self.shape.out_layers, ref_view_strategy="first")
        batch, views, _, height, width = x.shape
        maps = _trunk(self.head, [feat.flatten(0, 1) for feat, _ in feats], height, width)
        main = _logits(self.head.scratch.output_conv2, maps).unflatten(0, (batch, views))
        logits = {"depth": main[:, :, 0]}
        if self.shape.multi_view:
            logits["conf"] = main[:, :, 1]
            logits["pose"] = self.cam_dec(feats[-1][1].float())
        else:
            logits["sky"] = _logits(self.head.scratch.sky_output_conv2, maps).unflatten(0, (batch, views))[:, :, 0]
        return logits


def _logits(layers, maps):
    """Last layers of a head; the final convolution in float32, because bfloat16 steps would be visible in log depth."""
    features = layers[:-1](maps)
    with torch.autocast(features.device.type, enabled=False):
        return layers[-1](features.float())


def _trunk(head, feats, height, width):
    """Tapped tokens, four of [B, N, C] -> feature map [B, features / 2, H, W] before the last convolutions."""
    rows, columns = height // head.patch_size, width // head.patch_size
    levels = []
    for stage, feat in enumerate(feats):
        level = head.norm(feat).transpose(1, 2).unflatten(2, (rows, columns))
        level = head.projects[stage](level)
        if head.pos_embed:
            level = head._add_pos_embed(level, width, height)
        levels.append(getattr(head.scratch, f"layer{stage + 1}_rn")(head.resize_layers[stage](level)))
    scratch = head.scratch
    fused = scratch.refinenet4(levels[3], size=levels[2].shape[2:])
    fused = scratch.refinenet3(fused, levels[2], size=levels[1].shape[2:])
    fused = scratch.refinenet2(fused, levels[1], size=levels[0].shape[2:])
    fused = scratch.output_conv1(scratch.refinenet1(fused, levels[0]))
    fused = custom_interpolate(fused, (height, width), mode="bilinear", align_corners=True)
    return head._add_pos_embed(fused, width, height) if head.pos_embed else fused


def _drop_ray_branch(head):
    """Remove the auxiliary ray modules: they are not trained, and inference does not need them."""
    for name in [name for name, _ in head.scratch.named_children() if "_aux" in name]:
        delattr(head.scratch, name)


@torch.no_grad()
def whiten(net, pictures):
    """Start the patch embedding with the principal components of picture patches, each scaled to unit variance.

    Neighbouring pixels are alike, so random filters all see the mean brightness; these see edges from the first step on.
    pictures: [N, 3, H, W], normalised.
    """
    convolution = net.backbone.pretrained.patch_embed.proj
    patches = nn.functional.unfold(pictures, convolution.kernel_size, stride=convolution.stride).transpose(1, 2).flatten(0, 1)
    mean = patches.mean(0)
    variances, components = torch.linalg.eigh(torch.cov((patches - mean).T))
    count = convolution.out_channels
    filters = components[:, -count:].T / (variances[-count:, None] + 0.05).sqrt()
    convolution.weight.copy_(filters.view_as(convolution.weight))
    convolution.bias.copy_(-filters @ mean)


def _waves(grid, channels):
    """Smooth start of the position table, [grid * grid, channels], so that every picture size reads something sensible from it."""
    place = (torch.arange(grid) + 0.5) / grid
    angles = place[:, None] * torch.pi * 2.0 ** torch.linspace(-1, 2.5, channels // 4)
    waves = 0.2 * torch.cat([angles.sin(), angles.cos()], -1)
    return torch.cat([waves[:, None].expand(-1, grid, -1), waves[None].expand(grid, -1, -1)], -1).flatten(0, 1)


def _initialise(net):
    """Small start values for tokens and outputs: depth about 1, field of view about 70 degrees, LayerScale 0.2."""
    vit = net.backbone.pretrained
    for name, parameter in net.backbone.named_parameters():
        if name.endswith("gamma"):
            nn.init.constant_(parameter, 0.2)
        elif parameter.ndim == 2:
            nn.init.trunc_normal_(parameter, std=parameter.shape[1] ** -0.5)
    vit.pos_embed.data[0, 1:] = _waves(net.shape.pos_embed_grid, net.shape.embed_dim)
    nn.init.trunc_normal_(vit.cls_token, std=0.2)
    last = net.head.scratch.output_conv2[-1]
    with torch.no_grad():
        last.weight.mul_(0.1)
        last.bias.zero_()
        if not net.shape.multi_view:
            net.head.scratch.sky_output_conv2[-1].bias.fill_(0.3)
            last.bias.fill_(1.5)
            return
        vit.camera_token.mul_(0.2)
        net.cam_dec.fc_fov[0].weight.mul_(0.1)
        net.cam_dec.fc_fov[0].bias.fill_(1.1)
        net.cam_dec.fc_qvec.weight.mul_(0.1)
        net.cam_dec.fc_qvec.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 1.0]))
        net.cam_dec.fc_t.weight.mul_(0.1)
        net.cam_dec.fc_t.bias.zero_()
