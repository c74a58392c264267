"""Which models are compared at true size, on which pictures, with which seeded weights."""

from __future__ import annotations

from dataclasses import dataclass

WIDE, TALLER, FLAT = (640, 427), (640, 480), (640, 356)


@dataclass(frozen=True)
class Case:
    """One comparison: width and height of the pictures, the resolution that the network works at, how many views it sees together."""

    picture: tuple[int, int]
    resolution: int
    views: int = 1


CASES: dict[str, tuple[Case, ...]] = {
    "da3-small": (Case(WIDE, 504), Case(TALLER, 504)),
    "da3-base": (Case(WIDE, 504), Case(TALLER, 504)),
    "da3-large": (Case(WIDE, 504),),
    "da3-large-1.1": (Case(TALLER, 168),),
    "da3-giant": (Case(WIDE, 168),),
    "da3-giant-1.1": (Case(TALLER, 168),),
    "da3mono-large": (Case(WIDE, 252),),
    "da3metric-large": (Case(FLAT, 504),),
    "da3nested-giant-large": (Case(WIDE, 168, views=2),),
    "da2-small": (Case(WIDE, 518),),
    "da2-base": (Case(WIDE, 252),),
    "da2-large": (Case(WIDE, 168),),
    **{f"da2-metric-{scenes}-small": (Case(WIDE, 252),) for scenes in ("hypersim", "vkitti")},
    **{f"da2-metric-{scenes}-base": (Case(TALLER, 168),) for scenes in ("hypersim", "vkitti")},
    **{f"da2-metric-{scenes}-large": (Case(WIDE, 168),) for scenes in ("hypersim", "vkitti")},
}
"""Models by the names of `convert`; the large ones at sizes that a machine of 16 GB does in minutes."""

WITHOUT_ROUNDING = tuple(name for name in CASES if "large" in name or "giant" in name)
"""Models whose forward is not run in float64 as well: twice the memory, three times the time. Their stages are bounded by rms alone."""

SEEDS = {"da3-large-1.1": 11, "da3-giant-1.1": 11}
"""Of the weights where it is not 0: these networks are equal to others, so they get other weights."""
