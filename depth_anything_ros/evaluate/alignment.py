"""What brings the depth of a network without metres to the truth: a factor, or factor and shift of inverse depth. NumPy only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """z = factor * value, or of inverse depth 1 / z = factor * value + shift."""

    factor: float
    shift: float = 0.0
    inverse: bool = False

    def metres(self, values: Float64Array, farthest: float) -> Float64Array:
        """farthest: what inverse depth that is smaller than its inverse (or below 0) becomes, metres."""
        if not self.inverse:
            return values * self.factor
        return 1.0 / np.maximum(values * self.factor + self.shift, 1.0 / farthest)


@dataclass
class FitSums:
    """Over any number of pixels; `+=` joins those of two sets. All pixels count alike."""

    pixels: float = 0.0
    _value: float = 0.0
    _square: float = 0.0
    _inverse: float = 0.0
    _product: float = 0.0
    _alike: float = 0.0
    """Sum of the frames' correlations with log depth, by their pixels."""

    @classmethod
    def of(cls, values: Float64Array, true: Float64Array) -> FitSums:
        """values, true: [n] of one frame; true is finite and above 0, values that are not finite do not count."""
        known = np.isfinite(values)
        values, true = values[known], true[known]
        if values.size < 2:
            return cls()
        inverse, log = 1.0 / true, np.log(true)
        spread = float(np.std(values) * np.std(log))
        alike = float(np.mean((values - values.mean()) * (log - log.mean()))) / spread if spread > 0.0 else 0.0
        sums = (np.sum(values), np.sum(values * values), np.sum(inverse), np.sum(values * inverse), values.size * alike)
        return cls(float(values.size), *map(float, sums))

    def __iadd__(self, other: FitSums) -> FitSums:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    @property
    def inverse(self) -> bool:
        """Whether values fall where the truth rises: then they are inverse depth."""
        return self._alike < 0.0

    def line(self) -> Fit:
        """Least squares of inverse depth (R. Ranftl et al., TPAMI 2022, as in the Depth Anything papers); NaN where not determined."""
        if not self.pixels:
            return Fit(math.nan, math.nan, inverse=True)
        mean, inverse = self._value / self.pixels, self._inverse / self.pixels
        variance = self._square / self.pixels - mean * mean
        if variance <= 1e-12 * self._square / self.pixels:
            return Fit(math.nan, math.nan, inverse=True)
        factor = (self._product / self.pixels - mean * inverse) / variance
        return Fit(factor, inverse - factor * mean, inverse=True)


def factor_of(values: Float64Array, true: Float64Array) -> Fit:
    """The factor that brings depth to the truth: median of the ratios; NaN without pixels."""
    known = np.isfinite(values) & (values > 0.0)
    return Fit(float(np.median(true[known] / values[known])) if known.any() else math.nan)


def fit_of(values: Float64Array, true: Float64Array, *, inverse: bool) -> Fit:
    """Of one frame."""
    return FitSums.of(values, true).line() if inverse else factor_of(values, true)
