"""Networks of the true architecture with seeded random weights: for tests, and for the demo while no trained model is at hand.

The weights exercise every part (LayerScale, norms, biases, camera) and keep activations near one, so that depth varies with the picture
and stays between 0.2 and 20. Only NumPy is needed, and the same seed gives the same bytes everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from depth_anything_ros.convert.hyper_parameters import HyperParameters, Identity, Size, any_view, mono
from depth_anything_ros.convert.layout import TensorSpec, metadata, tensors
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.types import DepthKind, Float32Array

LICENSE = "CC0-1.0"
_RELATIVE, _METRIC = DepthKind.RELATIVE_DEPTH.value, DepthKind.METRIC.value
_ANY_VIEW_SIZE = Size(128, 8, 2, (1, 3, 5, 7), 32, (16, 24, 32, 48), alt_start=2)
_MONO_SIZE = Size(96, 6, 3, (1, 2, 4, 5), 16, (12, 16, 24, 32))

SEEDED_ANY_VIEW = any_view(_ANY_VIEW_SIZE, Identity("seeded-any-view", _RELATIVE, LICENSE))
"""8 blocks of width 128, two heads of 64."""
SEEDED_MONO = mono(_MONO_SIZE, Identity("seeded-mono", _RELATIVE, LICENSE))
"""6 blocks of width 96, three heads of 32."""
SEEDED_METRIC = mono(_MONO_SIZE, Identity("seeded-metric", _METRIC, LICENSE))
"""As SEEDED_MONO, but its file says `metric`: metres once a focal length is given."""

_DEPTH_LOGIT, _CONFIDENCE_LOGIT, _SKY_LOGIT = 0.8, 0.3, -0.6


def write_seeded(path: Path, parameters: HyperParameters, seed: int = 0) -> None:
    """Write a GGUF file (float32) of a network with seeded weights."""
    arrays = (array for _, array in seeded_tensors(parameters, seed))
    write_model(path, metadata(parameters), list(tensors(parameters)), arrays)


def seeded_tensors(parameters: HyperParameters, seed: int = 0) -> Iterator[tuple[TensorSpec, Float32Array]]:
    """Each tensor of the network with its seeded values (PyTorch shape), in the order of the file."""
    for number, spec in enumerate(tensors(parameters)):
        # One generator per tensor: its values depend on its place only, not on the sizes before it.
        generator = np.random.default_rng((seed, number))
        uniform = (2.0 * generator.random(spec.shape) - 1.0).astype(np.float32)
        yield spec, _initialised(spec, uniform)


def _initialised(spec: TensorSpec, uniform: Float32Array) -> Float32Array:
    """Values of one tensor from numbers uniform in -1 to 1."""
    kind = spec.name.rpartition(".")[2]
    if kind in ("ls1", "ls2"):
        return 0.275 + 0.225 * uniform
    if kind in ("cls_token", "camera_token", "pos_embed"):
        return 0.35 * uniform
    if kind == "bias":
        return _bias(spec.name, uniform)
    if len(spec.shape) == 1:
        return 1.0 + 0.3 * uniform
    return np.float32(_gain(spec.name) * math.sqrt(3.0 / _fan_in(spec))) * uniform


def _fan_in(spec: TensorSpec) -> int:
    # A transposed convolution (head.resize.0 and .1) has stride = kernel: every output sees one cell.
    if spec.name in ("head.resize.0.weight", "head.resize.1.weight"):
        return spec.shape[0]
    return int(np.prod(spec.shape[1:]))


def _gain(name: str) -> float:
    if name.endswith("out2b.weight"):
        return 0.5
    return 0.1 if name.startswith("cam.fc") else 1.0


def _bias(name: str, uniform: Float32Array) -> Float32Array:
    centres = {
        "head.scratch.out2b.bias": (_DEPTH_LOGIT, _CONFIDENCE_LOGIT)[: uniform.size],
        "head.scratch.sky_out2b.bias": (_SKY_LOGIT,),
        "cam.fc_q.bias": (0.0, 0.0, 0.0, 1.0),
        "cam.fc_fov.bias": (1.0, 1.0),
    }
    return np.asarray(centres.get(name, 0.0), np.float32) + 0.1 * uniform
