"""The engine against the official PyTorch code on tiny networks: every stage, every output, from the uint8 picture on.

The reference tensors were made by tools/reference/make_reference.py; the weights are made here again from their seed, and their checksum
says that they are the same ones.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from comparison import BOUND, RMS_BOUND, rms_error, stage_bound, worst_error
from toy_model import any_view_model, mono_model, swiglu_model, v2_metric_model, v2_model

from depth_anything_ros import DepthKind, Engine, Wanted, _native

pytestmark = pytest.mark.native

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
MANIFEST = json.loads((REFERENCE / "manifest.json").read_text())
MODELS = {"any_view": any_view_model, "mono": mono_model, "swiglu": swiglu_model, "v2": v2_model, "v2_metric": v2_metric_model}
SKY_THRESHOLD = 0.3

COMMON = ["input", "patch_tokens", "tap.0", "tap.1", "tap.2", "tap.3"]
COMMON += [f"{stage}.{level}" for stage in ("layer_rn", "refinenet") for level in (1, 2, 3, 4)] + ["output_conv1", "logits"]
STAGES = {"any_view": [*COMMON, "cam_token", "pose_encoding"], "mono": [*COMMON, "sky_logits"]}
STAGES |= {"swiglu": STAGES["any_view"], "v2": COMMON, "v2_metric": COMMON}
CASES = [(model, orientation) for model in ("any_view", "mono") for orientation in ("landscape", "portrait")]
CASES += [("swiglu", "portrait"), ("v2", "landscape"), ("v2_metric", "portrait")]


def resolution(name):
    return MANIFEST["v2_resolution" if name.startswith("v2") else "resolution"]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request, tmp_path_factory):
    """Name of the architecture, reference arrays, prediction with every stage and without the sky fill, and with it."""
    name, orientation = request.param
    path = MODELS[name](tmp_path_factory.mktemp("models"), MANIFEST["seed"])
    reference = dict(np.load(REFERENCE / f"{name}_{orientation}.npz"))
    with Engine.load(path, threads=2, resolution=resolution(name)) as engine:
        raw = engine.infer(reference["picture"], fill_sky=False, stages=STAGES[name])
        filled = engine.infer(reference["picture"])
    return name, reference, raw, filled


def test_there_are_many_comparisons():
    """Stages alone; outputs, views, rays and true sizes come on top (docs/parity.md)."""
    assert sum(len(STAGES[name]) for name, _ in CASES) == 120


def test_reference_files_are_those_of_the_manifest():
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in REFERENCE.glob("*.npz")}
    assert found == MANIFEST["files"]
    assert sum(path.stat().st_size for path in REFERENCE.iterdir()) < 6_000_000


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_the_reference(name, tmp_path):
    path = MODELS[name](tmp_path, MANIFEST["seed"])
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MANIFEST["models"][name]


def test_preprocessing_is_bit_exact(case):
    name, reference, raw, _ = case
    if name.startswith("v2"):  # a float resize, whose result is the stage `input`
        assert np.array_equal(raw.stages["input"], reference["input"])
        return
    picture, expected = reference["picture"], reference["processed"]
    assert np.array_equal(_native.preprocess(picture, False, MANIFEST["resolution"], 14), expected)
    assert np.array_equal(_native.preprocess(picture[:, :, ::-1].copy(), True, MANIFEST["resolution"], 14), expected)


def test_every_stage_is_that_of_the_official_code(case, request):
    name, reference, raw, _ = case
    assert set(raw.stages) == set(STAGES[name])
    rounding = {"input": 0.0, **MANIFEST["rounding"][request.node.callspec.id.replace("-", "_")]}
    errors = {stage: worst_error(stage, raw.stages[stage], reference[stage]) for stage in STAGES[name]}
    rms_errors = {stage: rms_error(stage, raw.stages[stage], reference[stage]) for stage in STAGES[name]}
    assert {stage: error for stage, error in errors.items() if error > stage_bound(rounding[stage])} == {}
    assert {stage: error for stage, error in rms_errors.items() if error > RMS_BOUND} == {}


def test_outputs_are_those_of_the_official_code(case):
    _, reference, raw, _ = case
    errors = {"depth": worst_error("depth", raw.depth, reference["depth"])}
    if raw.confidence is not None:
        errors["confidence"] = worst_error("confidence", raw.confidence, reference["confidence"])
    if raw.sky is not None:
        errors["sky"] = worst_error("sky", raw.sky, reference["sky"])
    assert set(errors) == {"depth", "confidence", "sky"} & set(reference)
    assert max(errors.values()) <= BOUND, errors


def test_camera_is_that_of_the_official_code(case):
    _, reference, raw, _ = case
    if "intrinsics" not in reference:
        assert raw.intrinsics is None and raw.extrinsics is None
        return
    k, height_width = reference["intrinsics"], reference["depth"].shape
    found = np.array([raw.intrinsics.fx, raw.intrinsics.fy, raw.intrinsics.cx, raw.intrinsics.cy])
    assert worst_error("intrinsics", found, np.array([k[0, 0], k[1, 1], k[0, 2], k[1, 2]])) <= BOUND
    assert (raw.intrinsics.height, raw.intrinsics.width) == height_width
    assert worst_error("extrinsics", raw.extrinsics, reference["extrinsics"]) <= BOUND


def test_sky_fill_is_that_of_the_official_code(case):
    name, reference, _, filled = case
    if name != "mono":
        assert filled.sky is None
        return
    certain = np.abs(reference["sky"] - SKY_THRESHOLD) > 1e-4
    sky = (reference["sky"] >= SKY_THRESHOLD) & certain
    assert 0.02 < sky.mean() < 0.5, "the reference must hold sky and ground"
    assert len(np.unique(filled.depth[sky])) == 1
    assert worst_error("filled_depth", filled.depth[certain], reference["filled_depth"][certain]) <= BOUND


def test_v2_gives_the_kind_of_its_network(case):
    name, reference, raw, filled = case
    if not name.startswith("v2"):
        assert raw.kind is DepthKind.RELATIVE_DEPTH
        return
    assert (raw.confidence, raw.sky, raw.extrinsics) == (None, None, None) and np.array_equal(raw.depth, filled.depth)
    assert raw.kind is (DepthKind.METRIC if name == "v2_metric" else DepthKind.RELATIVE_INVERSE_DEPTH)
    assert raw.depth.max() < 20.0 and reference["depth"].std() > 0.01


@pytest.mark.parametrize("name", ["any_view", "mono"])
def test_position_table_is_used_as_it_is_for_37_by_37_patches(name, tmp_path):
    expected = np.load(REFERENCE / f"{name}_square.npz")["patch_tokens"]
    with Engine.load(MODELS[name](tmp_path, MANIFEST["seed"]), threads=2, resolution=37 * 14) as engine:
        grey = np.full((37 * 14, 37 * 14, 3), 128, np.uint8)
        tokens = engine.infer(grey, wanted=Wanted(False, False, False), stages=["patch_tokens"]).stages["patch_tokens"]
    assert worst_error("patch_tokens", tokens[:: MANIFEST["square_token_stride"]], expected) <= BOUND
