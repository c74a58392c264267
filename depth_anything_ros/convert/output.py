"""Writing a model file so that it is either complete and proven, or not there."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType
from depth_anything_ros.convert.layout import MetadataItem, TensorSpec
from depth_anything_ros.errors import ConversionError
from depth_anything_ros.types import Float32Array


def write_model(
    path: Path,
    items: list[MetadataItem],
    specs: list[TensorSpec],
    arrays: Iterable[Float32Array],
    narrow_type: TensorType = TensorType.F32,
) -> None:
    """Write a network with `write_file`.

    arrays: float32 data of each of `specs` in turn; one is held at a time. narrow_type: storage of the tensors that may be narrower,
    F32 or F16.
    """
    infos = [TensorInfo(spec.name, spec.extents, narrow_type if spec.narrow else TensorType.F32) for spec in specs]
    stored = (np.ascontiguousarray(array, info.type.dtype) for info, array in zip(infos, arrays))
    write_file(path, items, infos, stored)


def write_file(path: Path, items: list[MetadataItem], infos: list[TensorInfo], arrays: Iterable[np.ndarray]) -> None:
    """Write `path` through a temporary file beside it; on any error nothing is left.

    arrays: the stored data of each of `infos` in turn (see `gguf_file.write`).
    Raises ConversionError (``convert.verify``) when the file cannot be written, or what was read back is not what was written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    checksums: list[int] = []
    try:
        with partial.open("xb") as stream:
            gguf_file.write(stream, items, infos, _summed(arrays, checksums))
            stream.flush()
            os.fsync(stream.fileno())
        _verify(partial, items, infos, checksums)
        partial.replace(path)
    except OSError as error:
        raise ConversionError("convert.verify", f"{path} cannot be written ({error}).") from error
    finally:
        partial.unlink(missing_ok=True)


def _summed(arrays: Iterable[np.ndarray], checksums: list[int]) -> Iterator[np.ndarray]:
    """Each array; the checksum of its bytes goes to `checksums`."""
    for array in arrays:
        contiguous = np.ascontiguousarray(array)
        checksums.append(zlib.crc32(contiguous.data.cast("B")))
        yield contiguous


def _verify(path: Path, items: list[MetadataItem], infos: list[TensorInfo], checksums: list[int]) -> None:
    written = gguf_file.read(path)
    if gguf_file.header(written.items, written.infos) != gguf_file.header(items, infos) or len(checksums) != len(infos):
        raise ConversionError("convert.verify", f"{path}: the header was read back differently; check the disk and convert again.")
    for info, checksum in zip(infos, checksums):
        if zlib.crc32(written.data[info.name].data.cast("B")) != checksum:
            raise ConversionError(
                "convert.verify", f"{path}: tensor {info.name} was read back differently; check the disk and convert again."
            )
