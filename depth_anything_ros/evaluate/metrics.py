"""The customary errors of depth maps (D. Eigen et al., NIPS 2014), summed up over any number of frames in constant memory. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.types import Float32Array

THRESHOLD = 1.25


@dataclass
class ErrorSums:
    """Sums over pixels; `+=` joins those of two sets. The numbers are over all pixels alike, whichever frame they come from.

    predicted and true depth: metres, or any common unit.
    """

    pixels: int = 0
    """That have truth and prediction."""
    missing: int = 0
    """That have truth only."""
    _ratio: float = 0.0
    _square: float = 0.0
    _log: float = 0.0
    _log_square: float = 0.0
    _within: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def of(cls, predicted: NDArray[np.float64], true: NDArray[np.float64]) -> ErrorSums:
        """predicted, true: [n]; a prediction that is not finite and above 0 counts as missing; true is finite and above 0."""
        known = np.isfinite(predicted) & (predicted > 0.0)
        missing = int(known.size - np.count_nonzero(known))
        predicted, true = predicted[known], true[known]
        error, log = predicted - true, np.log(predicted / true)
        factor = np.exp(np.abs(log))
        within = [float(np.count_nonzero(factor < THRESHOLD**power)) for power in (1, 2, 3)]
        return cls(
            pixels=predicted.size,
            missing=missing,
            _ratio=float(np.sum(np.abs(error) / true)),
            _square=float(np.sum(error * error)),
            _log=float(np.sum(log)),
            _log_square=float(np.sum(log * log)),
            _within=np.array(within),
        )

    def __iadd__(self, other: ErrorSums) -> ErrorSums:
        self.pixels += other.pixels
        self.missing += other.missing
        self._ratio += other._ratio
        self._square += other._square
        self._log += other._log
        self._log_square += other._log_square
        self._within = self._within + other._within
        return self

    def numbers(self) -> dict[str, float]:
        """By name; NaN without pixels.

        abs_rel: mean of |p - t| / t. rmse: metres. delta1 to delta3: shares whose ratio is within 1.25, its square, its cube.
        silog: 100 times the standard deviation of log p - log t (KITTI), blind to a wrong scale. coverage: share of truth with prediction.
        """
        count = self.pixels or math.nan
        mean_log = self._log / count
        variance = self._log_square / count - mean_log * mean_log
        return {
            "abs_rel": self._ratio / count,
            "rmse": math.sqrt(self._square / count),
            **{f"delta{power}": float(share) for power, share in zip((1, 2, 3), self._within / count)},
            "silog": 100.0 * math.sqrt(max(variance, 0.0)) if self.pixels else math.nan,
            "coverage": self.pixels / ((self.pixels + self.missing) or math.nan),
        }


NUMBERS = tuple(ErrorSums().numbers())


def known_truth(predicted: Float32Array, true: Float32Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(predicted [n], true [n]) of the pixels with truth.

    predicted, true: float32 [H, W]; truth is unknown where it is not finite or not above 0.
    """
    known = np.isfinite(true) & (true > 0.0)
    return predicted[known].astype(np.float64), true[known].astype(np.float64)


def in_band(true: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Which true depths are in [low, high)."""
    return (true >= low) & (true < high)


@dataclass(frozen=True)
class Drift:
    """How the scale of single frames moves."""

    total: float
    """Trend from the first frame to the last as a factor, 1 is none (least squares through the logarithms); NaN for fewer than three."""
    spread: float
    """Standard deviation of the logarithms about the trend: 0.01 is one percent."""

    @classmethod
    def of(cls, seconds: Sequence[float], scales: Sequence[float]) -> Drift:
        with np.errstate(divide="ignore", invalid="ignore"):  # a fit to next to nothing may well be 0 or less
            times, logs = np.asarray(seconds, np.float64), np.log(np.asarray(scales, np.float64))
        good = np.isfinite(logs)
        times, logs = times[good], logs[good]
        if times.size < 3 or np.ptp(times) == 0.0:
            return cls(math.nan, math.nan)
        slope, offset = np.polyfit(times - times[0], logs, 1)
        rest = logs - (slope * (times - times[0]) + offset)
        return cls(float(np.exp(slope * np.ptp(times))), float(np.std(rest)))
