"""Reading PyTorch checkpoints (.pth) of unknown origin without PyTorch and without unpickling; the data is mapped."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.convert.safetensors_file import ITEM_BYTES, as_float32, shortened
from depth_anything_ros.convert.state_dict_pickle import StoredTensor, read_state_dict
from depth_anything_ros.errors import ConversionError
from depth_anything_ros.types import Float32Array

MAX_PICKLE_BYTES = 64 * 1024 * 1024
_LOCAL_HEADER_BYTES = 30
_LOCAL_NAME_LENGTH = slice(26, 28)
_LOCAL_EXTRA_LENGTH = slice(28, 30)
_FROM_HOSTILE_FILES = (
    OSError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    AttributeError,
    EOFError,
)
"""What a hostile pickle or zip makes of the readers: indices, types and numbers that do not fit."""


class TorchFile:
    """The tensors of one file by name. Raises ConversionError (``convert.checkpoint``) for anything but a plain dictionary of tensors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._mapped = np.memmap(path, np.uint8, "r")
            with zipfile.ZipFile(path) as archive:
                self._entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
                self._check(archive)
                if "byteorder" in self._entries and archive.read(self._entries["byteorder"]) != b"little":
                    raise ValueError("its numbers are not little-endian")
                self._tensors = read_state_dict(archive.read(self._entries["data.pkl"]))
        except zipfile.BadZipFile as error:
            self._refuse(f"is no checkpoint in the zip format of PyTorch 1.6 and later ({error})")
        except _FROM_HOSTILE_FILES as error:
            self._refuse(f"cannot be read: {str(error) or type(error).__name__}")
        for name, tensor in self._tensors.items():
            self._section(name, tensor)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name to shape of every tensor."""
        return {name: tensor.shape for name, tensor in self._tensors.items()}

    def array(self, name: str) -> Float32Array:
        """float32 values of a tensor: a view of the file where it holds float32. Raises ConversionError when a value is not finite."""
        tensor = self._tensors[name]
        values = as_float32(self._section(name, tensor), tensor.dtype).reshape(tensor.shape)
        if not np.isfinite(values).all():
            self._refuse(f"has values that are not finite in tensor {name}")
        return values

    def _check(self, archive: zipfile.ZipFile) -> None:
        entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
        if len(self._entries) != len(entries):
            raise ValueError("an entry occurs twice")
        if "data.pkl" not in self._entries or self._entries["data.pkl"].file_size > MAX_PICKLE_BYTES:
            raise ValueError("it has no data.pkl, or a huge one")
        for entry, end in zip(entries, [*(entry.header_offset for entry in entries[1:]), archive.start_dir]):
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise ValueError(f"its entry {entry.filename} is compressed")
            if self._start(entry) + entry.file_size > end:
                raise ValueError(f"its entry {entry.filename} reaches into what comes after it")

    def _section(self, name: str, tensor: StoredTensor) -> NDArray[np.uint8]:
        """Bytes of a tensor."""
        item = ITEM_BYTES[tensor.dtype]
        begin, end = tensor.offset * item, (tensor.offset + math.prod(tensor.shape)) * item
        entry = self._entries.get(f"data/{tensor.storage}")
        if entry is None or end > entry.file_size:
            self._refuse(f"has no bytes {begin} to {end} of the storage {tensor.storage} for tensor {name}")
        start = self._start(entry)
        return self._mapped[start + begin : start + end]

    def _start(self, entry: zipfile.ZipInfo) -> int:
        """Offset of an entry's bytes in the file."""
        header = bytes(self._mapped[entry.header_offset : entry.header_offset + _LOCAL_HEADER_BYTES])
        lengths = [int.from_bytes(header[part], "little") for part in (_LOCAL_NAME_LENGTH, _LOCAL_EXTRA_LENGTH)]
        return entry.header_offset + _LOCAL_HEADER_BYTES + sum(lengths)

    def _refuse(self, what: str) -> NoReturn:
        raise ConversionError("convert.checkpoint", f"{self._path} {shortened(what, 400)}; get the checkpoint again.")
