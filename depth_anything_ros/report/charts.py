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
COLOURS = ("#2f6db5", "#c2542d", "#3d8f4f", "#8a5aa8")


@dataclass(frozen=True)
class Line:
    """Values over time; those that are not finite leave a gap."""

    name: str
    seconds: Sequence[float]
    values: Sequence[float]


def line_chart(title: str, lines: Sequence[Line]) -> str:
    """An SVG element of up to four lines: seconds to the right, from 0 (or the least value below it) to the largest value upwards."""
    times = [time for line in lines for time in line.seconds]
    values = [value for line in lines for value in line.values if math.isfinite(value)]
    if not values:
        return _frame(title, '<text class="empty" x="430" y="100">no values</text>')
    scale = _Scale(max(times), min(0.0, *values), max(values))
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

    def __init__(self, seconds: float, low: float, high: float) -> None:
        self._seconds = seconds or 1.0
        self._low, self._high = low, high if high > low else low + 1.0

    def place(self, second: float, value: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * second / self._seconds
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
        for share in (0.0, 0.5, 1.0):
            value, second = self._low + share * (self._high - self._low), share * self._seconds
            _, y = self.place(0.0, value)
            x, _ = self.place(second, self._low)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="left" x="{_LEFT - 6}" y="{y + 4:.1f}">{value:.4g}</text>')
            anchor = ("start", "middle", "end")[round(2 * share)]
            parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{second:.4g} s</text>')
        return "".join(parts)


def _frame(title: str, content: str) -> str:
    head = f'<text class="title" x="{_LEFT}" y="16">{escape(title)}</text>'
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{head}{content}</svg>'
