"""PyTorch checkpoints without PyTorch: a file that PyTorch wrote, and crafted ones that must do no harm."""

import os
import pickle
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch_zip
from torch_zip import DICTIONARY, END, number, tensor, text

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import seeded_tensors
from depth_anything_ros.convert.torch_file import TorchFile
from depth_anything_ros.errors import ConversionError

DATA = Path(__file__).parents[1] / "data"
STORAGES = {"0": np.arange(6, dtype="<f4").tobytes()}


def test_what_pytorch_wrote():
    source, expected = TorchFile(DATA / "checkpoint.pth"), np.load(DATA / "checkpoint.npz")
    assert source.shapes() == {name: expected[name].shape for name in expected.files}
    assert {"first", "second", "parameter", "half", "bfloat16", "scalar", "1.weight"} <= set(expected.files)
    for name in expected.files:
        assert np.array_equal(source.array(name), expected[name]), name


def test_depth_anything_v2_becomes_a_file(tmp_path):
    model = OFFICIAL_MODELS["da2-metric-hypersim-small"]
    arrays = {spec.official: array for spec, array in seeded_tensors(model)}
    path = torch_zip.write(tmp_path / "weights.pth", {**arrays, "pretrained.mask_token": np.zeros((1, 384), np.float32)})
    with pytest.raises(ConversionError, match="da2-small or da2-metric-hypersim-small or da2-metric-vkitti-small"):
        convert(path, tmp_path / "out.gguf")
    output = tmp_path / "out.gguf"
    assert convert(path, output, model="da2-metric-hypersim-small") == {output: model}
    reader = gguf.GGUFReader(output)
    assert [tensor.name for tensor in reader.tensors] == [spec.name for spec, _ in seeded_tensors(model)]
    for found, array in zip(reader.tensors, arrays.values()):
        assert np.array_equal(found.data.ravel(), array.ravel()), found.name
    assert reader.fields["depthanything3.arch"].contents() == "depthanything2"
    assert reader.fields["depthanything3.head.max_depth"].contents() == 20.0


def dictionary(*items):
    return b"\x80\x02" + DICTIONARY + b"(" + b"".join(items) + END


class _Runs:
    def __reduce__(self):
        return os.mkdir, ("executed",)


GOOD = dictionary(text("a"), tensor("0", (2, 3), 6))
HOSTILE = {
    "runs code": pickle.dumps({"a": _Runs()}, 2),
    "runs code, protocol 4": pickle.dumps({"a": _Runs()}, 4),
    "runs code, protocol 0": pickle.dumps({"a": _Runs()}, 0),
    "runs code as a state": dictionary(text("a"), b"cos\nmkdir\n", text("executed"), b"\x85Rb"),
    "evaluates": b"\x80\x02cbuiltins\neval\n" + text("__import__('os').mkdir('executed')") + b"\x85R.",
    "instance": b"(" + text("executed") + b"ios\nmkdir\n.",
    "extension registry": b"\x80\x02\x82\x01.",
    "no dictionary": pickle.dumps([1, 2]),
    "dictionary of numbers": pickle.dumps({"a": 1}, 2),
    "names that are numbers": dictionary(number(1), tensor("0", (2, 3), 6)),
    "empty": b"",
    "no end": GOOD[:-1],
    "cut in an opcode": GOOD[:20],
    "stack runs empty": b"\x80\x02R.",
    "tuple of nothing": b"\x80\x02\x87.",
    "no mark": b"\x80\x02t.",
    "memo of nothing": b"\x80\x02h\x07.",
    "items without a value": dictionary(text("a")),
    "another storage": GOOD.replace(b"FloatStorage", b"LongStorage"),
    "another rebuilder": GOOD.replace(b"_rebuild_tensor_v2", b"_rebuild_sparse_tensor"),
    "past the end of the storage": dictionary(text("a"), tensor("0", (2, 4), 8)),
    "offset past the end": dictionary(text("a"), tensor("0", (2, 3), 6, offset=1)),
    "negative offset": dictionary(text("a"), tensor("0", (2, 3), 6, offset=-1)),
    "negative shape": dictionary(text("a"), tensor("0", (-2, -3), 6)),
    "huge shape": dictionary(text("a"), tensor("0", (2**31 - 1,) * 8, 6)),
    "transposed": dictionary(text("a"), tensor("0", (2, 3), 6, strides=(1, 2))),
    "one value many times": dictionary(text("a"), tensor("0", (2, 3), 6, strides=(0, 0))),
    "strides of another rank": dictionary(text("a"), tensor("0", (2, 3), 6, strides=(1,))),
    "rank 100": dictionary(text("a"), tensor("0", (1,) * 100, 6)),
    "no such storage": dictionary(text("a"), tensor("1", (2, 3), 6)),
    "a million levels": b"\x80\x02)" + b"\x85" * 1_000_000 + b".",
    "doubles a million times": b"\x80\x02)" + b"q\x00h\x00\x86" * 200_000 + b"Q.",
    "calls that": b"\x80\x02)" + b"q\x00h\x00\x86" * 200_000 + b")R.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = torch_zip.write_raw(tmp_path / "weights.pth", HOSTILE[name], STORAGES)
    with pytest.raises(ConversionError) as refusal:
        TorchFile(path)
    assert refusal.value.code == "convert.checkpoint" and str(path) in str(refusal.value) and len(str(refusal.value)) < 500
    assert [file.name for file in tmp_path.iterdir()] == ["weights.pth"]


def test_the_crafted_file_is_good_otherwise(tmp_path):
    path = torch_zip.write_raw(tmp_path / "weights.pth", GOOD, STORAGES)
    assert np.array_equal(TorchFile(path).array("a"), np.arange(6, dtype=np.float32).reshape(2, 3))


def test_hostile_archives(tmp_path):
    whole = torch_zip.write_raw(tmp_path / "whole.pth", GOOD, STORAGES).read_bytes()
    local_name_length = whole.index(b"archive/data/0") - 4
    sizes = whole.rindex(b"archive/data.pkl") - 26  # of the central directory's entry: stored and unpacked
    crafted = {
        "empty": b"",
        "no zip": b"GGUF" * 100,
        "old format": pickle.dumps({"a": 1}, 2),
        "cut": whole[: len(whole) // 2],
        "local header leads past the end": whole[:local_name_length] + b"\xff\xff" + whole[local_name_length + 2 :],
        "sizes past the end": whole[:sizes] + (10_000).to_bytes(4, "little") * 2 + whole[sizes + 8 :],
        "entries overlap": whole[:sizes] + (len(GOOD) + 1).to_bytes(4, "little") * 2 + whole[sizes + 8 :],
        "compressed": torch_zip.write_raw(tmp_path / "compressed.pth", GOOD, STORAGES, zipfile.ZIP_DEFLATED).read_bytes(),
        "big-endian": whole.replace(b"little", b"bigger"),
    }
    reaching = ("sizes past the end", "entries overlap", "local header leads past the end")
    for name, content in crafted.items():
        path = tmp_path / f"{name}.pth"
        path.write_bytes(content)
        with pytest.raises(ConversionError) as refusal:
            TorchFile(path)
        assert refusal.value.code == "convert.checkpoint", name
        assert ("reaches into" in str(refusal.value)) == (name in reaching), name
    with pytest.raises(ConversionError):
        TorchFile(tmp_path / "absent.pth")


def test_values_that_are_not_finite(tmp_path):
    path = torch_zip.write(tmp_path / "weights.pth", {"a": np.array([1.0, np.nan], np.float32)})
    with pytest.raises(ConversionError, match="not finite in tensor a"):
        TorchFile(path).array("a")
