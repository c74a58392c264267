"""Which network a checkpoint is: by the config.json beside it, by a given name, or by the shapes of its tensors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from depth_anything_ros.convert.hyper_parameters import ARCHITECTURES, HyperParameters, Identity, Size
from depth_anything_ros.convert.layout import tensors
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS, OFFICIAL_PAIRS
from depth_anything_ros.errors import ConversionError, OptionError
from depth_anything_ros.models.checkpoint_facts import UNKNOWN_LICENSE
from depth_anything_ros.types import DepthKind

Shapes = dict[str, tuple[int, ...]]
_SIZE_FIELDS = {field.name for field in dataclasses.fields(Size)}
_REQUIRED = {"architecture", "checkpoint_name"} | {field.name for field in dataclasses.fields(Size) if field.default is dataclasses.MISSING}
_OPTIONAL = {"depth_kind", "license"} | (_SIZE_FIELDS - _REQUIRED)


_RANGES = {
    "embed_dim": (16, 8192),
    "depth": (1, 256),
    "num_heads": (1, 256),
    "alt_start": (-1, 256),
    "mlp_hidden": (8, 65536),
    "head_features": (8, 4096),
    "resize_target": (14, 4096),
    "pos_embed_grid": (1, 1024),
}
"""What the engine takes."""

Networks = tuple[HyperParameters, ...]
"""Of one checkpoint: one, or the two of a nested one."""
_NAMES = {name: (name,) for name in OFFICIAL_MODELS} | OFFICIAL_PAIRS


def named(name: str) -> Networks:
    """The official model of that name. Raises OptionError (``option.unknown``)."""
    if name not in _NAMES:
        raise OptionError("option.unknown", f"There is no official model {name!r}; known: {', '.join(_NAMES)}.")
    return tuple(OFFICIAL_MODELS[part] for part in _NAMES[name])


def from_shapes(path: Path, shapes: Shapes) -> Networks:
    """The one official model that has these tensors. Raises ConversionError (``convert.checkpoint``) for none or several."""
    fitting = [name for name, model in OFFICIAL_MODELS.items() if all(shapes.get(spec.official) == spec.shape for spec in tensors(model))]
    if tuple(fitting) in _NAMES.values():
        return tuple(OFFICIAL_MODELS[name] for name in fitting)
    found = f"could be {' or '.join(fitting)}" if fitting else "has the tensors of no known model"
    raise ConversionError("convert.checkpoint", f"{path} {found} and has no config.json beside it; name the model (--model).")


def from_config(path: Path) -> Networks:
    """The model that a config.json describes: by `model_name` (official), or by `hyper_parameters` (any other size; docs/models.md).

    Raises ConversionError (``convert.checkpoint``) for content that is neither.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise ConversionError("convert.checkpoint", f"{path} cannot be read ({error}).") from error
    if not isinstance(config, dict):
        raise ConversionError("convert.checkpoint", f"{path} is not a JSON object.")
    if "hyper_parameters" in config:
        return (_Custom(path, config["hyper_parameters"]).parameters(),)
    name = config.get("model_name")
    if not isinstance(name, str) or name not in _NAMES:
        raise ConversionError(
            "convert.checkpoint", f"{path} has model_name {name!r} and no hyper_parameters; name the model (--model): {', '.join(_NAMES)}."
        )
    return named(name)


class _Custom:
    """The `hyper_parameters` object of a config.json, checked."""

    def __init__(self, path: Path, given: Any) -> None:
        self._path = path
        self._given = given

    def parameters(self) -> HyperParameters:
        given = self._given
        if not isinstance(given, dict) or not _REQUIRED <= set(given) <= _REQUIRED | _OPTIONAL:
            self._refuse(f"must have {', '.join(sorted(_REQUIRED))} and may have {', '.join(sorted(_OPTIONAL))}")
        self._require(given["architecture"] in list(ARCHITECTURES), "architecture", f"must be one of {', '.join(ARCHITECTURES)}")
        kind = given.get("depth_kind", DepthKind.RELATIVE_DEPTH.value)
        self._require(kind in [known.value for known in DepthKind], "depth_kind", f"must be one of {', '.join(k.value for k in DepthKind)}")
        for name in ("checkpoint_name", "license"):
            self._require(isinstance(given.get(name, ""), str), name, "must be a text")
        official = {model.checkpoint_name for model in OFFICIAL_MODELS.values()}
        self._require(given["checkpoint_name"] not in official, "checkpoint_name", "is that of an official model")
        identity = Identity(given["checkpoint_name"], kind, given.get("license", UNKNOWN_LICENSE))
        return ARCHITECTURES[given["architecture"]](self._size(), identity)

    def _size(self) -> Size:
        ffn_type = self._given.get("ffn_type", "mlp")
        self._require(ffn_type in ("mlp", "swiglu"), "ffn_type", "must be mlp or swiglu")
        values = {name: self._number_or_list(name) for name in self._given if name in _SIZE_FIELDS and name != "ffn_type"}
        size = Size(**values, ffn_type=ffn_type)
        heads, features = size.num_heads, size.head_features
        width = size.embed_dim // heads
        self._require(
            size.embed_dim % heads == 0 and width % 16 == 0 and width <= 512, "embed_dim", "must be num_heads times 16, 32, ... 512"
        )
        self._require(features % 8 == 0, "head_features", "must be a multiple of 8")
        self._require(all(width % 4 == 0 < width for width in size.head_out_channels), "head_out_channels", "must be multiples of 4")
        ascending = tuple(sorted(set(size.out_layers))) == size.out_layers and size.out_layers[-1] < size.depth
        self._require(ascending, "out_layers", f"must ascend and stay below the depth of {size.depth}")
        any_view = self._given["architecture"] == "any_view"
        self._require(
            (1 <= size.alt_start < size.depth) if any_view else size.alt_start == -1, "alt_start", "does not fit the architecture"
        )
        return size

    def _number_or_list(self, name: str) -> int | tuple[int, ...]:
        value = self._given[name]
        if name in ("out_layers", "head_out_channels"):
            is_four = isinstance(value, list) and len(value) == 4 and all(type(item) is int and 0 <= item <= 16384 for item in value)
            self._require(is_four, name, "must be four whole numbers")
            return tuple(value)
        low, high = _RANGES[name]
        self._require(type(value) is int and low <= value <= high, name, f"must be a whole number from {low} to {high}")
        return int(value)

    def _require(self, good: bool, name: str, rule: str) -> None:
        if not good:
            self._refuse(f"has {name} {self._given.get(name)!r}, which {rule}")

    def _refuse(self, what: str) -> None:
        raise ConversionError("convert.checkpoint", f"{self._path}: hyper_parameters {what}.")
