"""Pictures of an evaluation, by matplotlib: errors by distance, and over time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.evaluate.evaluation import Evaluation


def check_matplotlib() -> None:
    """Raises OptionError without matplotlib."""
    if find_spec("matplotlib") is None:
        raise OptionError("option.range", 'Plots need matplotlib: pip install "depth_anything_ros[evaluate]".')


def write_plots(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write by_distance.png and over_time.png; matplotlib is there. Raises InputError when the folder cannot be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, draw in (("by_distance.png", _by_distance), ("over_time.png", _over_time)):
            figure = Figure(figsize=(9, 6), layout="constrained")
            FigureCanvasAgg(figure)
            draw(evaluation, figure)
            figure.savefig(folder / name, dpi=110)
            paths.append(folder / name)
    except OSError as error:
        raise InputError("input.file", f"{folder} cannot be written: {error.strerror}.") from error
    return paths


def _by_distance(evaluation: Evaluation, figure) -> None:  # type: ignore[no-untyped-def]
    bands = {band: sums for band, sums in evaluation.bands.items() if sums.pixels}
    shares = [sums.pixels / max(evaluation.total.pixels, 1) for sums in bands.values()]
    names = [f"{low:g} to {high:g}\n{_percent(share)}" for (low, high), share in zip(bands, shares)]
    numbers = [sums.numbers() for sums in bands.values()]
    figure.suptitle(f"{evaluation.depth} against {evaluation.truth}")
    panels = (("abs_rel", "AbsRel"), ("rmse", "RMSE, m"), ("delta1", "δ1"), ("silog", "SILog"))
    for axes, (name, title) in zip(figure.subplots(2, 2).flat, panels):
        axes.bar(names, [one[name] for one in numbers], color="#3b6ea5")
        axes.set_title(title)
        axes.set_xlabel("true distance, m, and its share of the pixels")
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", alpha=0.3)


def _over_time(evaluation: Evaluation, figure) -> None:  # type: ignore[no-untyped-def]
    seconds = np.array([(frame.stamp_ns - evaluation.frames[0].stamp_ns) * 1e-9 for frame in evaluation.frames])
    figure.suptitle(f"{evaluation.depth} against {evaluation.truth}")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(seconds, [frame.numbers["abs_rel"] for frame in evaluation.frames], color="#3b6ea5")
    upper.set_ylabel("AbsRel")
    upper.set_ylim(bottom=0.0)
    lower.plot(seconds, [frame.fit.factor for frame in evaluation.frames], color="#a5533b")
    lower.set_ylabel("best scale, 1/m per unit" if evaluation.fit.inverse else "best scale, true over predicted")
    lower.set_xlabel("seconds since the first frame")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "< 1 %"
