"""How two tensors are compared: one number, the largest relative error, and no comparison that proves nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRICTLY_POSITIVE = ("depth", "confidence", "filled_depth")
"""Compared by max |a-b| / |b|. Everything else touches zero: max |a-b| / max(|b|, 1 % of rms(b))."""
FLOOR = 0.01


class UselessComparison(ValueError):
    """The tensors cannot show whether the code is right: empty, constant, not finite, or of different shape."""


def worst_error(name: str, found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Largest relative error of `found` against `expected`, measured as the tensor `name` asks for. Raises UselessComparison."""
    if found.shape != expected.shape:
        raise UselessComparison(f"{name}: shape {found.shape}, expected {expected.shape}")
    for side, values in (("found", found), ("expected", expected)):
        if values.size == 0 or not np.isfinite(values).all() or values.min() == values.max():
            raise UselessComparison(f"{name}: the {side} tensor {values.shape} is empty, constant or not finite")
    a, b = found.astype(np.float64), expected.astype(np.float64)
    floor = 0.0 if name in STRICTLY_POSITIVE else FLOOR * np.sqrt(np.mean(b**2))
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), floor)))
