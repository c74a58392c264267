"""How much arithmetic a network needs for one picture."""

from __future__ import annotations

from depth_anything_ros.convert.hyper_parameters import HyperParameters


def operations(parameters: HyperParameters, width: int, height: int) -> float:
    """Multiplications and additions for a processed picture of width x height pixels: matrices, attention and convolutions."""
    patches = width // parameters.patch_size * (height // parameters.patch_size)
    return 2.0 * (_backbone(parameters, patches) + _head(parameters, patches))


def processed_size(parameters: HyperParameters, width: int, height: int) -> tuple[int, int]:
    """Size that a picture of width x height is about processed at: the resolution is of the long side, of V2 of the short one."""
    side = min(width, height) if parameters.resize_mode == "lower_bound" else max(width, height)
    patch, scale = parameters.patch_size, parameters.resize_target / side
    return round(width * scale / patch) * patch, round(height * scale / patch) * patch


def _backbone(parameters: HyperParameters, patches: int) -> float:
    """Multiplications of the transformer."""
    tokens, width = patches + 1, parameters.embed_dim
    matrices = 3 if parameters.ffn_type == "swiglu" else 2
    block = tokens * width * (4 * width + matrices * parameters.mlp_hidden) + 2 * tokens * tokens * width
    return parameters.depth * block + patches * width * 3 * parameters.patch_size**2


def _head(parameters: HyperParameters, patches: int) -> float:
    """Multiplications of the depth head. Its stages have 16, 4, 1 and a quarter times as many cells as there are patches."""
    channels, features = parameters.head_out_channels, parameters.head_features
    cells = [16 * patches, 4 * patches, patches, patches / 4]
    total = sum(patches * parameters.head_in * out for out in channels)
    total += 16 * patches * channels[0] ** 2 + 4 * patches * channels[1] ** 2 + 9 * cells[3] * channels[3] ** 2
    total += sum(9 * count * out * features for count, out in zip(cells, channels))
    units = (2, 2, 2, 1)
    total += sum(count * unit * 18 * features**2 for count, unit in zip(cells, units))
    fused = 64 * patches
    total += sum(count * features**2 for count in (fused, *cells[:3])) + 9 * fused * features * features // 2
    pixels = patches * parameters.patch_size**2
    branches = 2 if parameters.head_sky_activation else 1
    return total + branches * pixels * (9 * features // 2 * 32 + 32 * parameters.head_output_dim)
