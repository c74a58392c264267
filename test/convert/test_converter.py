"""Checkpoints in the official layout to GGUF, read back by the independent `gguf` package; and what happens when they do not fit."""

import json
from dataclasses import fields, replace

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import Size, with_gaussians, with_pose_encoder, with_rays
from depth_anything_ros.convert.layout import metadata
from depth_anything_ros.convert.naming import NESTED_ANY_VIEW, NESTED_METRIC
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import SEEDED_ANY_VIEW, SEEDED_METRIC, SEEDED_SWIGLU, seeded_tensors
from depth_anything_ros.errors import ConversionError, OptionError

NARROW = ("attn_qkv.weight", "attn_proj.weight", "mlp_fc1.weight", "mlp_fc2.weight", "bb0.weight", "bb2.weight", "fc_t.weight")
NARROW += ("fc_q.weight", "fc_fov.weight")
ARCHITECTURE = {"seeded-any-view": "any_view", "seeded-metric": "mono"}


def config(parameters, **changes):
    size = {field.name: getattr(parameters, field.name) for field in fields(Size)}
    identity = {key: getattr(parameters, key) for key in ("checkpoint_name", "depth_kind", "license")}
    return {"architecture": ARCHITECTURE[parameters.checkpoint_name], **identity, **size, **changes}


def official_arrays(parameters):
    arrays = {spec.official: array for spec, array in seeded_tensors(parameters)}
    # What an official checkpoint holds beyond the depth network.
    arrays["model.cam_enc.token_norm.weight"] = np.ones(8, np.float32)
    arrays["model.head.scratch.refinenet1_aux.out_conv.bias"] = np.ones(8, np.float32)
    arrays["model.head.scratch.output_conv2_aux.0.2.weight"] = np.ones(32, np.float32)
    return arrays


def checkpoint(folder, parameters, arrays=None, **changes):
    folder.mkdir(exist_ok=True)
    save_file(official_arrays(parameters) if arrays is None else arrays, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"hyper_parameters": config(parameters, **changes)}))
    return folder


@pytest.mark.parametrize("parameters", [SEEDED_ANY_VIEW, SEEDED_METRIC], ids=lambda parameters: parameters.checkpoint_name)
@pytest.mark.parametrize("type_name", ["f32", "f16"])
def test_file_holds_every_tensor_and_key(tmp_path, parameters, type_name):
    output = tmp_path / "model.gguf"
    assert convert(checkpoint(tmp_path / "in", parameters), output, type_name) == {output: parameters}
    reader = gguf.GGUFReader(output)
    assert reader.alignment == 32 and "general.alignment" not in reader.fields
    expected = list(seeded_tensors(parameters))
    assert [tensor.name for tensor in reader.tensors] == [spec.name for spec, _ in expected]
    for tensor, (spec, array) in zip(reader.tensors, expected):
        narrow = type_name == "f16" and spec.name.endswith(NARROW)
        assert tensor.tensor_type.name == ("F16" if narrow else "F32"), spec.name
        assert tuple(tensor.shape.tolist()) == array.shape[::-1], spec.name
        assert np.array_equal(tensor.data.ravel(), array.ravel().astype(np.float16 if narrow else np.float32)), spec.name
    for item in metadata(parameters):
        assert reader.fields[item.name].contents() == pytest.approx(list(item.value) if isinstance(item.value, tuple) else item.value)
    assert len([name for name in reader.fields if not name.startswith("GGUF.")]) == len(metadata(parameters))


def test_official_name_in_config_selects_the_model(tmp_path):
    folder = checkpoint(tmp_path, SEEDED_ANY_VIEW)
    (folder / "config.json").write_text('{"model_name": "da3-small"}')
    with pytest.raises(ConversionError, match=r"blocks\.8\.norm1\.weight is missing"):
        convert(folder, tmp_path / "out.gguf")


def test_bare_file_is_identified_by_its_shapes(tmp_path):
    model = OFFICIAL_MODELS["da3-small"]
    arrays = {spec.official: array for spec, array in seeded_tensors(model)}
    save_file(arrays, tmp_path / "weights.safetensors")
    (found,) = convert(tmp_path / "weights.safetensors", tmp_path / "out.gguf").values()
    assert found.checkpoint_name == "DA3-SMALL"
    with pytest.raises(OptionError, match="da4"):
        convert(tmp_path / "weights.safetensors", tmp_path / "out.gguf", model="da4")


def test_bare_file_of_no_known_model_asks_for_the_name(tmp_path):
    save_file(official_arrays(SEEDED_ANY_VIEW), tmp_path / "weights.safetensors")
    with pytest.raises(ConversionError, match="--model"):
        convert(tmp_path / "weights.safetensors", tmp_path / "out.gguf")


def test_everything_that_does_not_fit_is_listed_together(tmp_path):
    arrays = official_arrays(SEEDED_ANY_VIEW)
    del arrays["model.head.norm.bias"]
    arrays["model.backbone.pretrained.norm.weight"] = np.ones(127, np.float32)
    arrays["model.surprise"] = np.ones(3, np.float32)
    with pytest.raises(ConversionError) as error:
        convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays), tmp_path / "out.gguf")
    assert error.value.code == "convert.names"
    for part in ("head.norm.bias is missing", "norm.weight has shape [127], not [128]", "model.surprise is not known"):
        assert part in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_and_nothing_is_left(tmp_path, value):
    arrays = official_arrays(SEEDED_ANY_VIEW)
    arrays["model.cam_dec.fc_t.bias"] = np.array([0, value, 0], np.float32)  # the file is half written when this is reached
    with pytest.raises(ConversionError, match=r"model\.cam_dec\.fc_t\.bias"):
        convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays), tmp_path / "out.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_values_beyond_f16_are_refused(tmp_path):
    arrays = official_arrays(SEEDED_ANY_VIEW)
    arrays["model.backbone.pretrained.blocks.0.attn.qkv.weight"][0, 0] = 1e5
    folder = checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays)
    with pytest.raises(ConversionError, match="f16"):
        convert(folder, tmp_path / "out.gguf", "f16")
    convert(folder, tmp_path / "out.gguf", "f32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_checkpoints_become_float32(tmp_path, dtype):
    arrays = official_arrays(SEEDED_ANY_VIEW)
    name = "model.backbone.pretrained.blocks.2.attn.proj.weight"
    exact = np.round(arrays[name] * 256) / 256  # values that both narrow types hold
    arrays[name] = exact.astype(np.float16) if dtype == "float16" else exact.astype(np.float32)
    folder = checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays)
    if dtype == "bfloat16":
        _as_bfloat16(folder / "model.safetensors", name)
    convert(folder, tmp_path / "out.gguf")
    tensor = next(t for t in gguf.GGUFReader(tmp_path / "out.gguf").tensors if t.name == "vit.blk.2.attn_proj.weight")
    assert tensor.tensor_type.name == "F32" and np.array_equal(tensor.data, exact.astype(np.float32))


def _as_bfloat16(path, name):
    """Rewrite one tensor of a file as BF16: NumPy has no such type, so the bytes are written here."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    parts, end = {}, 0
    for key, entry in header.items():
        if key != "__metadata__":
            begin, stop = entry["data_offsets"]
            raw = body[begin:stop]
            if key == name:
                raw = (np.frombuffer(raw, "<u4") >> 16).astype("<u2").tobytes()
                entry["dtype"] = "BF16"
            entry["data_offsets"] = [end, end + len(raw)]
            parts[key], end = raw, end + len(raw)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts.values()))


def test_output_that_cannot_be_written_is_a_clean_error(tmp_path):
    with pytest.raises(ConversionError, match="cannot be written"):
        convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW), tmp_path / "absent" / "out.gguf")


def test_unknown_type_is_refused(tmp_path):
    with pytest.raises(OptionError, match="f31"):
        convert(tmp_path, tmp_path / "out.gguf", "f31")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"embed_dim": 130}, "embed_dim 130"),
        ({"embed_dim": 48}, "embed_dim 48"),  # heads of 24, which the engine refuses
        ({"resize_target": 7}, "from 14 to 4096"),
        ({"resize_target": 5000}, "from 14 to 4096"),
        ({"pos_embed_grid": 2000}, "pos_embed_grid 2000"),
        ({"head_out_channels": [0, 24, 32, 48]}, "head_out_channels"),
        ({"num_heads": 0}, "num_heads 0"),
        ({"num_heads": True}, "num_heads True"),
        ({"depth": 10**9}, "depth 1000000000"),
        ({"depth": 7}, "out_layers"),
        ({"out_layers": [7, 5, 3, 1]}, "out_layers"),
        ({"out_layers": [1, 3, 5]}, "out_layers"),
        ({"head_features": 20}, "head_features 20"),
        ({"head_out_channels": [16, 24, 32, 50]}, "head_out_channels"),
        ({"alt_start": -1}, "alt_start -1"),
        ({"architecture": ["any_view"]}, "architecture"),
        ({"depth_kind": "metres"}, "depth_kind 'metres'"),
        ({"license": 3}, "license 3"),
        ({"checkpoint_name": "DA3METRIC-LARGE"}, "official model"),
        ({"surprise": 1}, "may have"),
    ],
)
def test_wrong_hyper_parameters_are_named(tmp_path, changes, text):
    with pytest.raises(ConversionError) as error:
        convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, **changes), tmp_path / "out.gguf")
    assert error.value.code == "convert.checkpoint" and text in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model_name": 3}', '{"model_name": "da4"}', '{"hyper_parameters": 1}', "[" * 5000])
def test_config_that_says_nothing_is_refused(tmp_path, text):
    folder = checkpoint(tmp_path / "in", SEEDED_ANY_VIEW)
    (folder / "config.json").write_text(text)
    with pytest.raises(ConversionError, match=r"config\.json"):
        convert(folder, tmp_path / "out.gguf")


def test_the_ray_branch_is_kept_on_demand(tmp_path):
    with_branch = with_rays(SEEDED_ANY_VIEW)
    arrays = {spec.official: array for spec, array in seeded_tensors(with_branch)}
    # Levels that nothing uses, and names under which the shared norm may be stored again.
    arrays |= {f"model.head.scratch.output_conv1_aux.{level}.0.weight": np.ones(3, np.float32) for level in (0, 1, 2)}
    arrays |= {f"model.head.scratch.output_conv2_aux.{level}.2.bias": np.ones(32, np.float32) for level in (1, 2, 3)}
    folder, output = checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays), tmp_path / "out.gguf"
    assert convert(folder, output, rays=True) == {output: with_branch}
    found = {tensor.name: tensor.data for tensor in gguf.GGUFReader(output).tensors}
    assert len(found) == len(list(seeded_tensors(SEEDED_ANY_VIEW))) + 52
    norm = found["head.scratch.out2_aux_ln.bias"]
    assert np.array_equal(norm, arrays["model.head.scratch.output_conv2_aux.0.2.bias"])
    convert(folder, output)
    assert not [tensor.name for tensor in gguf.GGUFReader(output).tensors if "aux" in tensor.name]


def test_without_the_ray_branch_it_cannot_be_kept(tmp_path):
    with pytest.raises(ConversionError, match=r"refinenet1_aux\.resConfUnit1\.conv1\.weight is missing"):
        convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW), tmp_path / "out.gguf", rays=True)


@pytest.mark.parametrize("part", ["rays", "pose_encoder"])
def test_a_mono_network_has_no_such_part(tmp_path, part):
    with pytest.raises(OptionError, match="any-view"):
        convert(checkpoint(tmp_path / "in", SEEDED_METRIC), tmp_path / "out.gguf", **{part: True})


def test_the_pose_encoder_is_kept_on_demand(tmp_path):
    with_encoder = with_pose_encoder(SEEDED_ANY_VIEW)
    arrays = {spec.official: array for spec, array in seeded_tensors(with_encoder)}
    output = tmp_path / "out.gguf"
    assert convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW, arrays), output, "f16", pose_encoder=True) == {output: with_encoder}
    found = {tensor.name: tensor.data for tensor in gguf.GGUFReader(output).tensors}
    assert np.array_equal(found["cam_enc.blk.3.mlp_fc1.weight"], arrays["model.cam_enc.trunk.3.mlp.fc1.weight"])
    assert np.array_equal(found["cam_enc.pose_fc1.weight"], arrays["model.cam_enc.pose_branch.fc1.weight"])


def test_a_nested_checkpoint_becomes_two_files(tmp_path, monkeypatch):
    halves = {
        "da3nested-anyview": replace(with_gaussians(SEEDED_SWIGLU), naming=NESTED_ANY_VIEW),
        "da3nested-metric": replace(SEEDED_METRIC, naming=NESTED_METRIC),
    }
    for name, parameters in halves.items():
        monkeypatch.setitem(OFFICIAL_MODELS, name, parameters)
    arrays = {spec.official: array for parameters in halves.values() for spec, array in seeded_tensors(parameters)}
    save_file({**arrays, "model.da3.cam_enc.token_norm.weight": np.ones(8, np.float32)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_name": "da3nested-giant-large"}')
    written = convert(tmp_path, tmp_path / "nested.gguf")
    assert [path.name for path in written] == ["nested-anyview.gguf", "nested-metric.gguf"]
    any_view, metric = ({tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors} for path in written)
    assert np.array_equal(any_view["gs.merger.2.bias"], arrays["model.da3.gs_head.images_merger.4.bias"])
    assert np.array_equal(any_view["vit.blk.7.mlp_w3.bias"], arrays["model.da3.backbone.pretrained.blocks.7.mlp.w3.bias"])
    assert np.array_equal(metric["m_vit.norm.bias"], arrays["model.da3_metric.backbone.pretrained.norm.bias"])
    assert all(name.startswith(("m_vit.", "m_head.")) for name in metric)
    assert len(any_view) + len(metric) == len(arrays)
    # Both or neither: what fails in the second leaves the first as it was.
    before = {path: path.read_bytes() for path in written}
    arrays["model.da3_metric.head.scratch.output_conv2.2.bias"][:] = np.nan
    arrays["model.da3.backbone.pretrained.norm.bias"][:] = 0.0
    save_file(arrays, tmp_path / "model.safetensors")
    with pytest.raises(ConversionError, match="not finite"):
        convert(tmp_path, tmp_path / "nested.gguf")
    assert {path: path.read_bytes() for path in written} == before
    with pytest.raises(ConversionError, match="not finite"):
        convert(tmp_path, tmp_path / "other.gguf")
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.case(70)
def test_a_name_as_long_as_file_systems_take(tmp_path):
    output = tmp_path / ("n" * 250 + ".gguf")
    assert list(convert(checkpoint(tmp_path / "in", SEEDED_ANY_VIEW), output)) == [output]


def test_the_checkpoint_is_never_replaced_and_a_missing_one_is_named(tmp_path):
    folder = checkpoint(tmp_path / "in", SEEDED_ANY_VIEW)
    weights = folder / "model.safetensors"
    before = weights.read_bytes()
    with pytest.raises(OptionError, match="another file"):
        convert(weights, tmp_path / "in" / ".." / "in" / "model.safetensors")
    assert weights.read_bytes() == before
    with pytest.raises(ConversionError, match=r"There is no checkpoint .*absent"):
        convert(tmp_path / "absent", tmp_path / "out.gguf")
    weights.unlink()
    with pytest.raises(ConversionError, match=r"There is no checkpoint .*model\.safetensors"):
        convert(folder, tmp_path / "out.gguf")


def test_an_unknown_tensor_of_a_nested_checkpoint_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(OFFICIAL_MODELS, "da3nested-anyview", replace(with_gaussians(SEEDED_SWIGLU), naming=NESTED_ANY_VIEW))
    monkeypatch.setitem(OFFICIAL_MODELS, "da3nested-metric", replace(SEEDED_METRIC, naming=NESTED_METRIC))
    parts = [OFFICIAL_MODELS[name] for name in ("da3nested-anyview", "da3nested-metric")]
    arrays = {spec.official: array for parameters in parts for spec, array in seeded_tensors(parameters)}
    save_file({**arrays, "model.da3_metric.surprise": np.ones(8, np.float32)}, tmp_path / "model.safetensors")
    with pytest.raises(ConversionError, match=r"model\.da3_metric\.surprise is not known"):
        convert(tmp_path / "model.safetensors", tmp_path / "out.gguf")
    assert not list(tmp_path.glob("*.gguf"))
