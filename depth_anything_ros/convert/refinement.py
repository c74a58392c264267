"""What the inputs of a matrix are like, from the weights alone: no pictures are needed.

A LayerNorm lets through values of mean `bias` and variance `weight` squared. That and the matrices behind it give mean and mean square of
each value that the next matrix sees, as if the values were independent and normal. Two uses, both common for quantised networks: squared
errors of a column count by the mean square of its input, and the error that the mean of the inputs makes goes into the bias (Nagel et al.,
Data-Free Quantization Through Weight Equalization and Bias Correction, ICCV 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.types import Float32Array

_LEAST = 1e-3
"""Of the mean importance: no column is worth nothing."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()

Tensors = Mapping[str, NDArray[np.generic]]
Function = Callable[[Float32Array], Float32Array]


@dataclass(frozen=True)
class Moments:
    """Mean and mean square of each of the values that enter a matrix, float32 [inputs]."""

    mean: Float32Array
    square: Float32Array

    @property
    def importance(self) -> Float32Array:
        return np.asarray(self.square + _LEAST * self.square.mean() + np.finfo(np.float32).tiny, np.float32)

    @property
    def variance(self) -> Float32Array:
        return np.maximum(self.square - self.mean**2, 0.0)


def bias_of(weight: str) -> str:
    """Name of the bias that is added behind a matrix."""
    return weight.removesuffix("weight") + "bias"


def input_moments(data: Tensors, weight: str) -> Moments | None:
    """Of a matrix of a transformer block, by its name; None for other matrices.

    data: the tensors of the file, in PyTorch's order of extents.
    """
    block, _, layer = weight.removesuffix(".weight").rpartition(".")
    if ".blk." not in block:
        return None
    if layer == "attn_qkv":
        return _normed(data, f"{block}.norm1")
    if layer in ("mlp_fc1", "mlp_w12"):
        return _normed(data, f"{block}.norm2")
    if layer == "attn_proj":  # means of values, whose variance is at most that of the values
        width = data[weight].shape[1]
        return _behind(data, f"{block}.attn_qkv", _normed(data, f"{block}.norm1"), slice(2 * width, 3 * width))
    if layer == "mlp_fc2":
        return _through(_gelu, _behind(data, f"{block}.mlp_fc1", _normed(data, f"{block}.norm2")))
    return _gated(data, f"{block}.mlp_w12", _normed(data, f"{block}.norm2"))


def _normed(data: Tensors, norm: str) -> Moments:
    weight, bias = (np.asarray(data[f"{norm}.{part}"], np.float32).ravel() for part in ("weight", "bias"))
    return Moments(bias, weight**2 + bias**2)


def _behind(data: Tensors, layer: str, inputs: Moments, rows: slice = slice(None)) -> Moments:
    """Of what a matrix with its bias makes of its inputs."""
    matrix = np.asarray(data[f"{layer}.weight"][rows], np.float32)
    mean = matrix @ inputs.mean + np.asarray(data[f"{layer}.bias"], np.float32).ravel()[rows]
    return Moments(mean, matrix**2 @ inputs.variance + mean**2)


def _through(function: Function, inputs: Moments) -> Moments:
    """Of a function of each value, by Gauss-Hermite quadrature over a normal distribution."""
    points = inputs.mean[:, np.newaxis] + np.sqrt(inputs.variance)[:, np.newaxis] * _NODES
    values = function(np.asarray(points, np.float32))
    return Moments(np.asarray(values @ _WEIGHTS, np.float32), np.asarray(values**2 @ _WEIGHTS, np.float32))


def _gated(data: Tensors, layer: str, inputs: Moments) -> Moments:
    """Of SwiGLU: the first half through SiLU, times the second half. The halves see the same inputs, so they vary together."""
    both = _behind(data, layer, inputs)
    half = both.mean.size // 2
    gate, value = (Moments(both.mean[rows], both.square[rows]) for rows in (slice(half), slice(half, None)))
    passed = _through(_silu, gate)
    gates, values = np.split(np.asarray(data[f"{layer}.weight"], np.float32), 2)
    together = (gates * values) @ inputs.variance
    # Stein's lemma: the covariance of f(a) and b is that of a and b times the mean slope of f.
    mean = passed.mean * value.mean + _through(_silu_slope, gate).mean * together
    return Moments(mean, np.maximum(passed.square * value.square, mean**2))


def _gelu(x: Float32Array) -> Float32Array:
    """The form with tanh: near enough for a mean."""
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def _silu(x: Float32Array) -> Float32Array:
    return x / (1.0 + np.exp(-x))


def _silu_slope(x: Float32Array) -> Float32Array:
    sigmoid = 1.0 / (1.0 + np.exp(-x))
    return np.asarray(sigmoid * (1.0 + x * (1.0 - sigmoid)), np.float32)
