"""From hyper-parameters to the exact content of a file: its metadata values and its tensors, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from depth_anything_ros.convert.gguf_keys import (
    GENERAL_ARCHITECTURE,
    GENERAL_ARCHITECTURE_VALUE,
    KEYS,
    PREFIX,
    TENSORS,
    Dim,
    Part,
    TensorRule,
    ValueType,
)
from depth_anything_ros.convert.hyper_parameters import ARCH_V2, HyperParameters
from depth_anything_ros.convert.naming import Naming, renamed

Value = str | bool | int | float | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True)
class MetadataItem:
    """One metadata key of a file; a tuple is an array of `type`."""

    name: str
    type: ValueType
    value: Value


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a file: official key, GGUF name, extents in ggml order (fastest first), and whether it may be narrower than float32."""

    official: str
    name: str
    extents: tuple[int, ...]
    narrow: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """PyTorch and NumPy shape."""
        return self.extents[::-1]


def metadata(parameters: HyperParameters) -> list[MetadataItem]:
    """Every metadata key of the file, in order."""
    items = [MetadataItem(GENERAL_ARCHITECTURE, ValueType.STRING, GENERAL_ARCHITECTURE_VALUE)]
    for key in KEYS:
        value = getattr(parameters, key.field)
        if value is not None and key.name not in parameters.naming.left_out:
            items.append(MetadataItem(PREFIX + renamed(key.name, parameters.naming.file), key.type, value))
    return items


def tensors(parameters: HyperParameters) -> Iterator[TensorSpec]:
    """Every tensor of the network, in the order of the file."""
    extents = _extents(parameters)
    for per_block, rules_of_run in groupby(TENSORS, key=lambda rule: rule.per_block):
        rules = list(rules_of_run)
        for block in range(parameters.depth if per_block else 1):
            for rule in rules:
                if _belongs(rule.part, parameters, block):
                    yield _spec(rule, block, extents, parameters.naming)


def _spec(rule: TensorRule, block: int, extents: dict[Dim, int], naming: Naming) -> TensorSpec:
    return TensorSpec(
        official=renamed(rule.official, naming.official).replace("{i}", str(block)),
        name=renamed(rule.name, naming.file).replace("{i}", str(block)),
        extents=tuple(dim if isinstance(dim, int) else extents[dim] for dim in rule.extents),
        narrow=rule.narrow,
    )


def _belongs(part: Part, parameters: HyperParameters, block: int) -> bool:
    return {
        Part.ALWAYS: True,
        Part.BLOCK: True,
        Part.QKNORM_BLOCK: 0 <= parameters.qknorm_start <= block,
        Part.MLP_BLOCK: parameters.ffn_type == "mlp",
        Part.SWIGLU_BLOCK: parameters.ffn_type == "swiglu",
        Part.CAMERA_TOKEN: parameters.alt_start >= 0,
        Part.HEAD_NORM: parameters.head_norm_type != "idt",
        Part.SKY: parameters.head_sky_activation is not None,
        Part.UNUSED_LATERAL: parameters.arch == ARCH_V2,
        Part.RAYS: parameters.head_has_rays is not None,
        Part.CAMERA: parameters.cam_dim_in is not None,
        Part.POSE_ENCODER: parameters.pose_encoder,
        Part.GAUSSIANS: parameters.gs_output_dim is not None,
    }[part]


def _extents(parameters: HyperParameters) -> dict[Dim, int]:
    out0, out1, out2, out3 = parameters.head_out_channels
    return {
        Dim.PATCH: parameters.patch_size,
        Dim.EMBED: parameters.embed_dim,
        Dim.HALF_EMBED: parameters.embed_dim // 2,
        Dim.QUADRUPLE_EMBED: 4 * parameters.embed_dim,
        Dim.QKV: 3 * parameters.embed_dim,
        Dim.TOKENS: 1 + parameters.pos_embed_grid**2,
        Dim.HEAD_DIM: parameters.head_dim,
        Dim.MLP_HIDDEN: parameters.mlp_hidden,
        Dim.GATED_HIDDEN: 2 * parameters.mlp_hidden,
        Dim.HEAD_IN: parameters.head_in,
        Dim.OUT0: out0,
        Dim.OUT1: out1,
        Dim.OUT2: out2,
        Dim.OUT3: out3,
        Dim.FEATURES: parameters.head_features,
        Dim.HALF_FEATURES: parameters.head_features // 2,
        Dim.QUARTER_FEATURES: parameters.head_features // 4,
        Dim.EIGHTH_FEATURES: parameters.head_features // 8,
        Dim.OUTPUT_DIM: parameters.head_output_dim,
    }
