"""Checkpoints in the format of torch.save, made opcode by opcode so that any of them can be wrong."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

DICTIONARY = b"ccollections\nOrderedDict\n)R"
END = b"u."


def write(path: Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """As torch.save does for a state_dict of float32 tensors."""
    items = b"".join(text(name) + tensor(str(number), array.shape, array.size) for number, (name, array) in enumerate(arrays.items()))
    storages = {str(number): array.tobytes() for number, array in enumerate(arrays.values())}
    return write_raw(path, b"\x80\x02" + DICTIONARY + b"(" + items + END, storages)


def write_raw(path: Path, pickled: bytes, storages: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        for name, content in storages.items():
            archive.writestr(f"archive/data/{name}", content)
    return path


def tensor(storage: str, shape: tuple[int, ...], count: int, offset: int = 0, strides: tuple[int, ...] | None = None) -> bytes:
    """_rebuild_tensor_v2 of a FloatStorage."""
    if strides is None:
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    persistent = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(storage) + text("cpu") + number(count) + b"tQ"
    arguments = persistent + number(offset) + numbers(shape) + numbers(strides) + b"\x89" + DICTIONARY
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    if not -(2**31) <= value < 2**31:
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data
    return b"J" + struct.pack("<i", value)


def numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"
