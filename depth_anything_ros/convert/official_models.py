"""The official models by the `model_name` of their config.json, and those of Depth Anything V2 by our name."""

from __future__ import annotations

from dataclasses import replace

from depth_anything_ros.convert.hyper_parameters import (
    HyperParameters,
    Identity,
    Size,
    any_view,
    depth_anything_v2,
    mono,
    with_gaussians,
)
from depth_anything_ros.convert.naming import NESTED_ANY_VIEW, NESTED_METRIC
from depth_anything_ros.models.checkpoint_facts import known_checkpoint

_LARGE_WIDTHS = (256, 512, 1024, 1024)
_SMALL = Size(384, 12, 6, (5, 7, 9, 11), 64, (48, 96, 192, 384), alt_start=4)
_BASE = Size(768, 12, 12, (5, 7, 9, 11), 128, (96, 192, 384, 768), alt_start=4)
_LARGE = Size(1024, 24, 16, (11, 15, 19, 23), 256, _LARGE_WIDTHS, alt_start=8)
_GIANT = Size(1536, 40, 24, (19, 27, 33, 39), 256, _LARGE_WIDTHS, alt_start=13, mlp_hidden=4096, ffn_type="swiglu")
_MONO_LARGE = Size(1024, 24, 16, (4, 11, 17, 23), 256, _LARGE_WIDTHS)
_V2_SIZES = {
    "Small": replace(_SMALL, out_layers=(2, 5, 8, 11), alt_start=-1),
    "Base": replace(_BASE, out_layers=(2, 5, 8, 11), alt_start=-1),
    "Large": _MONO_LARGE,
}
_V2_SERIES = {"": None, "Metric-Hypersim-": 20.0, "Metric-VKITTI-": 80.0}
"""Part of the checkpoint name to the largest depth in metres."""


def _identity(checkpoint_name: str) -> Identity:
    fact = known_checkpoint(checkpoint_name)
    assert fact is not None, checkpoint_name
    return Identity(checkpoint_name, fact.kind.value, fact.license)


def _v2_models() -> dict[str, HyperParameters]:
    return {
        f"da2-{series}{size_name}".lower(): depth_anything_v2(size, _identity(f"Depth-Anything-V2-{series}{size_name}"), max_depth)
        for series, max_depth in _V2_SERIES.items()
        for size_name, size in _V2_SIZES.items()
    }


_NESTED = "DA3NESTED-GIANT-LARGE"

OFFICIAL_MODELS: dict[str, HyperParameters] = {
    "da3-small": any_view(_SMALL, _identity("DA3-SMALL")),
    "da3-base": any_view(_BASE, _identity("DA3-BASE")),
    "da3-large": any_view(_LARGE, _identity("DA3-LARGE")),
    "da3-large-1.1": any_view(_LARGE, _identity("DA3-LARGE-1.1")),
    "da3-giant": with_gaussians(any_view(_GIANT, _identity("DA3-GIANT"))),
    "da3-giant-1.1": with_gaussians(any_view(_GIANT, _identity("DA3-GIANT-1.1"))),
    "da3mono-large": mono(_MONO_LARGE, _identity("DA3MONO-LARGE")),
    "da3metric-large": mono(_MONO_LARGE, _identity("DA3METRIC-LARGE")),
    "da3nested-anyview": replace(with_gaussians(any_view(_GIANT, _identity(f"{_NESTED}-anyview"))), naming=NESTED_ANY_VIEW),
    "da3nested-metric": replace(mono(_MONO_LARGE, _identity(f"{_NESTED}-metric")), naming=NESTED_METRIC),
    **_v2_models(),
}

OFFICIAL_PAIRS = {"da3nested-giant-large": ("da3nested-anyview", "da3nested-metric")}
"""Checkpoints that hold two networks: `model_name` to the names of both."""
