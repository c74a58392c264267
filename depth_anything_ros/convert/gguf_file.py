"""GGUF version 3 files: streaming writer, and the reader that proves what was written."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.convert.gguf_keys import ValueType
from depth_anything_ros.convert.layout import MetadataItem, Value
from depth_anything_ros.convert.safetensors_file import shortened
from depth_anything_ros.errors import ConversionError

MAGIC = b"GGUF"
VERSION = 3
ALIGNMENT = 32
_ARRAY = 9
_FORMATS = {ValueType.U32: "<I", ValueType.I32: "<i", ValueType.F32: "<f", ValueType.BOOL: "<?"}


class TensorType(Enum):
    """Storage type of a tensor, with its number in the GGUF format."""

    F32 = 0
    F16 = 1
    Q8_0 = 8
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14

    @property
    def block(self) -> tuple[int, int]:
        """Values that are stored together, and their bytes. Rows consist of whole blocks."""
        return _BLOCKS[self]

    @property
    def dtype(self) -> np.dtype:
        """Of the stored array; that of a quantised tensor holds the bytes of its rows."""
        return np.dtype({TensorType.F32: "<f4", TensorType.F16: "<f2"}.get(self, "u1"))


_BLOCKS = {
    TensorType.F32: (1, 4),
    TensorType.F16: (1, 2),
    TensorType.Q8_0: (32, 34),
    TensorType.Q4_K: (256, 144),
    TensorType.Q5_K: (256, 176),
    TensorType.Q6_K: (256, 210),
}


@dataclass(frozen=True)
class TensorInfo:
    """Name, extents (ggml order, fastest first) and storage type of one tensor."""

    name: str
    extents: tuple[int, ...]
    type: TensorType

    @property
    def nbytes(self) -> int:
        values, size = self.type.block
        return math.prod(self.extents) // values * size

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of the stored array, slowest first."""
        values, size = self.type.block
        *slower, row = self.extents[::-1]
        return (*slower, row // values * size // self.type.dtype.itemsize)


def file_bytes(items: list[MetadataItem], infos: list[TensorInfo]) -> int:
    """Size of the file that `write` makes of these."""
    return len(header(items, infos)) + sum(_padded(info.nbytes) for info in infos)


def write(stream: BinaryIO, items: list[MetadataItem], infos: list[TensorInfo], arrays: Iterable[NDArray[np.generic]]) -> None:
    """Write one file. `arrays` gives the data of each tensor in turn (`stored_shape`, `dtype` of its type); only one is held at a time."""
    stream.write(header(items, infos))
    for info, array in zip(infos, arrays):
        assert array.shape == info.stored_shape and array.dtype == info.type.dtype, info.name
        stream.write(np.ascontiguousarray(array).data.cast("B"))
        stream.write(bytes(_padded(info.nbytes) - info.nbytes))


def header(items: list[MetadataItem], infos: list[TensorInfo]) -> bytes:
    """Everything before the tensor data, padded to the alignment."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(infos), len(items))]
    for item in items:
        parts += [_string(item.name), _value(item)]
    offset = 0
    for info in infos:
        rank = len(info.extents)
        parts += [_string(info.name), struct.pack(f"<I{rank}QIQ", rank, *info.extents, info.type.value, offset)]
        offset += _padded(info.nbytes)
    data = b"".join(parts)
    return data.ljust(_padded(len(data)), b"\0")


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _value(item: MetadataItem) -> bytes:
    if isinstance(item.value, tuple):
        elements = b"".join(_scalar(item.type, element) for element in item.value)
        return struct.pack("<IIQ", _ARRAY, item.type.value, len(item.value)) + elements
    return struct.pack("<I", item.type.value) + _scalar(item.type, item.value)


def _scalar(kind: ValueType, value: Value) -> bytes:
    return _string(str(value)) if kind is ValueType.STRING else struct.pack(_FORMATS[kind], value)


@dataclass(frozen=True)
class GgufFile:
    """A parsed file: metadata, tensor infos, and the data of each tensor by name as a view of the file."""

    items: list[MetadataItem]
    infos: list[TensorInfo]
    data: dict[str, NDArray[np.generic]]


def read(path: Path) -> GgufFile:
    """Read a file of the known types; the data is mapped, not loaded. Raises ConversionError (``convert.verify``) for other content."""
    try:
        return _Reader(np.memmap(path, np.uint8, "r")).file()
    except (struct.error, ValueError, KeyError, IndexError, OSError) as error:
        raise ConversionError(
            "convert.verify", f"{path} cannot be read as a GGUF file of this family ({shortened(error, 400)})."
        ) from error


class _Reader:
    def __init__(self, mapped: NDArray[np.uint8]) -> None:
        self._mapped = mapped
        self._position = 0

    def file(self) -> GgufFile:
        magic, version, tensor_count, item_count = self._unpack("<4sIQQ")
        if magic != MAGIC or version != VERSION:
            raise ValueError(f"magic {magic!r}, version {version}")
        items = [self._item() for _ in range(item_count)]
        if other := [item.value for item in items if item.name == "general.alignment" and item.value != ALIGNMENT]:
            raise ValueError(f"its tensors are aligned to {other[0]} bytes, not {ALIGNMENT}")
        entries = [self._info() for _ in range(tensor_count)]
        start = _padded(self._position)
        data = {info.name: self._data(info, start + offset) for info, offset in entries}
        if len(data) != len(entries):
            raise ValueError("a tensor occurs twice")
        return GgufFile(items, [info for info, _ in entries], data)

    def _unpack(self, format: str) -> tuple:
        values = struct.unpack_from(format, self._mapped, self._position)
        self._position += struct.calcsize(format)
        return values

    def _text(self) -> str:
        (length,) = self._unpack("<Q")
        return self._unpack(f"<{length}s")[0].decode("utf-8")

    def _item(self) -> MetadataItem:
        name, (kind,) = self._text(), self._unpack("<I")
        if kind != _ARRAY:
            return MetadataItem(name, ValueType(kind), self._scalar(ValueType(kind)))
        kind, length = self._unpack("<IQ")
        return MetadataItem(name, ValueType(kind), tuple(self._scalar(ValueType(kind)) for _ in range(length)))

    def _scalar(self, kind: ValueType) -> Value:
        return self._text() if kind is ValueType.STRING else self._unpack(_FORMATS[kind])[0]

    def _info(self) -> tuple[TensorInfo, int]:
        name, (rank,) = self._text(), self._unpack("<I")
        *extents, kind, offset = self._unpack(f"<{rank}QIQ")
        if not extents or min(extents) < 1 or extents[0] % TensorType(kind).block[0]:
            raise ValueError(f"tensor {name} of type {TensorType(kind).name} has extents {extents}")
        return TensorInfo(name, tuple(extents), TensorType(kind)), offset

    def _data(self, info: TensorInfo, start: int) -> NDArray[np.generic]:
        section = self._mapped[start : start + info.nbytes]
        return section.view(info.type.dtype).reshape(info.stored_shape)
