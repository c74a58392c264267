"""The official Depth Anything 3 network on a CPU with the seeded weights of this package, and what happens inside it.

Needs the parity environment (`make parity`): PyTorch and the package `depth-anything-3`.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import skimage.data
import torch
from comparison import worst_error
from numpy.typing import NDArray
from torch import nn

from depth_anything_ros.convert.hyper_parameters import HyperParameters
from depth_anything_ros.convert.seeded import seeded_tensors

os.environ.setdefault("DA3_LOG_LEVEL", "ERROR")  # read when the package is imported
# The official picture code takes two classes of torchvision for batches.
_transforms = types.ModuleType("torchvision.transforms")
_transforms.Normalize = lambda mean, std: None  # type: ignore[attr-defined]
_transforms.CenterCrop = lambda size: lambda planes: _cropped(planes, size)  # type: ignore[attr-defined]
sys.modules.setdefault("torchvision", types.ModuleType("torchvision"))
sys.modules.setdefault("torchvision.transforms", _transforms)

from depth_anything_3.cfg import create_object, load_config  # noqa: E402
from depth_anything_3.model.cam_dec import CameraDec  # noqa: E402
from depth_anything_3.model.cam_enc import CameraEnc  # noqa: E402
from depth_anything_3.model.da3 import DepthAnything3Net  # noqa: E402
from depth_anything_3.model.dinov2.dinov2 import DinoV2  # noqa: E402
from depth_anything_3.model.dinov2.vision_transformer import DinoVisionTransformer  # noqa: E402
from depth_anything_3.model.dpt import DPT  # noqa: E402
from depth_anything_3.model.dualdpt import DualDPT  # noqa: E402
from depth_anything_3.model.gs_adapter import GaussianAdapter  # noqa: E402
from depth_anything_3.model.gsdpt import GSDPT  # noqa: E402
from depth_anything_3.registry import MODEL_REGISTRY  # noqa: E402
from depth_anything_3.utils.io.input_processor import InputProcessor  # noqa: E402

Arrays = dict[str, NDArray[np.generic]]
NOT_CONVERTED = ("cam_enc.", "head.scratch.output_conv1_aux.", "head.scratch.output_conv2_aux.", "head.scratch.refinenet")
"""Prefixes of official parameters that the depth network does not use; they keep their initial values."""

_CONFIGURATIONS = {"da3nested-giant-large-anyview": "da3-giant", "da3nested-giant-large-metric": "da3metric-large"}
"""Name of a half of a nested pair to the official configuration of the same network."""


def _cropped(planes: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """The middle [..., height, width] of planes [..., h, w]."""
    top, left = ((extent - wanted) // 2 for extent, wanted in zip(planes.shape[-2:], size, strict=True))
    return planes[..., top : top + size[0], left : left + size[1]]


class _SizedDinoV2(DinoV2):
    """The official backbone of any size: its own constructor knows four sizes only."""

    def __init__(self, parameters: HyperParameters) -> None:
        nn.Module.__init__(self)
        self.out_layers = list(parameters.out_layers)
        self.pretrained = DinoVisionTransformer(
            img_size=parameters.patch_size * parameters.pos_embed_grid,
            patch_size=parameters.patch_size,
            embed_dim=parameters.embed_dim,
            depth=parameters.depth,
            num_heads=parameters.num_heads,
            # SwiGLU takes two thirds of what the ratio makes.
            mlp_ratio=parameters.mlp_hidden / parameters.embed_dim * (1.5 if parameters.ffn_type == "swiglu" else 1.0),
            ffn_layer=parameters.ffn_type,
            alt_start=parameters.alt_start,
            qknorm_start=parameters.qknorm_start,
            rope_start=parameters.rope_start,
            cat_token=parameters.cat_token,
        )


def network(parameters: HyperParameters, seed: int = 0) -> DepthAnything3Net:
    """The official network for these hyper-parameters with seeded weights, float32, eval."""
    name = parameters.checkpoint_name.lower().removesuffix("-1.1")
    name = _CONFIGURATIONS.get(name, name)
    with without_initial_values():
        net = create_object(load_config(MODEL_REGISTRY[name])) if name in MODEL_REGISTRY else _sized_network(parameters)
    untouched = fill(net, ((spec.official.removeprefix("model."), array) for spec, array in seeded_tensors(parameters, seed)))
    if wrong := [name for name in untouched if not (name.startswith(NOT_CONVERTED) and ("aux" in name or "cam_enc" in name))]:
        raise SystemExit(f"The seeded weights do not fit the official network: {wrong}")
    return net.float().eval()


@contextmanager
def without_initial_values() -> Iterator[None]:
    """Inside the block new layers keep zeros: random numbers for a billion weights that are overwritten take minutes."""
    names = ("trunc_normal_", "normal_", "kaiming_uniform_", "uniform_", "xavier_uniform_")
    kept = {name: getattr(nn.init, name) for name in names}
    for name in names:
        setattr(nn.init, name, lambda tensor, *args, **kwargs: nn.init.zeros_(tensor))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(nn.init, name, function)


def fill(net: nn.Module, values: Iterable[tuple[str, NDArray[np.float32]]]) -> set[str]:
    """Copy values into a network, one tensor after the other, so that its weights are in memory once; gives the names that got none."""
    parameters = net.state_dict()
    untouched = set(parameters)
    for name, array in values:
        if parameters[name].shape != array.shape:
            raise SystemExit(f"{name} has shape {array.shape}, in the official network {tuple(parameters[name].shape)}")
        parameters[name].copy_(torch.from_numpy(array))
        untouched.remove(name)
    return untouched


def _sized_network(parameters: HyperParameters) -> DepthAnything3Net:
    head = {
        "dim_in": parameters.head_in,
        "output_dim": parameters.head_output_dim,
        "features": parameters.head_features,
        "out_channels": list(parameters.head_out_channels),
    }
    backbone = _SizedDinoV2(parameters)
    if parameters.cam_dim_in is None:
        return DepthAnything3Net(backbone, DPT(**head))
    cameras = {
        "cam_dec": CameraDec(parameters.head_in),
        "cam_enc": CameraEnc(parameters.embed_dim) if parameters.pose_encoder else nn.Identity(),
    }
    if parameters.gs_output_dim is None:
        return DepthAnything3Net(backbone, DualDPT(**head), **cameras)
    gaussian_head = GSDPT(**{**head, "output_dim": parameters.gs_output_dim})
    adapter = GaussianAdapter(
        sh_degree=parameters.gs_sh_degree,
        pred_color=parameters.gs_pred_color,
        pred_offset_depth=parameters.gs_pred_offset_depth,
        pred_offset_xy=parameters.gs_pred_offset_xy,
        gaussian_scale_min=parameters.gs_scale_min,
        gaussian_scale_max=parameters.gs_scale_max,
    )
    return DepthAnything3Net(backbone, DualDPT(**head), **cameras, gs_head=gaussian_head, gs_adapter=adapter)


class _Checkpoint(nn.Module):
    """The official checkpoint layout: every name starts with ``model.``."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.model = net


def save_checkpoint(net: nn.Module, path: Path) -> None:
    """Write a network as the official code writes its model.safetensors."""
    from safetensors.torch import save_model

    save_model(_Checkpoint(net), str(path))


def picture(size: tuple[int, int]) -> NDArray[np.uint8]:
    """A natural picture with full range and fine structure of that width and height, uint8 RGB [H, W, 3]."""
    width, height = size
    photo = skimage.data.coffee()
    rows, columns = photo.shape[:2]
    scale = min(columns / width, rows / height)
    return cv2.resize(photo[: round(height * scale), : round(width * scale)], size, interpolation=cv2.INTER_AREA)


def processed(picture: NDArray[np.uint8], resolution: int) -> NDArray[np.uint8]:
    """uint8 RGB [H, W, 3] resized by the official code, uint8 [h, w, 3]. Cubic resizing is that of OpenCV's x86 builds (IPP)."""
    processor = InputProcessor()
    image = processor._load_image(picture)
    image = processor._resize_image(image, resolution, "upper_bound_resize")
    return np.asarray(processor._make_divisible_by_resize(image, processor.PATCH_SIZE))


def normalised(pixels: NDArray[np.uint8], parameters: HyperParameters) -> torch.Tensor:
    """uint8 [h, w, 3] to the network's input, float32 [1, 1, 3, h, w] (batch, views), as torchvision does it."""
    planes = torch.from_numpy(pixels.transpose(2, 0, 1).copy()).float() / 255.0
    mean, std = (torch.tensor(values)[:, None, None] for values in (parameters.mean, parameters.std))
    return ((planes - mean) / std)[None, None]


def forward(net: DepthAnything3Net, x: torch.Tensor) -> Arrays:
    """One official forward: every stage by the names of `Engine.infer(stages=...)`, and the outputs.

    Outputs: depth [h, w] (of the head, sky not filled), filled_depth (mono), confidence, sky, extrinsics [3, 4], intrinsics [3, 3].
    """
    found: dict[str, torch.Tensor] = {"input": x[0, 0]}
    hooks = [module.register_forward_hook(_recorder(found, name)) for name, module in _modules(net)]
    first = net.backbone.pretrained.blocks[0]
    hooks.append(first.register_forward_pre_hook(lambda module, args: found.update(patch_tokens=args[0][0].clone())))
    with torch.inference_mode():
        result = net(x)
    for hook in hooks:
        hook.remove()
    if "sky" in result:
        found |= {"sky": result["sky"][0, 0], "filled_depth": result["depth"][0, 0]}
    if "depth_conf" in result:
        found["confidence"] = result["depth_conf"][0, 0]
    if net.cam_dec is not None:
        found |= {name: result[name][0, 0] for name in ("extrinsics", "intrinsics")}
    return {name: np.ascontiguousarray(value.numpy()) for name, value in found.items()}


def rays(net: DepthAnything3Net, x: torch.Tensor) -> Arrays:
    """What the auxiliary branch gives and the official forward drops: ray [6, h, w], ray_conf [h, w]."""
    found: dict[str, torch.Tensor] = {}

    def record(module: nn.Module, inputs: tuple, output: dict[str, torch.Tensor]) -> None:
        found.update(ray=output["ray"][0, 0].permute(2, 0, 1).clone(), ray_conf=output["ray_conf"][0, 0].clone())

    hook = net.head.register_forward_hook(record)
    with torch.inference_mode():
        net(x)
    hook.remove()
    return {name: np.ascontiguousarray(value.numpy()) for name, value in found.items()}


def in_float64(net: DepthAnything3Net) -> None:
    """Turn a network to float64."""
    net.double()
    layers = [net.cam_dec.fc_t, net.cam_dec.fc_qvec, net.cam_dec.fc_fov] if net.cam_dec is not None else []
    layers += [net.cam_enc.pose_branch] if isinstance(net.cam_enc, CameraEnc) else []
    for layer in layers:  # the official code makes float32 of what these get
        layer.register_forward_pre_hook(lambda module, inputs: (inputs[0].double(),))
    if net.gs_adapter is not None:  # it mixes float32 of its own with what it gets
        net.gs_adapter.register_forward_pre_hook(_in_float32, with_kwargs=True)
    fit = net._process_ray_pose_estimation  # which takes rays in float32 only

    def fit_in_float32(output: dict[str, torch.Tensor], *size: int) -> dict[str, torch.Tensor]:
        output.update({name: output[name].float() for name in ("ray", "ray_conf")})
        return fit(output, *size)

    net._process_ray_pose_estimation = fit_in_float32


def _in_float32(module: nn.Module, inputs: tuple, named: dict[str, object]) -> tuple[tuple, dict[str, object]]:
    def single(value: object) -> object:
        return value.float() if isinstance(value, torch.Tensor) else value

    return tuple(map(single, inputs)), {name: single(value) for name, value in named.items()}


def rounding(net: DepthAnything3Net, x: torch.Tensor, found: Arrays) -> dict[str, float]:
    """Largest relative error of each tensor of `forward` by PyTorch's own float32 rounding: against the same code in float64.

    `net` is in float64 afterwards. The position table keeps its float32 interpolation, whose coordinates are part of the definition.
    """
    in_float64(net)
    exact = forward(net, x.double())
    return {name: worst_error(name, values, exact[name]) for name, values in found.items() if name != "input"}


def _modules(net: DepthAnything3Net) -> list[tuple[str, nn.Module]]:
    scratch = net.head.scratch
    pairs = [("taps", net.backbone), ("depth", net.head), ("output_conv1", scratch.output_conv1), ("logits", scratch.output_conv2)]
    for level in (1, 2, 3, 4):
        pairs.append((f"layer_rn.{level}", getattr(scratch, f"layer{level}_rn")))
        pairs.append((f"refinenet.{level}", getattr(scratch, f"refinenet{level}")))
    if hasattr(scratch, "sky_output_conv2"):
        pairs.append(("sky_logits", scratch.sky_output_conv2))
    if net.cam_dec is not None:
        pairs.append(("pose_encoding", net.cam_dec))
    return pairs


def _recorder(found: dict[str, torch.Tensor], name: str) -> Callable[..., None]:
    def record(module: nn.Module, inputs: tuple, output: object) -> None:
        if name == "taps":
            features, _ = output
            found.update({f"tap.{number}": feature[0][0, 0].clone() for number, feature in enumerate(features)})
            if module.pretrained.cat_token:
                found["cam_token"] = features[-1][1][0, 0].clone()
        elif name == "depth":
            found["depth"] = output["depth"][0, 0].clone()
        elif name == "pose_encoding":
            found[name] = output[0, 0].clone()
        else:
            found[name] = output[0].clone()

    return record
