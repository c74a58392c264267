"""Networks of the true architecture with seeded random weights: for tests, and for the demo while no trained model is at hand.

The weights exercise every part (LayerScale, norms, biases, camera) and keep activations near one, so that depth varies with the picture
and stays between 0.2 and 20. Only NumPy is needed, and the same seed gives the same bytes everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from depth_anything_ros.convert.hyper_parameters import (
    HyperParameters,
    Identity,
    Size,
    any_view,
    depth_anything_v2,
    mono,
    with_gaussians,
    with_pose_encoder,
    with_rays,
)
from depth_anything_ros.convert.layout import TensorSpec, metadata, tensors
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.types import DepthKind, Float32Array

LICENSE = "CC0-1.0"
_RELATIVE, _INVERSE, _METRIC = (kind.value for kind in (DepthKind.RELATIVE_DEPTH, DepthKind.RELATIVE_INVERSE_DEPTH, DepthKind.METRIC))
_ANY_VIEW_SIZE = Size(128, 8, 2, (1, 3, 5, 7), 32, (16, 24, 32, 48), alt_start=2)
_MONO_SIZE = Size(96, 6, 3, (1, 2, 4, 5), 16, (12, 16, 24, 32))

SEEDED_ANY_VIEW = any_view(_ANY_VIEW_SIZE, Identity("seeded-any-view", _RELATIVE, LICENSE))
"""8 blocks of width 128, two heads of 64."""
SEEDED_MONO = mono(_MONO_SIZE, Identity("seeded-mono", _RELATIVE, LICENSE))
"""6 blocks of width 96, three heads of 32."""
SEEDED_SWIGLU = any_view(
    Size(64, 8, 2, (3, 5, 6, 7), 16, (8, 12, 16, 24), alt_start=3, mlp_hidden=176, ffn_type="swiglu"),
    Identity("seeded-swiglu", _RELATIVE, LICENSE),
)
"""As GIANT: SwiGLU blocks, and the alternation starts with a global block."""
SEEDED_RAYS = with_rays(replace(SEEDED_SWIGLU, checkpoint_name="seeded-rays"))
"""As SEEDED_SWIGLU, with the auxiliary ray branch."""
SEEDED_COMPLETE = with_gaussians(with_pose_encoder(replace(SEEDED_RAYS, checkpoint_name="seeded-complete")))
"""As SEEDED_RAYS, with the encoder of known cameras and the head of Gaussians: everything that GIANT has."""
SEEDED_METRIC = mono(_MONO_SIZE, Identity("seeded-metric", _METRIC, LICENSE))
"""As SEEDED_MONO, but its file says `metric`: metres once a focal length is given."""

_V2_SIZE = Size(64, 6, 2, (1, 2, 4, 5), 16, (12, 16, 24, 32))
SEEDED_V2 = depth_anything_v2(_V2_SIZE, Identity("seeded-v2", _INVERSE, LICENSE))
"""Depth Anything V2, relative: near is large."""
SEEDED_V2_METRIC = depth_anything_v2(_V2_SIZE, Identity("seeded-v2-metric", _METRIC, LICENSE), max_depth=20.0)
"""Depth Anything V2 in metres, up to 20."""

_STREAM = 0.05
"""Scale of tokens and branch outputs. It is small so that the epsilons of the norms (1e-6, 1e-5) make a visible difference."""
_PART_RULES = {
    "cls_token": (0.0, 2.0 * _STREAM),
    "camera_token": (0.0, 2.0 * _STREAM),
    "pos_embed": (0.0, 1.5 * _STREAM),
    "ls1": (0.4 * _STREAM, 0.3 * _STREAM),
    "ls2": (0.4 * _STREAM, 0.3 * _STREAM),
    "bias": (0.0, 0.1),
}
"""Last part of a tensor's name to the centre and the half width of its values."""
_BIAS_CENTRES = {
    "head.scratch.out2b.bias": (0.8, 0.3),
    "head.scratch.sky_out2b.bias": (0.22,),
    "head.scratch.out2b_aux.bias": (0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.5),
    "cam.fc_q.bias": (0.0, 0.0, 0.0, 1.0),
    "cam.fc_fov.bias": (1.0, 1.0),
}
"""Depth about two, confidence above two, sky values around the threshold of 0.3, and a camera of about 57 degrees that looks ahead, as the
rays do."""
_BIAS_SPREAD = 0.01
_GAINS = {
    "vit.patch_embed.weight": _STREAM,
    "head.scratch.out2b.weight": 0.35,
    "head.scratch.sky_out2b.weight": 0.06,
    "head.scratch.out2b_aux.weight": 0.4,
    "cam.fc_t.weight": 0.1,
    "cam.fc_q.weight": 0.1,
    "cam.fc_fov.weight": 0.1,
}
"""Root mean square of what a layer makes of inputs of one; others have 1."""


def write_seeded(path: Path, parameters: HyperParameters, seed: int = 0) -> None:
    """Write a GGUF file (float32) of a network with seeded weights."""
    arrays = (array for _, array in seeded_tensors(parameters, seed))
    write_model(path, metadata(parameters), list(tensors(parameters)), arrays)


def seeded_tensors(parameters: HyperParameters, seed: int = 0) -> Iterator[tuple[TensorSpec, Float32Array]]:
    """Each tensor of the network with its seeded values (PyTorch shape), in the order of the file."""
    small = _normalised_weights(parameters)
    for number, spec in enumerate(tensors(parameters)):
        # One generator per tensor: its values depend on its place only, not on the sizes before it.
        generator = np.random.default_rng((seed, number))
        values = _initialised(spec, (2.0 * generator.random(spec.shape) - 1.0).astype(np.float32))
        if spec.name in small:
            values[: small[spec.name]] *= np.float32(_STREAM)
        yield spec, values


def _normalised_weights(parameters: HyperParameters) -> dict[str, int]:
    """Tensors whose output a norm scales back to one, with the number of rows: they are small, so that its epsilon shows."""
    width = parameters.embed_dim
    small = {f"vit.blk.{block}.attn_qkv.{part}": 2 * width for block in range(parameters.depth) for part in ("weight", "bias")}
    rows = {name: count for name, count in small.items() if 0 <= parameters.qknorm_start <= int(name.split(".")[2])}
    return rows | ({"vit.norm.weight": width, "vit.norm.bias": width} if parameters.head_norm_type is None else {})


def _initialised(spec: TensorSpec, uniform: Float32Array) -> Float32Array:
    """Values of one tensor from numbers uniform in -1 to 1."""
    part = spec.name.rpartition(".")[2]
    if part in _PART_RULES:
        centre, half_width = _PART_RULES[part]
        if spec.name in _BIAS_CENTRES:
            return np.asarray(_BIAS_CENTRES[spec.name], np.float32)[: uniform.size] + np.float32(_BIAS_SPREAD) * uniform
        return np.float32(centre) + np.float32(half_width) * uniform
    if len(spec.shape) == 1:
        return np.float32(1.0) + np.float32(0.3) * uniform
    return np.float32(_GAINS.get(spec.name, 1.0) * math.sqrt(3.0 / _fan_in(spec))) * uniform


def _fan_in(spec: TensorSpec) -> int:
    # A transposed convolution (head.resize.0 and .1) has stride = kernel: every output sees one cell.
    if spec.name.endswith(("head.resize.0.weight", "head.resize.1.weight", "gs.resize.0.weight", "gs.resize.1.weight")):
        return spec.shape[0]
    return math.prod(spec.shape[1:])
