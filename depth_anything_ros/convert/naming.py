"""Where checkpoints and files depart from the names of `gguf_keys`, which are those of plain DA3."""

from __future__ import annotations

from dataclasses import dataclass

Prefixes = tuple[tuple[str, str], ...]
"""Pairs of a prefix and what stands in its place; the first that fits a name holds."""


@dataclass(frozen=True)
class Naming:
    """How the names of one kind of model differ from the table."""

    official: Prefixes = ()
    """Of the tensors in the checkpoint."""
    file: Prefixes = ()
    """Of the tensors and keys in the GGUF file."""
    left_out: tuple[str, ...] = ()
    """Keys (of the table, without the common prefix) that the file lacks."""


PLAIN = Naming()
DEPTH_ANYTHING_V2 = Naming(official=(("model.backbone.pretrained.", "pretrained."), ("model.head.", "depth_head.")))
NESTED_ANY_VIEW = Naming(official=(("model.", "model.da3."),))
NESTED_METRIC = Naming(
    official=(("model.", "model.da3_metric."),),
    file=(("vit.", "m_vit."), ("head.", "m_head.")),
    # Pictures are prepared as the other file of the pair says.
    left_out=("img.mean", "img.std", "img.resize_mode", "img.resize_target", "head.pos_embed"),
)


def renamed(name: str, prefixes: Prefixes) -> str:
    return next((new + name[len(old) :] for old, new in prefixes if name.startswith(old)), name)
