"""Refined quantisation: moments against samples, errors of real products, and what stays as it was."""

from __future__ import annotations

import math
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf_decoder import decoded

from depth_anything_ros.cli import main
from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.hyper_parameters import Identity, Size, any_view
from depth_anything_ros.convert.quantize import quantize
from depth_anything_ros.convert.refinement import bias_of, input_moments
from depth_anything_ros.convert.seeded import write_seeded

IDENTITY = Identity("seeded-refined", "relative_depth", "CC0-1.0")
NETWORKS = {
    "mlp": any_view(Size(256, 4, 4, (0, 1, 2, 3), 8, (4, 4, 4, 4), alt_start=1, pos_embed_grid=2), IDENTITY),
    "swiglu": any_view(
        Size(256, 4, 4, (0, 1, 2, 3), 8, (4, 4, 4, 4), alt_start=1, mlp_hidden=512, ffn_type="swiglu", pos_embed_grid=2), IDENTITY
    ),
}
BLOCK = "vit.blk.1"
SAMPLES = 3_000


@pytest.fixture(scope="module", params=NETWORKS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("refined") / f"{request.param}.gguf"
    write_seeded(path, NETWORKS[request.param])
    return path


def tensors_of(path: Path) -> dict[str, np.ndarray]:
    """float32 tensors by the gguf package's own decoder."""
    return {tensor.name: decoded(tensor) for tensor in gguf.GGUFReader(path).tensors}


def sampled_inputs(data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Values [samples, inputs] that enter each matrix of the block when what the norms are given is normal."""
    generator = np.random.default_rng(0)
    width = data[f"{BLOCK}.norm1.weight"].size

    def normed(norm: str) -> np.ndarray:
        return generator.standard_normal((SAMPLES, width)) * data[f"{BLOCK}.{norm}.weight"] + data[f"{BLOCK}.{norm}.bias"]

    def behind(layer: str, inputs: np.ndarray) -> np.ndarray:
        return inputs @ data[f"{BLOCK}.{layer}.weight"].T + data[f"{BLOCK}.{layer}.bias"]

    found = {"attn_qkv": normed("norm1")}
    found["attn_proj"] = behind("attn_qkv", found["attn_qkv"])[:, 2 * width :]
    inputs = normed("norm2")
    if f"{BLOCK}.mlp_w12.weight" in data:
        gate, value = np.split(behind("mlp_w12", inputs), 2, axis=1)
        return {**found, "mlp_w12": inputs, "mlp_w3": gate / (1.0 + np.exp(-gate)) * value}
    hidden = behind("mlp_fc1", inputs)
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return {**found, "mlp_fc1": inputs, "mlp_fc2": 0.5 * hidden * (1.0 + erf(hidden / np.sqrt(2.0)))}


def test_moments_are_those_of_samples(model: Path) -> None:
    data = tensors_of(model)
    for layer, inputs in sampled_inputs(data).items():
        moments = input_moments(data, f"{BLOCK}.{layer}.weight")
        spread = inputs.std(axis=0)
        assert (np.abs(moments.mean - inputs.mean(axis=0)) < 6.0 * spread / np.sqrt(SAMPLES) + 1e-3 * spread.mean()).all(), layer
        np.testing.assert_allclose(moments.square, np.mean(inputs**2, axis=0), rtol=0.3, err_msg=layer)
    assert input_moments(data, "cam.bb0.weight") is None


@pytest.mark.native
@pytest.mark.parametrize("type_name", ["q6_k", "q4_k"])
def test_products_are_nearer_to_those_of_float32(model: Path, tmp_path: Path, type_name: str) -> None:
    exact = tensors_of(model)
    files = {}
    for name, refine in (("plain", False), ("refined", True)):
        quantize(model, tmp_path / name, type_name, refine)
        files[name] = tensors_of(tmp_path / name)
    for layer, inputs in sampled_inputs(exact).items():
        weight = f"{BLOCK}.{layer}.weight"
        expected = inputs @ exact[weight].T + exact[bias_of(weight)]
        errors = {name: np.mean((inputs @ data[weight].T + data[bias_of(weight)] - expected) ** 2) for name, data in files.items()}
        assert errors["refined"] < 0.99 * errors["plain"], (layer, errors)


@pytest.mark.native
def test_layout_and_size_are_those_of_the_plain_file(model: Path, tmp_path: Path) -> None:
    for name, option in (("plain", []), ("refined", ["--refine"])):
        assert main(["quantize", str(model), str(tmp_path / name), "--type", "q4_k", *option]) == 0
    plain, refined = (gguf_file.read(tmp_path / name) for name in ("plain", "refined"))
    assert plain.infos == refined.infos and plain.items == refined.items
    changed = {info.name for info in plain.infos if not np.array_equal(plain.data[info.name], refined.data[info.name])}
    assert changed and all(".blk." in name and name.endswith((".weight", ".bias")) and "norm" not in name for name in changed)
