"""Line and bar charts as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 860, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 26, 28
_LETTER = 6.6
"""Width of a letter of the key, about."""
_LEAST_RANGE = 0.1
"""Of a chart that does not begin at 0, as a share of its values."""
COLOURS = ("#2f6db5", "#c2542d", "#3d8f4f", "#8a5aa8")


@dataclass(frozen=True)
class Line:
    """Values over time; those that are not finite leave a gap."""

    name: str
    seconds: Sequence[float]
    values: Sequence[float]


def line_chart(title: str, lines: Sequence[Line], *, span: tuple[float, float] | None = None, from_zero: bool = True) -> str:
    """An SVG element of up to four lines: seconds to the right, values upwards, with round numbers at the sides.

    span: seconds at the two ends; None takes those of the lines. from_zero: whether the values begin at 0 (or below).
    """
    times = [time for line in lines for time in line.seconds]
    values = [value for line in lines for value in line.values if math.isfinite(value)]
    if not values:
        return _frame(title, '<text class="empty" x="430" y="100">no values</text>')
    low, high = min(values), max(values)
    if from_zero:
        low = min(low, 0.0)
    elif high - low < _LEAST_RANGE * abs(high):  # what hardly moves shall not look wild
        middle, half = (low + high) / 2.0, _LEAST_RANGE / 2.0 * abs(high)
        low, high = middle - half, middle + half
    scale = _Scale(span or (min(times), max(times)), low, high)
    parts, right = [scale.grid()], float(_WIDTH - _RIGHT)
    for line, colour in zip(lines, COLOURS):
        parts += [f'<polyline points="{points}" stroke="{colour}"/>' for points in scale.runs(line)]
        parts.append(f'<text class="key" x="{right:.0f}" y="16" style="fill: {colour}">{escape(line.name)}</text>')
        right -= _LETTER * len(line.name) + 24
    return _frame(title, "".join(parts))


def bar_chart(title: str, bars: Sequence[tuple[str, float]]) -> str:
    """An SVG element with a bar and its number per name."""
    values = [value for _, value in bars if math.isfinite(value)]
    if not values:
        return _frame(title, '<text class="empty" x="430" y="100">no values</text>')
    step = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    top, parts = max(*values, 1e-12), []
    for number, (name, value) in enumerate(bars):
        x, middle = _LEFT + number * step, _LEFT + (number + 0.5) * step
        height = 0.0 if not math.isfinite(value) else (_HEIGHT - _TOP - _BOTTOM - 14) * max(value, 0.0) / top
        y = _HEIGHT - _BOTTOM - height
        parts.append(f'<rect x="{x + 0.15 * step:.1f}" y="{y:.1f}" width="{0.7 * step:.1f}" height="{height:.1f}" fill="{COLOURS[0]}"/>')
        parts.append(f'<text class="value" x="{middle:.1f}" y="{y - 4:.1f}">{value:.4g}</text>')
        parts.append(f'<text class="value" x="{middle:.1f}" y="{_HEIGHT - 10}">{escape(name)}</text>')
    return _frame(title, "".join(parts))


class _Scale:
    """From seconds and values to places in the picture."""

    def __init__(self, span: tuple[float, float], low: float, high: float) -> None:
        self._begin, self._seconds = span[0], (span[1] - span[0]) or 1.0
        self._ticks = round_numbers(low, high if high > low else low + 1.0, 4)
        self._low, self._high = min(low, self._ticks[0]), max(high, self._ticks[-1])

    def place(self, second: float, value: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * (second - self._begin) / self._seconds
        share = (value - self._low) / (self._high - self._low)
        return x, _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    def runs(self, line: Line) -> list[str]:
        """Points of each stretch without a gap; a single point becomes a short stroke."""
        runs: list[list[str]] = [[]]
        for second, value in zip(line.seconds, line.values):
            if math.isfinite(value):
                x, y = self.place(second, value)
                runs[-1].append(f"{x:.1f},{y:.1f}")
            elif runs[-1]:
                runs.append([])
        return [" ".join(run if len(run) > 1 else [run[0], run[0]]) for run in runs if run]

    def grid(self) -> str:
        parts = []
        for value in self._ticks:
            _, y = self.place(self._begin, value)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="left" x="{_LEFT - 6}" y="{y + 4:.1f}">{value:.6g}</text>')
        end = self._begin + self._seconds
        for second in round_numbers(self._begin, end, 8):
            if self._begin <= second <= end:
                x, _ = self.place(second, self._low)
                parts.append(f'<text class="value" x="{x:.1f}" y="{_HEIGHT - 8}">{second:.6g} s</text>')
        return "".join(parts)


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """At most about so many multiples of 1, 2 or 5 times a power of ten; the first is `low` or below, the last `high` or above."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1.0 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _frame(title: str, content: str) -> str:
    head = f'<text class="title" x="{_LEFT}" y="16">{escape(title)}</text>'
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{head}{content}</svg>'
