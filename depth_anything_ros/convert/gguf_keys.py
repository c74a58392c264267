"""The one table of names of a Depth Anything GGUF file: metadata keys and tensors, shared by the converter and the engine.

The layout is that of the files published for the existing C++ port. `python -m depth_anything_ros.convert.cpp_headers` writes the same
names as C++ headers. Names are those of DA3 files; where other files and checkpoints depart from them is in `naming`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

PREFIX = "depthanything3."
GENERAL_ARCHITECTURE = "general.architecture"
GENERAL_ARCHITECTURE_VALUE = "depthanything3"
CAMERA_DIM_IN = 1536
"""`cam.dim_in` of every published file, whatever the width. Readers take the width of `cam.bb0.weight`."""


class ValueType(Enum):
    """Type of a metadata value, with its number in the GGUF format; arrays are given by their element type."""

    U32 = 4
    I32 = 5
    F32 = 6
    BOOL = 7
    STRING = 8


@dataclass(frozen=True)
class Key:
    """One metadata key. `field` names the attribute of `HyperParameters` that it holds; a key whose field is None is not written."""

    field: str
    name: str
    type: ValueType
    array: bool = False

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def constant(self) -> str:
        """Name of the C++ constant: ``kEmbedDim`` for ``embed_dim``."""
        return "k" + "".join(word.capitalize() for word in self.field.split("_"))


_U32, _I32, _F32, _BOOL, _STRING = ValueType.U32, ValueType.I32, ValueType.F32, ValueType.BOOL, ValueType.STRING

KEYS: tuple[Key, ...] = (
    Key("arch", "arch", _STRING),
    Key("checkpoint_name", "checkpoint_name", _STRING),
    Key("patch_size", "patch_size", _U32),
    Key("embed_dim", "vit.embed_dim", _U32),
    Key("depth", "vit.depth", _U32),
    Key("num_heads", "vit.num_heads", _U32),
    Key("head_dim", "vit.head_dim", _U32),
    Key("mlp_hidden", "vit.mlp_hidden", _U32),
    Key("num_register_tokens", "vit.num_register_tokens", _U32),
    Key("init_values", "vit.init_values", _F32),
    Key("alt_start", "vit.alt_start", _I32),
    Key("rope_start", "vit.rope_start", _I32),
    Key("qknorm_start", "vit.qknorm_start", _I32),
    Key("rope_freq", "vit.rope_freq", _F32),
    Key("cat_token", "vit.cat_token", _BOOL),
    Key("qkv_bias", "vit.qkv_bias", _BOOL),
    Key("ln_eps", "vit.ln_eps", _F32),
    Key("interpolate_offset", "vit.interpolate_offset", _F32),
    Key("interpolate_antialias", "vit.interpolate_antialias", _BOOL),
    Key("pos_embed_grid", "vit.pos_embed_grid", _U32),
    Key("ffn_type", "vit.ffn_type", _STRING),
    Key("out_layers", "vit.out_layers", _I32, array=True),
    Key("mean", "img.mean", _F32, array=True),
    Key("std", "img.std", _F32, array=True),
    Key("resize_mode", "img.resize_mode", _STRING),
    Key("resize_target", "img.resize_target", _U32),
    Key("head_features", "head.features", _U32),
    Key("head_out_channels", "head.out_channels", _I32, array=True),
    Key("head_output_dim", "head.output_dim", _U32),
    Key("head_pos_embed", "head.pos_embed", _BOOL),
    Key("head_down_ratio", "head.down_ratio", _U32),
    Key("head_activation", "head.activation", _STRING),
    Key("head_conf_activation", "head.conf_activation", _STRING),
    Key("head_sky_activation", "head.sky_activation", _STRING),
    Key("head_norm_type", "head.norm_type", _STRING),
    Key("head_max_depth", "head.max_depth", _F32),
    Key("head_has_rays", "head.has_aux", _BOOL),
    Key("head_ray_dim", "head.aux_ray_dim", _U32),
    Key("head_ray_levels", "head.aux_levels", _U32),
    Key("cam_dim_in", "cam.dim_in", _U32),
    Key("gs_output_dim", "gs.output_dim", _U32),
    Key("gs_features", "gs.features", _U32),
    Key("gs_out_channels", "gs.out_channels", _I32, array=True),
    Key("gs_sh_degree", "gs.sh_degree", _U32),
    Key("gs_scale_min", "gs.scale_min", _F32),
    Key("gs_scale_max", "gs.scale_max", _F32),
    Key("gs_pred_offset_depth", "gs.pred_offset_depth", _BOOL),
    Key("gs_pred_offset_xy", "gs.pred_offset_xy", _BOOL),
    Key("gs_pred_color", "gs.pred_color", _BOOL),
    # Ours, the only two beyond the published layout.
    Key("depth_kind", "depth_kind", _STRING),
    Key("license", "license", _STRING),
)


class Part(Enum):
    """When a tensor belongs to a file."""

    ALWAYS = "always"
    BLOCK = "block"
    """Once per block; `{i}` in the names is its number."""
    QKNORM_BLOCK = "qknorm_block"
    """Once per block from `qknorm_start` on."""
    MLP_BLOCK = "mlp_block"
    """Once per block where `vit.ffn_type` is mlp."""
    SWIGLU_BLOCK = "swiglu_block"
    """Once per block where `vit.ffn_type` is swiglu."""
    CAMERA_TOKEN = "camera_token"
    """Any-view networks (`alt_start` is not -1)."""
    HEAD_NORM = "head_norm"
    """Heads that normalise their input (`head.norm_type` is not idt)."""
    SKY = "sky"
    """Heads with a sky branch (`head.sky_activation` is there)."""
    UNUSED_LATERAL = "unused_lateral"
    """Depth Anything V2: a residual unit of the coarsest level that nothing uses."""
    RAYS = "rays"
    """Any-view networks that were converted with the auxiliary ray branch (`head.has_aux`)."""
    CAMERA = "camera"
    """Networks with a camera decoder (`cam.dim_in` is there)."""
    POSE_ENCODER = "pose_encoder"
    """Any-view networks that were converted with the camera encoder, which takes known poses; no key tells of it."""
    GAUSSIANS = "gaussians"
    """Networks with a head of 3-D Gaussians (`gs.output_dim` is there)."""


class Dim(Enum):
    """A tensor extent that depends on the hyper-parameters."""

    PATCH = "patch"
    EMBED = "embed"
    HALF_EMBED = "half_embed"
    QUADRUPLE_EMBED = "quadruple_embed"
    QKV = "qkv"
    TOKENS = "tokens"
    """Rows of the position table: the square of `pos_embed_grid`, plus one for the class token."""
    HEAD_DIM = "head_dim"
    MLP_HIDDEN = "mlp_hidden"
    GATED_HIDDEN = "gated_hidden"
    """Twice `mlp_hidden`: the gate of a SwiGLU block and what it gates."""
    HEAD_IN = "head_in"
    """Width of a tapped feature: twice the embedding with `cat_token`."""
    OUT0 = "out0"
    OUT1 = "out1"
    OUT2 = "out2"
    OUT3 = "out3"
    FEATURES = "features"
    HALF_FEATURES = "half_features"
    QUARTER_FEATURES = "quarter_features"
    EIGHTH_FEATURES = "eighth_features"
    OUTPUT_DIM = "output_dim"


@dataclass(frozen=True)
class TensorRule:
    """One tensor (or one per block): official key, GGUF name, and extents in ggml order (fastest first; the reversed PyTorch shape)."""

    part: Part
    official: str
    name: str
    extents: tuple[Dim | int, ...]
    narrow: bool = False
    """True for the 2-D weights that may be stored in a narrower type than float32."""

    @property
    def per_block(self) -> bool:
        return "{i}" in self.name


BACKBONE = "model.backbone.pretrained."
HEAD = "model.head."
CAMERA = "model.cam_dec."
POSE_ENCODER = "model.cam_enc."
POSE_ENCODER_DEPTH = 4
POSE_VALUES = 9
"""Translation 3, quaternion 4, field of view 2."""
GAUSSIANS = "model.gs_head."
HIDDEN = 32
"""Channels of the last convolution but one of every DPT head, fixed in the official code."""

RAY_OUTPUTS = 7
"""Direction, origin, and a confidence."""
GAUSSIAN_OUTPUTS = 38
"""Offsets 2, scales 3, quaternion 4, harmonics of degree 2 for three colours 27, depth offset 1; and a confidence."""

IGNORED_OFFICIAL = (
    "model.cam_enc.",
    "model.head.scratch.refinenet1_aux.",
    "model.head.scratch.refinenet2_aux.",
    "model.head.scratch.refinenet3_aux.",
    "model.head.scratch.refinenet4_aux.",
    "model.head.scratch.output_conv1_aux.",
    "model.head.scratch.output_conv2_aux.",
    "model.backbone.pretrained.mask_token",
)
"""Prefixes of official tensors that a file may leave out: the camera encoder (opt-in), the auxiliary ray branch (opt-in, and of it the
finest level only), and what training alone uses."""


def _weight_bias(
    part: Part, official: str, name: str, extents: tuple[Dim | int, ...], bias: Dim | int, narrow: bool = False
) -> Iterator[TensorRule]:
    yield TensorRule(part, f"{official}.weight", f"{name}.weight", extents, narrow)
    yield TensorRule(part, f"{official}.bias", f"{name}.bias", (bias,))


def _norm(part: Part, official: str, name: str, width: Dim) -> Iterator[TensorRule]:
    return _weight_bias(part, official, name, (width,), width)


def _backbone() -> Iterator[TensorRule]:
    embed, always = Dim.EMBED, Part.ALWAYS
    yield TensorRule(always, BACKBONE + "cls_token", "vit.cls_token", (embed, 1, 1))
    yield TensorRule(Part.CAMERA_TOKEN, BACKBONE + "camera_token", "vit.camera_token", (embed, 2, 1))
    yield TensorRule(always, BACKBONE + "pos_embed", "vit.pos_embed", (embed, Dim.TOKENS, 1))
    yield from _weight_bias(always, BACKBONE + "patch_embed.proj", "vit.patch_embed", (Dim.PATCH, Dim.PATCH, 3, embed), embed)
    yield from _block()
    yield from _norm(always, BACKBONE + "norm", "vit.norm", embed)


def _block() -> Iterator[TensorRule]:
    embed, hidden, block = Dim.EMBED, Dim.MLP_HIDDEN, Part.BLOCK
    official, name = BACKBONE + "blocks.{i}.", "vit.blk.{i}."
    yield from _norm(block, official + "norm1", name + "norm1", embed)
    yield from _weight_bias(block, official + "attn.qkv", name + "attn_qkv", (embed, Dim.QKV), Dim.QKV, narrow=True)
    yield from _norm(Part.QKNORM_BLOCK, official + "attn.q_norm", name + "attn_qnorm", Dim.HEAD_DIM)
    yield from _norm(Part.QKNORM_BLOCK, official + "attn.k_norm", name + "attn_knorm", Dim.HEAD_DIM)
    yield from _weight_bias(block, official + "attn.proj", name + "attn_proj", (embed, embed), embed, narrow=True)
    yield TensorRule(block, official + "ls1.gamma", name + "ls1", (embed,))
    yield from _norm(block, official + "norm2", name + "norm2", embed)
    mlp, swiglu, gated = Part.MLP_BLOCK, Part.SWIGLU_BLOCK, Dim.GATED_HIDDEN
    yield from _weight_bias(mlp, official + "mlp.fc1", name + "mlp_fc1", (embed, hidden), hidden, narrow=True)
    yield from _weight_bias(mlp, official + "mlp.fc2", name + "mlp_fc2", (hidden, embed), embed, narrow=True)
    yield from _weight_bias(swiglu, official + "mlp.w12", name + "mlp_w12", (embed, gated), gated, narrow=True)
    yield from _weight_bias(swiglu, official + "mlp.w3", name + "mlp_w3", (hidden, embed), embed, narrow=True)
    yield TensorRule(block, official + "ls2.gamma", name + "ls2", (embed,))


def _head() -> Iterator[TensorRule]:
    half, scratch = Dim.HALF_FEATURES, HEAD + "scratch."
    yield from _norm(Part.HEAD_NORM, HEAD + "norm", "head.norm", Dim.HEAD_IN)
    yield from _trunk(Part.ALWAYS, HEAD, "head.", Dim.OUTPUT_DIM)
    yield from _weight_bias(Part.SKY, scratch + "sky_output_conv2.0", "head.scratch.sky_out2a", (3, 3, half, HIDDEN), HIDDEN)
    yield from _weight_bias(Part.SKY, scratch + "sky_output_conv2.2", "head.scratch.sky_out2b", (1, 1, HIDDEN, 1), 1)
    for level in (1, 2, 3, 4):
        yield from _fusion(Part.RAYS, f"{scratch}refinenet{level}_aux", f"head.scratch.rn{level}_aux", (1, 2) if level < 4 else (2,))
    yield from _ray_output(scratch)


def _trunk(part: Part, official: str, name: str, outputs: Dim | int) -> Iterator[TensorRule]:
    """What every DPT head has; `official` and `name` are the prefixes of the head."""
    outs, features, half = (Dim.OUT0, Dim.OUT1, Dim.OUT2, Dim.OUT3), Dim.FEATURES, Dim.HALF_FEATURES
    for stage, width in enumerate(outs):
        yield from _weight_bias(part, f"{official}projects.{stage}", f"{name}proj.{stage}", (1, 1, Dim.HEAD_IN, width), width)
    for stage, size in ((0, 4), (1, 2), (3, 3)):
        width = outs[stage]
        yield from _weight_bias(part, f"{official}resize_layers.{stage}", f"{name}resize.{stage}", (size, size, width, width), width)
    official, name = official + "scratch.", name + "scratch."
    for level, width in enumerate(outs, start=1):
        yield TensorRule(part, f"{official}layer{level}_rn.weight", f"{name}layer{level}_rn.weight", (3, 3, width, features))
    for level in (1, 2, 3, 4):
        if level == 4 and part is Part.ALWAYS:
            yield from _residual(Part.UNUSED_LATERAL, f"{official}refinenet4.resConfUnit1", f"{name}rn4.rc1")
        yield from _fusion(part, f"{official}refinenet{level}", f"{name}rn{level}", (1, 2) if level < 4 else (2,))
    yield from _weight_bias(part, official + "output_conv1", name + "out1", (3, 3, features, half), half)
    yield from _weight_bias(part, official + "output_conv2.0", name + "out2a", (3, 3, half, HIDDEN), HIDDEN)
    yield from _weight_bias(part, official + "output_conv2.2", name + "out2b", (1, 1, HIDDEN, outputs), outputs)


def _fusion(part: Part, official: str, name: str, units: tuple[int, ...]) -> Iterator[TensorRule]:
    """units: numbers of the residual units; the first takes the lateral map, which the coarsest level lacks."""
    for unit in units:
        yield from _residual(part, f"{official}.resConfUnit{unit}", f"{name}.rc{unit}")
    yield from _weight_bias(part, f"{official}.out_conv", f"{name}.out", (1, 1, Dim.FEATURES, Dim.FEATURES), Dim.FEATURES)


def _residual(part: Part, official: str, name: str) -> Iterator[TensorRule]:
    for conv in (1, 2):
        yield from _weight_bias(part, f"{official}.conv{conv}", f"{name}.c{conv}", (3, 3, Dim.FEATURES, Dim.FEATURES), Dim.FEATURES)


def _ray_output(scratch: str) -> Iterator[TensorRule]:
    """Of the finest level, the only one that is used; its LayerNorm is shared by all levels and stored with the first."""
    features, half, rays = Dim.FEATURES, Dim.HALF_FEATURES, Part.RAYS
    for conv in range(5):
        before, after = (features, half) if conv % 2 == 0 else (half, features)
        yield from _weight_bias(rays, f"{scratch}output_conv1_aux.3.{conv}", f"head.scratch.out1_aux.{conv}", (3, 3, before, after), after)
    yield from _weight_bias(rays, scratch + "output_conv2_aux.3.0", "head.scratch.out2a_aux", (3, 3, half, HIDDEN), HIDDEN)
    yield from _weight_bias(rays, scratch + "output_conv2_aux.0.2", "head.scratch.out2_aux_ln", (HIDDEN,), HIDDEN)
    yield from _weight_bias(rays, scratch + "output_conv2_aux.3.5", "head.scratch.out2b_aux", (1, 1, HIDDEN, RAY_OUTPUTS), RAY_OUTPUTS)


def _camera() -> Iterator[TensorRule]:
    width, camera = Dim.HEAD_IN, Part.CAMERA
    for layer in (0, 2):
        yield from _weight_bias(camera, f"{CAMERA}backbone.{layer}", f"cam.bb{layer}", (width, width), width, narrow=True)
    for official, name, outputs in (("fc_t", "fc_t", 3), ("fc_qvec", "fc_q", 4), ("fc_fov.0", "fc_fov", 2)):
        yield from _weight_bias(camera, CAMERA + official, f"cam.{name}", (width, outputs), outputs, narrow=True)


def _pose_encoder() -> Iterator[TensorRule]:
    embed, half, hidden, part = Dim.EMBED, Dim.HALF_EMBED, Dim.QUADRUPLE_EMBED, Part.POSE_ENCODER
    for block in range(POSE_ENCODER_DEPTH):
        official, name = f"{POSE_ENCODER}trunk.{block}.", f"cam_enc.blk.{block}."
        yield from _norm(part, official + "norm1", name + "norm1", embed)
        yield from _weight_bias(part, official + "attn.qkv", name + "attn_qkv", (embed, Dim.QKV), Dim.QKV)
        yield from _weight_bias(part, official + "attn.proj", name + "attn_proj", (embed, embed), embed)
        yield TensorRule(part, official + "ls1.gamma", name + "ls1", (embed,))
        yield from _norm(part, official + "norm2", name + "norm2", embed)
        yield from _weight_bias(part, official + "mlp.fc1", name + "mlp_fc1", (embed, hidden), hidden)
        yield from _weight_bias(part, official + "mlp.fc2", name + "mlp_fc2", (hidden, embed), embed)
        yield TensorRule(part, official + "ls2.gamma", name + "ls2", (embed,))
    yield from _norm(part, POSE_ENCODER + "token_norm", "cam_enc.token_norm", embed)
    yield from _norm(part, POSE_ENCODER + "trunk_norm", "cam_enc.trunk_norm", embed)
    yield from _weight_bias(part, POSE_ENCODER + "pose_branch.fc1", "cam_enc.pose_fc1", (POSE_VALUES, half), half)
    yield from _weight_bias(part, POSE_ENCODER + "pose_branch.fc2", "cam_enc.pose_fc2", (half, embed), embed)


def _gaussians() -> Iterator[TensorRule]:
    part = Part.GAUSSIANS
    yield from _trunk(part, GAUSSIANS, "gs.", GAUSSIAN_OUTPUTS)
    widths: tuple[Dim | int, ...] = (3, Dim.EIGHTH_FEATURES, Dim.QUARTER_FEATURES, Dim.HALF_FEATURES)
    for conv, (before, after) in enumerate(pairwise(widths)):
        yield from _weight_bias(part, f"{GAUSSIANS}images_merger.{2 * conv}", f"gs.merger.{conv}", (3, 3, before, after), after)


TENSORS: tuple[TensorRule, ...] = (*_backbone(), *_head(), *_camera(), *_pose_encoder(), *_gaussians())
"""Every tensor in the registration order of the official modules, which is the order in the file."""
