"""The numbers that define a network of either architecture, with the values that all Depth Anything 3 models share as defaults."""

from __future__ import annotations

from dataclasses import dataclass

from depth_anything_ros.convert.gguf_keys import CAMERA_DIM_IN


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
    head_down_ratio: int = 1
    head_activation: str = "exp"
    head_conf_activation: str = "expp1"
    head_max_depth: float | None = None

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


ARCHITECTURES = {"any_view": any_view, "mono": mono}
"""Name of an architecture (as in `ModelInfo.architecture`) to the function that completes a size to its hyper-parameters."""
