"""The closed table of known checkpoints: what the numbers of a model mean and what its weights may be used for.

Published files carry neither, so an exact match of `checkpoint_name` decides; any other name is relative depth, licence "unknown", unless
the file carries the keys `depth_kind` and `license` of our converter.
"""

from __future__ import annotations

from dataclasses import dataclass

from depth_anything_ros.types import DepthKind

APACHE = "Apache-2.0"
NON_COMMERCIAL = "CC-BY-NC-4.0"
UNKNOWN_LICENSE = "unknown"


@dataclass(frozen=True)
class CheckpointFact:
    """What is known of the weights with this `checkpoint_name`."""

    name: str
    kind: DepthKind
    needs_focal: bool
    """True when depth is metric only with a focal length (`focal / 300` at the processed size)."""
    license: str
    """SPDX identifier."""


_METRIC, _RELATIVE, _INVERSE = DepthKind.METRIC, DepthKind.RELATIVE_DEPTH, DepthKind.RELATIVE_INVERSE_DEPTH


def _depth_anything_v2() -> tuple[CheckpointFact, ...]:
    licenses = {"Small": APACHE, "Base": NON_COMMERCIAL, "Large": NON_COMMERCIAL}
    series = {"": _INVERSE, "Metric-Hypersim-": _METRIC, "Metric-VKITTI-": _METRIC}
    return tuple(
        CheckpointFact(f"Depth-Anything-V2-{infix}{size}", kind, False, license)
        for infix, kind in series.items()
        for size, license in licenses.items()
    )


CHECKPOINT_FACTS: tuple[CheckpointFact, ...] = (
    CheckpointFact("DA3-SMALL", _RELATIVE, False, APACHE),
    CheckpointFact("DA3-BASE", _RELATIVE, False, APACHE),
    CheckpointFact("DA3-LARGE", _RELATIVE, False, NON_COMMERCIAL),
    CheckpointFact("DA3-LARGE-1.1", _RELATIVE, False, NON_COMMERCIAL),
    CheckpointFact("DA3-GIANT", _RELATIVE, False, NON_COMMERCIAL),
    CheckpointFact("DA3-GIANT-1.1", _RELATIVE, False, NON_COMMERCIAL),
    CheckpointFact("DA3MONO-LARGE", _RELATIVE, False, APACHE),
    CheckpointFact("DA3METRIC-LARGE", _METRIC, True, APACHE),
    # Each half of a nested pair for itself; only the pair gives metres without a focal length.
    CheckpointFact("DA3NESTED-GIANT-LARGE-anyview", _RELATIVE, False, NON_COMMERCIAL),
    CheckpointFact("DA3NESTED-GIANT-LARGE-metric", _METRIC, True, NON_COMMERCIAL),
    # Trained here on synthetic scenes (docs/nano.md).
    CheckpointFact("DA3-NANO", _RELATIVE, False, APACHE),
    CheckpointFact("DA3METRIC-NANO", _METRIC, True, APACHE),
    *_depth_anything_v2(),
)


_NANO = (
    "was trained on computed scenes: for demos and tests, not for robots (real weights: depth-anything-ros models fetch da3metric-large)"
)

DOUBTFUL = {
    **dict.fromkeys(
        [f"seeded-{kind}" for kind in ("any-view", "mono", "metric", "rays", "swiglu", "complete", "v2", "v2-metric")],
        "has random weights: its depth means nothing",
    ),
    **dict.fromkeys(("DA3-NANO", "DA3METRIC-NANO"), _NANO),
}
"""Checkpoint names of the models that this package makes itself, and why they are not for robots."""


def doubt_of(checkpoint: str, license: str) -> str:
    """Why the numbers of a model deserve no trust, as a sentence; empty where nothing is known against them."""
    if checkpoint in DOUBTFUL:
        return f"{checkpoint} {DOUBTFUL[checkpoint]}"
    if license == UNKNOWN_LICENSE:
        return f"{checkpoint or 'the model'} is no published checkpoint: what its depth means and its licence are not known"
    return ""


def known_checkpoint(name: str) -> CheckpointFact | None:
    """The facts of a `checkpoint_name`, by exact match."""
    return next((fact for fact in CHECKPOINT_FACTS if fact.name == name), None)
