"""Reading safetensors files of unknown origin: the header is checked completely before any offset is used, the data is mapped."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import ConversionError
from depth_anything_ros.types import Float32Array

MAX_HEADER_BYTES = 64 * 1024 * 1024
MAX_RANK = 8
ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2}


@dataclass(frozen=True)
class _Entry:
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class SafetensorsFile:
    """The tensors of one file by name. Raises ConversionError (``convert.checkpoint``) when anything in the header is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._mapped = np.memmap(path, np.uint8, "r")
        except (OSError, ValueError) as error:
            self._refuse(f"cannot be read ({error})")
        if self._mapped.size < 8:
            self._refuse("is shorter than 8 bytes")
        header_bytes = int.from_bytes(bytes(self._mapped[:8]), "little")
        if not 2 <= header_bytes <= min(MAX_HEADER_BYTES, self._mapped.size - 8):
            self._refuse(f"is no safetensors file, or a cut one: its header would have {header_bytes} bytes of its {self._mapped.size}")
        self._data = self._mapped[8 + header_bytes :]
        header = self._parsed(bytes(self._mapped[8 : 8 + header_bytes]))
        self._entries = {name: self._entry(name, value) for name, value in header.items() if name != "__metadata__"}
        self._check_layout()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name to shape of every tensor."""
        return {name: entry.shape for name, entry in self._entries.items()}

    def array(self, name: str) -> Float32Array:
        """float32 values of a tensor: a view of the file where it holds float32. Raises ConversionError when a value is not finite."""
        entry = self._entries[name]
        section = self._data[entry.begin : entry.end]
        values = as_float32(section, entry.dtype).reshape(entry.shape)
        if not np.isfinite(values).all():
            self._refuse(f"has values that are not finite in tensor {name}")
        return values

    def _refuse(self, what: str) -> NoReturn:
        raise ConversionError("convert.checkpoint", f"{self._path} {shortened(what, 400)}; get the checkpoint again.")

    def _parsed(self, text: bytes) -> dict[str, Any]:
        try:
            header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError) as error:
            self._refuse(f"has a header that cannot be read ({error})")
        if not isinstance(header, dict):
            self._refuse("has a header that is not a JSON object")
        return header

    def _entry(self, name: str, value: Any) -> _Entry:
        if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
            self._refuse(f"describes tensor {name} by something else than dtype, shape and data_offsets")
        dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
        if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
            self._refuse(f"has tensor {name} of type {dtype!r}; known: {', '.join(ITEM_BYTES)}")
        if not _is_naturals(shape) or len(shape) > MAX_RANK:
            self._refuse(f"has tensor {name} of shape {shortened(shape)}")
        if not _is_naturals(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= self._data.size:
            self._refuse(f"has tensor {name} at bytes {shortened(offsets)} of {self._data.size}")
        count = ITEM_BYTES[dtype]
        for extent in shape:
            count *= extent
        if count != offsets[1] - offsets[0]:
            self._refuse(f"has tensor {name} of type {dtype} and shape {shortened(shape)} in {offsets[1] - offsets[0]} bytes")
        return _Entry(dtype, tuple(shape), offsets[0], offsets[1])

    def _check_layout(self) -> None:
        """Tensors must follow each other without gap or overlap and fill the file, as the format demands."""
        end = 0
        for name, entry in sorted(self._entries.items(), key=lambda item: (item[1].begin, item[1].end)):
            if entry.begin != end:
                self._refuse(f"has tensor {name} at byte {entry.begin} where {end} was due (gap or overlap)")
            end = entry.end
        if end != self._data.size:
            self._refuse(f"has {self._data.size - end} bytes after its last tensor")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _is_naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def shortened(value: object, longest: int = 80) -> str:
    """The text of a value of unknown origin, short enough for a message."""
    text = str(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def as_float32(section: NDArray[np.uint8], dtype: str) -> Float32Array:
    if dtype == "BF16":  # the upper half of a float32
        return (section.view("<u2").astype(np.uint32) << 16).view(np.float32)
    return section.view({"F32": "<f4", "F16": "<f2"}[dtype]).astype(np.float32, copy=False)
