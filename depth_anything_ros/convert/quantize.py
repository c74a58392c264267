"""A model file to a smaller one, by the rules of the published files: only the 2-D weights of blocks and camera decoder get narrower."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import GgufFile, TensorInfo, TensorType
from depth_anything_ros.convert.gguf_keys import TENSORS
from depth_anything_ros.convert.output import Content, check_output, write_files
from depth_anything_ros.convert.refinement import Moments, bias_of, input_moments
from depth_anything_ros.errors import ConversionError, OptionError
from depth_anything_ros.progress import Progress
from depth_anything_ros.types import Float32Array

TYPES = {
    "f16": TensorType.F16,
    "q8_0": TensorType.Q8_0,
    "q6_k": TensorType.Q6_K,
    "q5_k": TensorType.Q5_K,
    "q4_k": TensorType.Q4_K,
}
_K_BLOCK, _BLOCK = 256, 32
_LARGEST = 65504.0
"""Of f16, in which the scales of the quantised types are stored too: what overflows it would turn into infinities."""
_NARROW = re.compile("(m_)?(" + "|".join(re.escape(rule.name).replace(r"\{i\}", r"\d+") for rule in TENSORS if rule.narrow) + ")")
"""Also in the metric half of a nested pair (``m_vit``), which was published as f32 only."""


def quantize(source: Path, output: Path, type_name: str, refine: bool = False, progress: Progress | None = None) -> list[TensorInfo]:
    """Write `output` from the f32 (or f16) file `source` and return its tensors. Metadata and all other tensors are copied as they are.

    type_name: one of `TYPES`. refine: choose scales by what the inputs of each matrix are like, and correct the biases behind them
    (`refinement`); the file is as large and as fast. progress: counts the tensors. The file is read back and compared, and appears only
    then.
    Raises OptionError (unknown type; `output` is `source`), ConversionError (`source` is no such file, is quantised already or has
    nothing to quantise, values that the type cannot hold, disk); then nothing is written.
    """
    if type_name not in TYPES:
        raise OptionError("option.unknown", f"There is no storage type {type_name!r}; known: {', '.join(TYPES)}.")
    check_output(output, source)
    model = gguf_file.read(source)
    infos = [TensorInfo(info.name, info.extents, _target(source, info, TYPES[type_name])) for info in model.infos]
    if infos == model.infos:
        raise ConversionError("convert.checkpoint", f"{source} has no weights that could be {type_name}.")
    write_files([Content(output, model.items, infos, _arrays(source, model, infos, refine))], progress)
    return infos


def stored_type(row: int, wanted: TensorType) -> TensorType:
    """Type of a weight whose rows have so many values: blocks must fill them, else the next wider type is taken."""
    if row % _K_BLOCK == 0:
        return wanted
    if row % _BLOCK:
        return TensorType.F32
    return wanted if wanted in (TensorType.F16, TensorType.Q8_0) else TensorType.Q8_0


def _target(source: Path, info: TensorInfo, wanted: TensorType) -> TensorType:
    if info.type not in (TensorType.F32, TensorType.F16):
        raise ConversionError("convert.checkpoint", f"{source} is quantised already (tensor {info.name}); start from the f32 file.")
    return stored_type(info.extents[0], wanted) if _NARROW.fullmatch(info.name) else info.type


def _arrays(source: Path, model: GgufFile, infos: list[TensorInfo], refine: bool) -> Iterator[np.ndarray]:
    corrections: dict[str, Float32Array] = {}
    for before, after in zip(model.infos, infos):
        data = model.data[before.name]
        if before.type is after.type:  # a bias follows its matrix
            yield data - corrections.pop(before.name) if before.name in corrections else data
            continue
        values = data.astype(np.float32)
        moments = input_moments(model.data, before.name) if refine else None
        encoded = _encoded(source, values, after, moments)
        if moments:
            corrections[bias_of(before.name)] = (_decoded(encoded, after) - values) @ moments.mean
        yield encoded


def _encoded(source: Path, values: Float32Array, info: TensorInfo, moments: Moments | None) -> np.ndarray:
    largest = float(np.abs(values).max())
    if not largest <= _LARGEST:
        raise ConversionError(
            "convert.checkpoint", f"{source}: tensor {info.name} has values up to {largest:g}, which {info.type.name} cannot hold."
        )
    if info.type in (TensorType.F32, TensorType.F16):
        return values.astype(info.type.dtype)
    import depth_anything_ros._native as _native

    return _native.quantize_rows(values, info.type.name.lower(), moments.importance if moments else None)


def _decoded(encoded: np.ndarray, info: TensorInfo) -> Float32Array:
    if info.type in (TensorType.F32, TensorType.F16):
        return encoded.astype(np.float32)
    import depth_anything_ros._native as _native

    return _native.dequantize_rows(encoded, info.type.name.lower())
