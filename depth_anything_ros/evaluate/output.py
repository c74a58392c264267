"""An evaluation as a table for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from depth_anything_ros.evaluate.evaluation import Evaluation, Numbers
from depth_anything_ros.evaluate.metrics import NUMBERS
from depth_anything_ros.files import write_file

TITLES = {"abs_rel": "AbsRel", "rmse": "RMSE", "delta1": "δ1", "delta2": "δ2", "delta3": "δ3", "silog": "SILog", "coverage": "coverage"}


def table(evaluation: Evaluation) -> str:
    """Lines of text: the whole, then each band that has pixels, then the scale."""
    rows = [("all", evaluation.total.pixels, evaluation.total.numbers())]
    for (low, high), sums in evaluation.bands.items():
        if sums.pixels or sums.missing:
            rows.append((f"{low:g} to {high:g} m", sums.pixels, sums.numbers()))
    lines = [f"{'distance':<14}{'pixels':>12}" + "".join(f"{TITLES[name]:>10}" for name in NUMBERS)]
    lines += [f"{name:<14}{pixels:>12}" + "".join(f"{_shown(name_of, numbers)}" for name_of in NUMBERS) for name, pixels, numbers in rows]
    return "\n".join([*lines, *_about_scale(evaluation)])


def write_csv(evaluation: Evaluation, path: Path) -> None:
    """A line per frame, then one per band, then one for all; columns of `metrics.NUMBERS`. Raises InputError."""
    lines: list[list[object]] = [["what", "stamp_ns", "from", "to", "pixels", "scale", "shift", *NUMBERS]]
    for frame in evaluation.frames:
        lines.append(["frame", frame.stamp_ns, "", "", "", repr(frame.fit.factor), repr(frame.fit.shift), *_values(frame.numbers)])
    for (low, high), sums in evaluation.bands.items():
        lines.append(["band", "", low, high, sums.pixels, "", "", *_values(sums.numbers())])
    fit = evaluation.fit
    lines.append(["all", "", "", "", evaluation.total.pixels, repr(fit.factor), repr(fit.shift), *_values(evaluation.total.numbers())])
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    write_file(path, text.getvalue().encode())


def about_fit(evaluation: Evaluation) -> str:
    """How the depth was brought to the truth, in words."""
    fit = evaluation.fit
    if evaluation.align == "none":
        return "no scale applied"
    if evaluation.align == "frame":
        return "inverse depth, each frame at its own scale and shift" if fit.inverse else "each frame at its own scale"
    if fit.inverse:
        return f"inverse depth at one scale {fit.factor:.4g} and shift {fit.shift:.4g} 1/m for the whole recording (least squares)"
    return f"at one scale {fit.factor:.4g} for the whole recording (median of the frames)"


def _about_scale(evaluation: Evaluation) -> list[str]:
    drift = evaluation.drift
    trend = f"{100.0 * (drift.total - 1.0):+.2f} % from the first to the last frame, {100.0 * drift.spread:.2f} % about that trend"
    return [
        f"{len(evaluation.frames)} frames with truth, {evaluation.unpaired} without; {about_fit(evaluation)}",
        f"drift of the scale: {trend if drift.spread == drift.spread else 'not known, fewer than three frames'}",
    ]


def _shown(name: str, numbers: Numbers) -> str:
    return f"{numbers[name]:>10.2f}" if name == "silog" else f"{numbers[name]:>10.4f}"


def _values(numbers: Numbers) -> list[str]:
    return [repr(numbers[name]) for name in NUMBERS]
