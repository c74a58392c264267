"""How two tensors are compared: one number, the largest relative error, and no comparison that proves nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRICTLY_POSITIVE = ("depth", "confidence", "filled_depth")
"""Compared by max |a-b| / |b|. Everything else touches zero: max |a-b| / max(|b|, 1 % of rms(b))."""
FLOOR = 0.01
BOUND = 1e-4
"""Of `worst_error` for outputs, and for stages where PyTorch's own float32 rounding leaves room for it."""
ROUNDING_FACTOR = 8.0
"""The largest rounding error of a million values is a matter of chance and of the order of additions; RMS_BOUND is the sharp one."""
RMS_BOUND = 3e-6
"""Of `rms_error`, for everything. Rounding gives up to 1e-6; an epsilon of 1e-6 in place of 1e-5 gives more than 1e-5."""


class UselessComparison(ValueError):
    """The tensors cannot show whether the code is right: empty, constant, not finite, or of different shape."""


def stage_bound(rounding: float) -> float:
    """Bound of `worst_error` for a stage of which PyTorch's own float32 rounding is known."""
    return max(BOUND, ROUNDING_FACTOR * rounding)


def rms_error(name: str, found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Root mean square of the difference over that of `expected`: small and steady where `worst_error` waits for values near zero."""
    worst_error(name, found, expected)  # refuses what proves nothing
    difference = found.astype(np.float64) - expected
    return float(np.sqrt(np.mean(difference**2) / np.mean(expected.astype(np.float64) ** 2)))


def worst_error(name: str, found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Largest relative error of `found` against `expected`, measured as the tensor `name` asks for. Raises UselessComparison."""
    if found.shape != expected.shape:
        raise UselessComparison(f"{name}: shape {found.shape}, expected {expected.shape}")
    for side, values in (("found", found), ("expected", expected)):
        constant = values.size > 1 and values.min() == values.max()
        if values.size == 0 or not np.isfinite(values).all() or constant:
            raise UselessComparison(f"{name}: the {side} tensor {values.shape} is empty, constant or not finite")
    a, b = found.astype(np.float64), expected.astype(np.float64)
    floor = 0.0 if name in STRICTLY_POSITIVE else FLOOR * np.sqrt(np.mean(b**2))
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), floor)))
