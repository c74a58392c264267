"""The official Depth Anything V2 network (package `jkp-depth-anything-v2`) with the seeded weights of this package."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import official
import torch
from numpy.typing import NDArray
from torch import nn

from depth_anything_ros.convert.hyper_parameters import HyperParameters
from depth_anything_ros.convert.seeded import seeded_tensors


class _Compose:
    """torchvision.transforms.Compose: one function after the other."""

    def __init__(self, steps: list[Callable]) -> None:
        self._steps = steps

    def __call__(self, value: object) -> object:
        for step in self._steps:
            value = step(value)
        return value


if not hasattr(sys.modules["torchvision.transforms"], "Compose"):  # `official` has put a module in place where torchvision is not installed
    sys.modules["torchvision.transforms"].Compose = _Compose  # type: ignore[attr-defined]

from depth_anything_v2.dinov2 import DinoVisionTransformer  # noqa: E402
from depth_anything_v2.dpt import DepthAnythingV2, DPTHead  # noqa: E402

_ENCODERS = {"Small": "vits", "Base": "vitb", "Large": "vitl"}
"""Last word of an official checkpoint's name to its encoder."""


class _SizedV2(DepthAnythingV2):
    """The official network of any size: its own constructor knows three sizes only."""

    def __init__(self, parameters: HyperParameters) -> None:
        nn.Module.__init__(self)
        self.encoder = "sized"
        self.intermediate_layer_idx = {"sized": list(parameters.out_layers)}
        self.pretrained = DinoVisionTransformer(
            img_size=parameters.patch_size * parameters.pos_embed_grid,
            patch_size=parameters.patch_size,
            embed_dim=parameters.embed_dim,
            depth=parameters.depth,
            num_heads=parameters.num_heads,
            mlp_ratio=parameters.mlp_hidden / parameters.embed_dim,
            init_values=1.0,
            block_chunks=0,
        )
        self.depth_head = DPTHead(parameters.embed_dim, parameters.head_features, out_channels=list(parameters.head_out_channels))


def network(parameters: HyperParameters, seed: int = 0) -> DepthAnythingV2:
    """The official network for these hyper-parameters with seeded weights, float32, eval."""
    size = {"features": parameters.head_features, "out_channels": list(parameters.head_out_channels)}
    encoder = _ENCODERS.get(parameters.checkpoint_name.rpartition("-")[2])
    with official.without_initial_values():
        net = DepthAnythingV2(encoder, **size) if encoder else _SizedV2(parameters)
    if parameters.head_max_depth:  # the official metric network differs in these two places
        net.depth_head.scratch.output_conv2[3] = nn.Sigmoid()
    untouched = official.fill(net, ((spec.official, array) for spec, array in seeded_tensors(parameters, seed)))
    if untouched - {"pretrained.mask_token"}:
        raise SystemExit(f"The seeded weights do not fit the official network: {untouched}")
    return net.float().eval()


def normalised(net: DepthAnythingV2, picture: NDArray[np.uint8], resolution: int) -> torch.Tensor:
    """uint8 RGB [H, W, 3] to the network's input by the official code, float32 [1, 3, h, w]."""
    return net.image2tensor(np.ascontiguousarray(picture[:, :, ::-1]), resolution)[0]


def forward(net: DepthAnythingV2, x: torch.Tensor, parameters: HyperParameters) -> official.Arrays:
    """One official forward: every stage by the names of `Engine.infer(stages=...)`, and depth [h, w] at the processed size."""
    found: dict[str, torch.Tensor] = {"input": x[0]}
    scratch = net.depth_head.scratch
    modules = {"output_conv1": scratch.output_conv1, "logits": scratch.output_conv2[2]}
    for level in (1, 2, 3, 4):
        modules[f"layer_rn.{level}"] = getattr(scratch, f"layer{level}_rn")
        modules[f"refinenet.{level}"] = getattr(scratch, f"refinenet{level}")
    hooks = [module.register_forward_hook(_recorder(found, name)) for name, module in modules.items()]
    hooks.append(net.depth_head.register_forward_pre_hook(lambda module, inputs: found.update(_taps(inputs[0]))))
    first = net.pretrained.blocks[0]
    hooks.append(first.register_forward_pre_hook(lambda module, inputs: found.update(patch_tokens=inputs[0][0].clone())))
    with torch.inference_mode():
        found["depth"] = net(x)[0] * (parameters.head_max_depth or 1.0)
    for hook in hooks:
        hook.remove()
    return {name: np.ascontiguousarray(value.numpy()) for name, value in found.items()}


def rounding(net: DepthAnythingV2, x: torch.Tensor, found: official.Arrays, parameters: HyperParameters) -> dict[str, float]:
    """See `official.rounding`; `net` is in float64 afterwards."""
    exact = forward(net.double(), x.double(), parameters)
    return {name: official.worst_error(name, values, exact[name]) for name, values in found.items() if name != "input"}


def _taps(features: tuple) -> dict[str, torch.Tensor]:
    return {f"tap.{number}": feature[0][0].clone() for number, feature in enumerate(features)}


def _recorder(found: dict[str, torch.Tensor], name: str) -> Callable[..., None]:
    def record(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        found[name] = output[0].clone()

    return record
