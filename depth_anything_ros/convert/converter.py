"""Official checkpoint (model.safetensors, config.json) to GGUF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from depth_anything_ros.convert.gguf_file import TensorType
from depth_anything_ros.convert.gguf_keys import IGNORED_OFFICIAL
from depth_anything_ros.convert.hyper_parameters import HyperParameters
from depth_anything_ros.convert.layout import TensorSpec, metadata, tensors
from depth_anything_ros.convert.model_config import Shapes, from_config, from_shapes, named
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.convert.safetensors_file import SafetensorsFile
from depth_anything_ros.errors import ConversionError, OptionError
from depth_anything_ros.types import Float32Array

TYPES = {"f32": TensorType.F32, "f16": TensorType.F16}
_LISTED = 20


def convert(checkpoint: Path, output: Path, type_name: str = "f32", model: str | None = None) -> HyperParameters:
    """Write `output` from a checkpoint: a folder with model.safetensors and config.json, or a bare .safetensors file.

    type_name: storage of the 2-D weights (``f32``, ``f16``); everything else is float32 in every file. model: name of the official model;
    None takes it from config.json, else from the shapes of the tensors.
    The checkpoint is mapped and streamed. Raises ConversionError, OptionError; then nothing is written.
    """
    if type_name not in TYPES:
        raise OptionError("option.unknown", f"There is no storage type {type_name!r}; known: {', '.join(TYPES)}.")
    weights = checkpoint / "model.safetensors" if checkpoint.is_dir() else checkpoint
    source = SafetensorsFile(weights)
    parameters = _identified(weights, source.shapes(), model)
    specs = list(tensors(parameters))
    _check(weights, source.shapes(), specs)
    write_model(output, metadata(parameters), specs, _arrays(source, specs, TYPES[type_name], weights), TYPES[type_name])
    return parameters


def _identified(weights: Path, shapes: Shapes, model: str | None) -> HyperParameters:
    config = weights.with_name("config.json")
    if model is not None:
        return named(model)
    return from_config(config) if config.exists() else from_shapes(weights, shapes)


def _check(weights: Path, shapes: Shapes, specs: list[TensorSpec]) -> None:
    """Raises ConversionError (``convert.names``) that lists everything that is missing, of another shape, or not known."""
    expected = {spec.official: spec.shape for spec in specs}
    complaints = [f"{name} is missing" for name in expected if name not in shapes]
    complaints += [
        f"{name} has shape {list(shapes[name])}, not {list(shape)}" for name, shape in expected.items() if shapes.get(name, shape) != shape
    ]
    complaints += [f"{name} is not known" for name in shapes if name not in expected and not name.startswith(IGNORED_OFFICIAL)]
    if complaints:
        more = f"; and {len(complaints) - _LISTED} more" if len(complaints) > _LISTED else ""
        raise ConversionError("convert.names", f"{weights} does not fit its model: {'; '.join(complaints[:_LISTED])}{more}.")


def _arrays(source: SafetensorsFile, specs: list[TensorSpec], narrow_type: TensorType, weights: Path) -> Iterator[Float32Array]:
    for spec in specs:
        array = source.array(spec.official)
        if spec.narrow and narrow_type is TensorType.F16 and abs(array).max() > 65504.0:
            raise ConversionError("convert.checkpoint", f"{weights}: {spec.official} has values that f16 cannot hold; use f32.")
        yield array
