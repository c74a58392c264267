"""Quantised files against the published sizes and, value by value, against the `gguf` package's own decoder."""

import io
import sys
from collections import Counter
from dataclasses import replace

import gguf
import numpy as np
import pytest
from gguf_decoder import decoded

from depth_anything_ros.cli import main
from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType, file_bytes
from depth_anything_ros.convert.gguf_keys import ValueType
from depth_anything_ros.convert.hyper_parameters import Identity, Size, any_view
from depth_anything_ros.convert.layout import MetadataItem, metadata, tensors
from depth_anything_ros.convert.naming import NESTED_METRIC
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.quantize import TYPES, quantize, stored_type
from depth_anything_ros.convert.seeded import SEEDED_METRIC, seeded_tensors, write_seeded
from depth_anything_ros.errors import ConversionError, OptionError

# Rows of 128 (attention, first of the MLP), 256 (camera) and 512 (second of the MLP): each rule of the rows has its case.
WIDE = any_view(
    Size(128, 4, 2, (0, 1, 2, 3), 16, (8, 8, 8, 8), alt_start=1, pos_embed_grid=4), Identity("seeded-wide", "relative_depth", "CC0-1.0")
)
TINY = any_view(
    Size(32, 4, 2, (0, 1, 2, 3), 8, (4, 4, 4, 4), alt_start=1, pos_embed_grid=2), Identity("seeded-tiny", "relative_depth", "CC0-1.0")
)
PUBLISHED_BYTES = {("da3-base", "f16"): 232_775_968, ("da3-base", "q8_0"): 148_713_088, ("da3-base", "q4_k"): 103_879_552}
# The published files were rewritten by a tool that drops trailing extents of 1: two of cls_token, one of camera_token and pos_embed.
DROPPED_EXTENTS_BYTES = 4 * 8
# Root mean square of the error over that of the weights, which are uniform: half a step of 2^bits levels over the range, divided by
# sqrt(3), and a little for the scales that are stored coarsely.
LARGEST_ERROR = {"f16": 3e-4, "q8_0": 0.0045, "q6_k": 0.018, "q5_k": 0.034, "q4_k": 0.070}


def encoded(name, type_name):
    """Type that the published rules give a weight of WIDE: by the length of its rows."""
    if name.endswith(("attn_qkv.weight", "attn_proj.weight", "mlp_fc1.weight")):
        return type_name if type_name in ("f16", "q8_0") else "q8_0"
    is_narrow = name.endswith("mlp_fc2.weight") or (name.startswith("cam.") and name.endswith(".weight"))
    return type_name if is_narrow else "f32"


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "f32.gguf"
    write_seeded(path, WIDE)
    return path


@pytest.mark.parametrize("type_name", TYPES)
def test_another_reader_finds_the_weights_again(wide, tmp_path, type_name):
    output = tmp_path / "small.gguf"
    quantize(wide, output, type_name)
    before, after = gguf.GGUFReader(wide), gguf.GGUFReader(output)
    assert [(key, field.contents()) for key, field in before.fields.items()] == [
        (key, field.contents()) for key, field in after.fields.items()
    ]
    for (spec, array), tensor in zip(seeded_tensors(WIDE), after.tensors, strict=True):
        expected = encoded(spec.name, type_name)
        assert (tensor.name, tensor.tensor_type.name.lower()) == (spec.name, expected)
        values = decoded(tensor).reshape(array.shape)
        if expected == "f32":
            assert np.array_equal(values, array), spec.name
        else:
            error = np.sqrt(np.mean((values - array) ** 2) / np.mean(array**2))
            assert 0 < error < LARGEST_ERROR[expected], (spec.name, error)


def test_q8_0_is_that_of_another_implementation(wide, tmp_path):
    quantize(wide, tmp_path / "q8_0.gguf", "q8_0")
    for before, after in zip(gguf.GGUFReader(wide).tensors, gguf.GGUFReader(tmp_path / "q8_0.gguf").tensors, strict=True):
        if after.tensor_type is gguf.GGMLQuantizationType.Q8_0:
            assert np.array_equal(after.data, gguf.quants.quantize(before.data, after.tensor_type)), before.name


@pytest.mark.parametrize(("name", "type_name"), PUBLISHED_BYTES)
def test_sizes_are_those_of_the_published_files(name, type_name):
    model = replace(OFFICIAL_MODELS[name], depth_kind=None, license=None)
    infos = [
        TensorInfo(spec.name, spec.extents, stored_type(spec.extents[0], TYPES[type_name]) if spec.narrow else TensorType.F32)
        for spec in tensors(model)
    ]
    assert sum(info.type is TYPES[type_name] for info in infos) == 53
    assert file_bytes(metadata(model), infos) - PUBLISHED_BYTES[name, type_name] == DROPPED_EXTENTS_BYTES


def test_rows_of_small_fall_back():
    types = [stored_type(spec.extents[0], TensorType.Q4_K) for spec in tensors(OFFICIAL_MODELS["da3-small"]) if spec.narrow]
    assert types.count(TensorType.Q8_0) == 36 and types.count(TensorType.Q4_K) == 12 + 5
    assert stored_type(24, TensorType.F16) is stored_type(24, TensorType.Q6_K) is TensorType.F32


def test_the_metric_half_of_a_nested_pair(tmp_path):
    write_seeded(tmp_path / "f32.gguf", replace(SEEDED_METRIC, naming=NESTED_METRIC))
    counts = Counter(info.type for info in quantize(tmp_path / "f32.gguf", tmp_path / "q8_0.gguf", "q8_0"))
    assert counts[TensorType.Q8_0] == 4 * SEEDED_METRIC.depth
    assert gguf.GGUFReader(tmp_path / "q8_0.gguf").tensors[0].name == "m_vit.cls_token"


def test_what_is_refused_leaves_nothing(wide, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / "out.gguf"
    quantize(wide, tmp_path / "q8_0.gguf", "q8_0")
    with pytest.raises(ConversionError, match="quantised already"):
        quantize(tmp_path / "q8_0.gguf", output, "q4_k")
    with pytest.raises(OptionError, match="q9"):
        quantize(wide, output, "q9")
    with pytest.raises(ConversionError, match="cannot be read"):
        quantize(tmp_path / "none.gguf", output, "q8_0")
    before = wide.read_bytes()
    (tmp_path / "link.gguf").symlink_to(wide)
    for same in (wide, tmp_path / "link.gguf"):
        with pytest.raises(OptionError, match="another file"):
            quantize(wide, same, "q8_0")
    assert wide.read_bytes() == before
    model = gguf_file.read(wide)
    elsewhere = [*model.items, MetadataItem("general.alignment", ValueType.U32, 64)]
    with (tmp_path / "wider.gguf").open("wb") as stream:
        gguf_file.write(stream, elsewhere, model.infos, model.data.values())
    with pytest.raises(ConversionError, match="aligned to 64"):
        quantize(tmp_path / "wider.gguf", output, "q8_0")
    (tmp_path / "cut.gguf").write_bytes(wide.read_bytes()[:-4096])
    with pytest.raises(ConversionError, match="cannot be read"):
        quantize(tmp_path / "cut.gguf", output, "q8_0")
    assert not list(folder.iterdir())


def test_damaged_files_are_refused_or_read_but_never_crash(tmp_path):
    """A byte or a number of the header is changed: any error is one of ours."""
    write_seeded(tmp_path / "good.gguf", TINY)
    good, generator = (tmp_path / "good.gguf").read_bytes(), np.random.default_rng(0)
    header = good.index(b"vit.blk.0")
    refused = 0
    for attempt in range(300):
        damaged, place, length = bytearray(good), int(generator.integers(header)), (1, 8)[attempt % 2]
        number = (0, 255, 2**32, 2**62, 2**63, 2**64 - 1)[generator.integers(6)] % 256**length
        damaged[place : place + length] = number.to_bytes(length, "little")
        (tmp_path / "damaged.gguf").write_bytes(damaged)
        try:
            quantize(tmp_path / "damaged.gguf", tmp_path / "out.gguf", "q8_0")
        except ConversionError:
            refused += 1
    assert 100 < refused < 300


def test_values_that_the_type_cannot_hold(wide, tmp_path):
    data = bytearray(wide.read_bytes())
    tensor = next(tensor for tensor in gguf.GGUFReader(wide).tensors if tensor.name == "vit.blk.0.attn_qkv.weight")
    data[tensor.data_offset : tensor.data_offset + 4] = np.float32(1e9).tobytes()
    (tmp_path / "huge.gguf").write_bytes(data)
    with pytest.raises(ConversionError, match="attn_qkv"):
        quantize(tmp_path / "huge.gguf", tmp_path / "out.gguf", "q8_0")


def test_the_verb(wide, tmp_path, capsys):
    assert main(["quantize", str(wide), str(tmp_path / "out.gguf"), "--type", "q4_k"]) == 0
    assert "9 tensors q4_k, 12 tensors q8_0" in capsys.readouterr().out
    assert main(["quantize", str(wide), str(tmp_path / "out.gguf"), "--type", "q9"]) == 2
    assert main(["quantize", str(tmp_path / "none.gguf"), str(tmp_path / "out.gguf")]) == 3


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_verb_shows_a_bar_on_a_terminal(wide, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["quantize", str(wide), str(tmp_path / "out.gguf")]) == 0
    count = len(gguf.GGUFReader(wide).tensors)
    assert terminal.getvalue().split("\r")[-1].startswith(f"[########################] {count}/{count} tensors")


@pytest.mark.native
@pytest.mark.parametrize("type_name", TYPES)
def test_the_engine_runs_it(wide, tmp_path, photo, type_name):
    from depth_anything_ros import Engine

    quantize(wide, tmp_path / "small.gguf", type_name)
    with Engine.load(wide, threads=1, resolution=112) as exact, Engine.load(tmp_path / "small.gguf", threads=1, resolution=112) as coarse:
        expected, found = exact.infer(photo).depth, coarse.infer(photo).depth
    assert np.abs(found / expected - 1).mean() < {"f16": 1e-3, "q8_0": 1e-2}.get(type_name, 5e-2)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.99
