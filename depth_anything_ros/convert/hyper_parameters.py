"""The numbers that define a network of either architecture, with the values that all Depth Anything 3 models share as defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace

from depth_anything_ros.convert.gguf_keys import CAMERA_DIM_IN, GAUSSIAN_OUTPUTS, RAY_OUTPUTS
from depth_anything_ros.convert.naming import DEPTH_ANYTHING_V2, PLAIN, Naming

ARCH_V2 = "depthanything2"
"""`arch` of Depth Anything V2 files."""


@dataclass(frozen=True)
class HyperParameters:
    """Every value that the metadata of a file holds, by the `field` of `gguf_keys.KEYS`. A field that is None has no key in the file."""

    checkpoint_name: str
    embed_dim: int
    depth: int
    num_heads: int
    mlp_hidden: int
    alt_start: int
    """First block of the alternation of local and global attention, of QK-norm and of RoPE; -1 for none."""
    out_layers: tuple[int, ...]
    """Numbers of the four tapped blocks, counted from 0."""
    head_features: int
    head_out_channels: tuple[int, ...]
    head_output_dim: int
    cat_token: bool
    head_pos_embed: bool
    head_sky_activation: str | None
    head_norm_type: str | None
    cam_dim_in: int | None
    depth_kind: str | None
    license: str | None
    resize_target: int = 504
    pos_embed_grid: int = 37
    arch: str = "depthanything3"
    patch_size: int = 14
    num_register_tokens: int = 0
    init_values: float = 0.0
    rope_freq: float = 100.0
    qkv_bias: bool = True
    ln_eps: float = 1e-6
    interpolate_offset: float = 0.1
    interpolate_antialias: bool = False
    ffn_type: str = "mlp"
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)
    resize_mode: str = "upper_bound"
    head_down_ratio: int | None = 1
    head_activation: str = "exp"
    head_conf_activation: str | None = "expp1"
    head_max_depth: float | None = None
    head_has_rays: bool | None = None
    head_ray_dim: int | None = None
    head_ray_levels: int | None = None
    gs_output_dim: int | None = None
    gs_features: int | None = None
    gs_out_channels: tuple[int, ...] | None = None
    gs_sh_degree: int | None = None
    gs_scale_min: float | None = None
    gs_scale_max: float | None = None
    gs_pred_offset_depth: bool | None = None
    gs_pred_offset_xy: bool | None = None
    gs_pred_color: bool | None = None
    naming: Naming = PLAIN
    pose_encoder: bool = False
    """Whether the file holds the camera encoder; only its tensors show it."""

    @property
    def head_dim(self) -> int:
        return self.embed_dim // self.num_heads

    @property
    def rope_start(self) -> int:
        return self.alt_start

    @property
    def qknorm_start(self) -> int:
        return self.alt_start

    @property
    def head_in(self) -> int:
        """Width of a tapped feature."""
        return self.embed_dim * (2 if self.cat_token else 1)


@dataclass(frozen=True)
class Size:
    """The part of the hyper-parameters that differs between models of one architecture."""

    embed_dim: int
    depth: int
    num_heads: int
    out_layers: tuple[int, ...]
    head_features: int
    head_out_channels: tuple[int, ...]
    alt_start: int = -1
    """Any-view networks only."""
    mlp_hidden: int = 0
    """0 for four times the width."""
    ffn_type: str = "mlp"
    """``mlp`` or ``swiglu``; `mlp_hidden` is the width after the gate."""
    resize_target: int = 504
    pos_embed_grid: int = 37


@dataclass(frozen=True)
class Identity:
    """What a file says of its weights."""

    checkpoint_name: str
    depth_kind: str
    license: str


def any_view(size: Size, identity: Identity) -> HyperParameters:
    """A network with the DualDPT head and the camera decoder."""
    return HyperParameters(
        **{**vars(size), **vars(identity), "mlp_hidden": size.mlp_hidden or 4 * size.embed_dim},
        head_output_dim=2,
        cat_token=True,
        head_pos_embed=True,
        head_sky_activation=None,
        head_norm_type=None,
        cam_dim_in=CAMERA_DIM_IN,
    )


def mono(size: Size, identity: Identity) -> HyperParameters:
    """A network with the DPT head and its sky branch."""
    return HyperParameters(
        **{**vars(size), **vars(identity), "mlp_hidden": size.mlp_hidden or 4 * size.embed_dim},
        head_output_dim=1,
        cat_token=False,
        head_pos_embed=False,
        head_sky_activation="relu",
        head_norm_type="idt",
        cam_dim_in=None,
    )


def depth_anything_v2(size: Size, identity: Identity, max_depth: float | None = None) -> HyperParameters:
    """A Depth Anything V2 network. max_depth: metres that the sigmoid of a metric one is multiplied with; None for inverse depth."""
    return replace(
        mono(replace(size, resize_target=518), identity),
        arch=ARCH_V2,
        init_values=1.0,
        resize_mode="lower_bound",
        head_down_ratio=None,
        head_activation="relu" if max_depth is None else "sigmoid",
        head_conf_activation=None,
        head_sky_activation=None,
        head_max_depth=max_depth,
        naming=DEPTH_ANYTHING_V2,
    )


def with_rays(parameters: HyperParameters) -> HyperParameters:
    """An any-view network with its auxiliary ray branch, which published files lack."""
    return replace(parameters, head_has_rays=True, head_ray_dim=RAY_OUTPUTS - 1, head_ray_levels=4)


def with_pose_encoder(parameters: HyperParameters) -> HyperParameters:
    """An any-view network with the camera encoder, which takes known poses; published files lack it."""
    return replace(parameters, pose_encoder=True)


def with_gaussians(parameters: HyperParameters) -> HyperParameters:
    """An any-view network with the head of 3-D Gaussians, which is as wide as the depth head."""
    return replace(
        parameters,
        gs_output_dim=GAUSSIAN_OUTPUTS,
        gs_features=parameters.head_features,
        gs_out_channels=parameters.head_out_channels,
        gs_sh_degree=2,
        gs_scale_min=1e-5,
        gs_scale_max=30.0,
        gs_pred_offset_depth=True,
        gs_pred_offset_xy=True,
        gs_pred_color=False,
    )


ARCHITECTURES = {"any_view": any_view, "mono": mono}
"""Name of an architecture (as in `ModelInfo.architecture`) to the function that completes a size to its hyper-parameters."""
