"""Writing model files so that they are either complete and proven, or not there."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType
from depth_anything_ros.convert.layout import MetadataItem, TensorSpec
from depth_anything_ros.errors import ConversionError, OptionError
from depth_anything_ros.files import replacing
from depth_anything_ros.progress import Progress
from depth_anything_ros.types import Float32Array


@dataclass(frozen=True)
class Content:
    """One file to be written."""

    path: Path
    items: list[MetadataItem]
    infos: list[TensorInfo]
    arrays: Iterable[np.ndarray]
    """Stored data of each of `infos` in turn (see `gguf_file.write`)."""


def model_content(
    path: Path,
    items: list[MetadataItem],
    specs: list[TensorSpec],
    arrays: Iterable[Float32Array],
    narrow_type: TensorType = TensorType.F32,
) -> Content:
    """Of a network.

    arrays: float32 data of each of `specs` in turn; one is held at a time. narrow_type: storage of the tensors that may be narrower,
    F32 or F16.
    """
    infos = [TensorInfo(spec.name, spec.extents, narrow_type if spec.narrow else TensorType.F32) for spec in specs]
    return Content(path, items, infos, (np.ascontiguousarray(array, info.type.dtype) for info, array in zip(infos, arrays)))


def write_files(contents: Sequence[Content], progress: Progress | None = None) -> None:
    """All of them, through temporary files beside them; on any error none appears, and what was there before stays.

    progress: counts the tensors.
    Raises ConversionError (``convert.verify``) when a file cannot be written, or what was read back is not what was written.
    """
    progress = progress or Progress(None)
    progress.begin(sum(len(content.infos) for content in contents), 0)
    try:
        with ExitStack() as stack:
            for content in contents:
                _write(stack.enter_context(replacing(content.path)), content, progress)
    except OSError as error:
        names = " and ".join(str(content.path) for content in contents)
        raise ConversionError("convert.verify", f"{names} cannot be written ({error}).") from error
    finally:
        progress.end()


def write_model(path: Path, items: list[MetadataItem], specs: list[TensorSpec], arrays: Iterable[Float32Array]) -> None:
    """One network as float32. Raises what `write_files` raises."""
    write_files([model_content(path, items, specs, arrays)])


def check_output(output: Path, source: Path) -> None:
    """Raises OptionError ``option.range`` where the result would replace what it is made of."""
    if os.path.realpath(output) == os.path.realpath(source):
        raise OptionError("option.range", f"{output} is what is read; write to another file.")


def _write(partial: Path, content: Content, progress: Progress) -> None:
    checksums: list[int] = []
    with partial.open("xb") as stream:
        gguf_file.write(stream, content.items, content.infos, _summed(content.arrays, checksums, progress))
        stream.flush()
        os.fsync(stream.fileno())
    _verify(partial, content, checksums)


def _summed(arrays: Iterable[np.ndarray], checksums: list[int], progress: Progress) -> Iterator[np.ndarray]:
    """Each array; the checksum of its bytes goes to `checksums`."""
    for array in arrays:
        contiguous = np.ascontiguousarray(array)
        checksums.append(zlib.crc32(contiguous.data.cast("B")))
        progress.advance(1)
        yield contiguous


def _verify(partial: Path, content: Content, checksums: list[int]) -> None:
    written = gguf_file.read(partial)
    same = gguf_file.header(written.items, written.infos) == gguf_file.header(content.items, content.infos)
    if not same or len(checksums) != len(content.infos):
        raise ConversionError("convert.verify", f"{content.path}: the header was read back differently; check the disk and convert again.")
    for info, checksum in zip(content.infos, checksums):
        if zlib.crc32(written.data[info.name].data.cast("B")) != checksum:
            raise ConversionError(
                "convert.verify", f"{content.path}: tensor {info.name} was read back differently; check the disk and convert again."
            )
