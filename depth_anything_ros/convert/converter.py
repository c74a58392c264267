"""Official checkpoint (model.safetensors and config.json, or a V2 .pth) to GGUF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from depth_anything_ros.convert.gguf_file import TensorType
from depth_anything_ros.convert.gguf_keys import IGNORED_OFFICIAL
from depth_anything_ros.convert.hyper_parameters import HyperParameters, with_pose_encoder, with_rays
from depth_anything_ros.convert.layout import TensorSpec, metadata, tensors
from depth_anything_ros.convert.model_config import Shapes, from_config, from_shapes, named
from depth_anything_ros.convert.naming import renamed
from depth_anything_ros.convert.output import check_output, model_content, write_files
from depth_anything_ros.convert.safetensors_file import SafetensorsFile
from depth_anything_ros.convert.torch_file import TorchFile
from depth_anything_ros.errors import ConversionError, OptionError
from depth_anything_ros.progress import Progress
from depth_anything_ros.types import Float32Array

TYPES = {"f32": TensorType.F32, "f16": TensorType.F16}
_LISTED = 20
_Source = SafetensorsFile | TorchFile


def convert(
    checkpoint: Path,
    output: Path,
    type_name: str = "f32",
    model: str | None = None,
    rays: bool = False,
    pose_encoder: bool = False,
    progress: Progress | None = None,
) -> dict[Path, HyperParameters]:
    """Write `output` from a checkpoint and return what was written.

    checkpoint: a folder with model.safetensors and config.json, a bare .safetensors file, or a .pth file of Depth Anything V2.
    output: a nested checkpoint becomes two files, ``NAME-anyview.gguf`` and ``NAME-metric.gguf`` for an output of ``NAME.gguf``.
    type_name: storage of the 2-D weights (``f32``, ``f16``); everything else is float32 in every file. model: name of the official model;
    None takes it from config.json, else from the shapes of the tensors. rays, pose_encoder: keep these parts of any-view networks,
    which published files lack. progress: counts the tensors.
    The checkpoint is mapped and streamed. Raises ConversionError, OptionError; then nothing is written.
    """
    if type_name not in TYPES:
        raise OptionError("option.unknown", f"There is no storage type {type_name!r}; known: {', '.join(TYPES)}.")
    weights = checkpoint / "model.safetensors" if checkpoint.is_dir() else checkpoint
    if not weights.exists():
        raise ConversionError(
            "convert.checkpoint",
            f"There is no checkpoint {weights}; give a folder with model.safetensors and config.json, or a .safetensors or .pth file.",
        )
    source = TorchFile(weights) if weights.suffix.lower() in (".pth", ".pt") else SafetensorsFile(weights)
    models = _identified(weights, source.shapes(), model)
    for wanted, extend, option in ((rays, with_rays, "--with-aux"), (pose_encoder, with_pose_encoder, "--with-pose-encoder")):
        if wanted:
            models = _extended(weights, models, extend, option)
    specs = [list(tensors(one)) for one in models]
    _check(weights, source.shapes(), [spec for one in specs for spec in one], models)
    paths = [output] if len(models) == 1 else [output.with_name(f"{output.stem}-{half}{output.suffix}") for half in ("anyview", "metric")]
    for path in paths:
        check_output(path, weights)
    narrow = TYPES[type_name]
    contents = [
        model_content(path, metadata(one), its, _arrays(source, its, narrow, weights), narrow)
        for path, one, its in zip(paths, models, specs)
    ]
    write_files(contents, progress)
    return dict(zip(paths, models))


def _identified(weights: Path, shapes: Shapes, model: str | None) -> tuple[HyperParameters, ...]:
    config = weights.with_name("config.json")
    if model is not None:
        return named(model)
    return from_config(config) if config.exists() else from_shapes(weights, shapes)


def _extended(
    weights: Path, models: tuple[HyperParameters, ...], extend: Callable[[HyperParameters], HyperParameters], option: str
) -> tuple[HyperParameters, ...]:
    extended = tuple(extend(one) if one.cam_dim_in else one for one in models)
    if extended == models:
        raise OptionError("option.range", f"{weights}: only any-view models have what {option} keeps; leave it out.")
    return extended


def _check(weights: Path, shapes: Shapes, specs: list[TensorSpec], models: tuple[HyperParameters, ...]) -> None:
    """Raises ConversionError (``convert.names``) that lists everything that is missing, of another shape, or not known."""
    expected = {spec.official: spec.shape for spec in specs}
    ignored = tuple(renamed(prefix, model.naming.official) for model in models for prefix in IGNORED_OFFICIAL)
    complaints = [f"{name} is missing" for name in expected if name not in shapes]
    complaints += [
        f"{name} has shape {list(shapes[name])}, not {list(shape)}" for name, shape in expected.items() if shapes.get(name, shape) != shape
    ]
    complaints += [f"{name} is not known" for name in shapes if name not in expected and not name.startswith(ignored)]
    if complaints:
        more = f"; and {len(complaints) - _LISTED} more" if len(complaints) > _LISTED else ""
        raise ConversionError("convert.names", f"{weights} does not fit its model: {'; '.join(complaints[:_LISTED])}{more}.")


def _arrays(source: _Source, specs: list[TensorSpec], narrow_type: TensorType, weights: Path) -> Iterator[Float32Array]:
    for spec in specs:
        array = source.array(spec.official)
        if spec.narrow and narrow_type is TensorType.F16 and abs(array).max() > 65504.0:
            raise ConversionError("convert.checkpoint", f"{weights}: {spec.official} has values that f16 cannot hold; use f32.")
        yield array
