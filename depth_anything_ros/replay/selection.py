"""Which topics go into the output."""

from __future__ import annotations

from depth_anything_ros.errors import OptionError
from depth_anything_ros.replay.options import KEEP_ALL, ReplayOptions
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros.topics import COLOR, COLOR_COMPRESSED, METRIC, POINTS, topics_of
from depth_anything_ros.types import DepthKind, ModelInfo

_TF = ("/tf", "/tf_static")
_NONE, _ALL = ("none",), ("all",)
_ASKED_FOR = {POINTS, COLOR, COLOR_COMPRESSED}
"""Large, or for people: written when they are named."""


def kept_topics(source: Source, options: ReplayOptions) -> frozenset[str]:
    """Recorded topics to copy. With some topics TF comes along, since depth in a frame without it is of little use. Raises OptionError."""
    if options.keep == KEEP_ALL:
        return frozenset(source.topics)
    if options.keep == _NONE:
        return frozenset()
    if unknown := [name for name in options.keep if name not in source.topics]:
        raise OptionError("option.unknown", f"--keep {unknown[0]}: the recording has {', '.join(source.topics)}; also all and none.")
    return frozenset({*options.keep, *(name for name in _TF if name in source.topics)})


def output_topics(info: ModelInfo, options: ReplayOptions) -> dict[str, str]:
    """Relative names and types of what is written, as far as the model can give it. Raises OptionError for a name that it never gives."""
    possible = topics_of(info)
    if options.outputs == _ALL:
        return possible
    if not options.outputs:
        return {name: kind for name, kind in possible.items() if name not in _ASKED_FOR}
    if unknown := [name for name in options.outputs if name not in possible]:
        raise OptionError("option.unknown", f"--outputs {unknown[0]}: this model gives {', '.join(possible)}; also all.")
    if METRIC.keys() >= set(options.outputs) and _never_metres(info, options):
        raise OptionError(
            "option.range",
            f"--outputs {' '.join(options.outputs)}: nothing would come of it, since {info.checkpoint} gives {info.kind.value}; "
            "ask for relative/image, or have metres (scale.source).",
        )
    return {name: possible[name] for name in options.outputs}


def _never_metres(info: ModelInfo, options: ReplayOptions) -> bool:
    """Whether no picture can have metres."""
    source = options.node.processing.scale_source
    return info.kind is not DepthKind.METRIC and (
        source == "model" or (source == "constant" and info.kind is DepthKind.RELATIVE_INVERSE_DEPTH)
    )
