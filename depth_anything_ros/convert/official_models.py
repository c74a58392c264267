"""The official models by the `model_name` of their config.json."""

from __future__ import annotations

from depth_anything_ros.convert.hyper_parameters import ARCHITECTURES, HyperParameters, Identity, Size
from depth_anything_ros.models.checkpoint_facts import known_checkpoint

_LARGE_WIDTHS = (256, 512, 1024, 1024)
_SMALL = Size(384, 12, 6, (5, 7, 9, 11), 64, (48, 96, 192, 384), alt_start=4)
_BASE = Size(768, 12, 12, (5, 7, 9, 11), 128, (96, 192, 384, 768), alt_start=4)
_LARGE = Size(1024, 24, 16, (11, 15, 19, 23), 256, _LARGE_WIDTHS, alt_start=8)
_MONO_LARGE = Size(1024, 24, 16, (4, 11, 17, 23), 256, _LARGE_WIDTHS)


def _official(architecture: str, size: Size, checkpoint_name: str) -> HyperParameters:
    fact = known_checkpoint(checkpoint_name)
    assert fact is not None, checkpoint_name
    return ARCHITECTURES[architecture](size, Identity(checkpoint_name, fact.kind.value, fact.license))


OFFICIAL_MODELS: dict[str, HyperParameters] = {
    "da3-small": _official("any_view", _SMALL, "DA3-SMALL"),
    "da3-base": _official("any_view", _BASE, "DA3-BASE"),
    "da3-large": _official("any_view", _LARGE, "DA3-LARGE"),
    "da3mono-large": _official("mono", _MONO_LARGE, "DA3MONO-LARGE"),
    "da3metric-large": _official("mono", _MONO_LARGE, "DA3METRIC-LARGE"),
}
