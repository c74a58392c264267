"""What must hold for any bytes given to a reader of the converter: it ends in a result or in one ConversionError. `fuzz.py` runs these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.safetensors_file import SafetensorsFile
from depth_anything_ros.convert.torch_file import TorchFile
from depth_anything_ros.errors import ConversionError

SEEDS = {
    "gguf": Path("test/fuzz/seeds/gguf"),
    "safetensors": Path("test/fuzz/seeds/safetensors"),
    "safetensors_header": Path("test/fuzz/seeds/safetensors"),
    "torch": Path("test/fuzz/seeds/torch"),
}
"""Folder of the seeds of each target, from the repository root."""


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    """The bytes as a file without a name."""
    descriptor = os.memfd_create("fuzz")
    try:
        os.write(descriptor, data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def read_gguf(path: Path) -> None:
    model = gguf_file.read(path)
    for info in model.infos:
        values = model.data[info.name]
        assert values.nbytes == info.nbytes, info
        values.sum()


def read_safetensors(path: Path) -> None:
    _read_arrays(SafetensorsFile(path), path)


def read_safetensors_header(path: Path) -> None:
    """The same with the length that the header has, so that what comes after it is reached too."""
    data = path.read_bytes()[8:]
    after = data[data.rfind(b"}") + 1 :]
    length = len(data) - len(after.lstrip(b" "))  # headers are padded with spaces
    with _file(length.to_bytes(8, "little") + data) as corrected:
        read_safetensors(corrected)


def read_torch(path: Path) -> None:
    _read_arrays(TorchFile(path), path)


def _read_arrays(source: SafetensorsFile | TorchFile, path: Path) -> None:
    for name, shape in source.shapes().items():
        values = source.array(name)
        # float32 of two stored bytes at least
        assert values.shape == shape and values.nbytes <= 2 * path.stat().st_size, name
        values.sum()


TARGETS: dict[str, Callable[[Path], None]] = {
    "gguf": read_gguf,
    "safetensors": read_safetensors,
    "safetensors_header": read_safetensors_header,
    "torch": read_torch,
}


def run(name: str, data: bytes) -> bool:
    """Give the bytes to a target: True for a result, False for a ConversionError of reasonable length. Anything else is a finding."""
    with _file(data) as path:
        try:
            TARGETS[name](path)
        except ConversionError as error:
            assert len(str(error)) < 2000, "the message repeats the file"
            return False
    return True
