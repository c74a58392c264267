"""Crafted safetensors headers: a clean error, nothing written, nothing read past the end."""

import json
import struct

import numpy as np
import pytest

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.safetensors_file import SafetensorsFile
from depth_anything_ros.errors import ConversionError

GOOD = {"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}, "b": {"dtype": "F32", "shape": [2], "data_offsets": [16, 24]}}
DATA = np.arange(6, dtype="<f4").tobytes()


def content(header, data=DATA, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def changed(name, **entry):
    return {**GOOD, name: {**GOOD[name], **entry}}


NAMES_TWICE = b'{"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}}'
HOSTILE = {
    "empty file": b"",
    "seven bytes": b"\0" * 7,
    "header length 0": struct.pack("<Q", 0) + DATA,
    "header length 2^63": content(GOOD, length=2**63),
    "header length 2^64-1": content(GOOD, length=2**64 - 1),
    "header longer than the file": content(GOOD, length=len(content(GOOD))),
    "header is not JSON": content(b"\x93NUMPY not json"),
    "header is not UTF-8": content(b'{"\xff": 1}'),
    "header is an array": content([]),
    "header is a number": content(b"12"),
    "two hundred levels": content(b"[" * 200 + b"]" * 200),
    "a hundred thousand levels": content(b'{"a":' * 100_000),
    "entry is a list": content({**GOOD, "a": []}),
    "entry is nested": content({**GOOD, "a": json.loads('{"x":' * 200 + "1" + "}" * 200)}),
    "entry lacks the shape": content({**GOOD, "a": {"dtype": "F32", "data_offsets": [0, 16]}}),
    "entry has more": content(changed("a", surprise=1)),
    "names twice": content(NAMES_TWICE),
    "offsets reversed": content(changed("a", data_offsets=[16, 0])),
    "offsets negative": content(changed("a", data_offsets=[-16, 0])),
    "offsets past the end": content(changed("b", data_offsets=[16, 2**62])),
    "offsets overlap": content(changed("b", data_offsets=[12, 20])),
    "offsets leave a gap": content(changed("b", data_offsets=[20, 28]), DATA + b"\0" * 4),
    "offsets are floats": content(changed("a", data_offsets=[0.0, 16.0])),
    "offsets are booleans": content(changed("a", data_offsets=[False, 16])),
    "three offsets": content(changed("a", data_offsets=[0, 16, 16])),
    "offsets are a text": content(changed("a", data_offsets="0,16")),
    "shape smaller than the size": content(changed("a", shape=[2])),
    "shape larger than the size": content(changed("a", shape=[2, 3])),
    "shape overflows": content(changed("a", shape=[2**33, 2**33])),
    "shape overflows to the size": content(changed("a", shape=[2**62 + 1, 4])),
    "shape negative": content(changed("a", shape=[-2, -2])),
    "shape is a text": content(changed("a", shape="22")),
    "rank 1000": content(changed("a", shape=[4] + [1] * 1000)),
    "type unknown": content(changed("a", dtype="F99")),
    "type is a list": content(changed("a", dtype=["F32"])),
    "bytes after the last tensor": content(GOOD, DATA + b"\0"),
    "data cut off": content(GOOD, DATA[:-1]),
}


def test_the_unchanged_file_is_good(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content({"__metadata__": {"format": "pt"}, **GOOD}))
    source = SafetensorsFile(path)
    assert source.shapes() == {"a": (2, 2), "b": (2,)}
    assert source.array("a").tolist() == [[0, 1], [2, 3]] and source.array("b").tolist() == [4, 5]


@pytest.mark.case(71)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_header_is_a_clean_error(tmp_path, name):
    path = tmp_path / "model.safetensors"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(ConversionError) as error:
        convert(path, tmp_path / "out.gguf", model="da3-small")
    assert error.value.code == "convert.checkpoint" and str(path) in str(error.value) and len(str(error.value)) < 1000
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.case(71)
def test_every_changed_byte_of_the_header_is_a_clean_error_or_harmless(tmp_path):
    good = content(GOOD)
    path = tmp_path / "model.safetensors"
    generator = np.random.default_rng(0)
    refused = 0
    for position in range(len(good) - len(DATA)):
        for value in {0, 0x7F, 0xFF, *b'0"{}[],-', int(generator.integers(256))}:
            path.write_bytes(good[:position] + bytes([value]) + good[position + 1 :])
            try:
                source = SafetensorsFile(path)
            except ConversionError:
                refused += 1
            else:
                for name in source.shapes():
                    assert source.array(name).nbytes <= len(DATA)
    assert refused > 1000


def test_missing_file_is_a_clean_error(tmp_path):
    with pytest.raises(ConversionError, match="There is no checkpoint"):
        convert(tmp_path / "absent.safetensors", tmp_path / "out.gguf")
