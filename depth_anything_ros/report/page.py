"""The page of a report: one HTML file that holds everything, styles, scripts and three.js included."""

from __future__ import annotations

import base64
import json
import math
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from depth_anything_ros import __version__
from depth_anything_ros.errors import InputError
from depth_anything_ros.evaluate.evaluation import Evaluation
from depth_anything_ros.evaluate.metrics import NUMBERS, ErrorSums
from depth_anything_ros.evaluate.output import TITLES, about_fit
from depth_anything_ros.files import write_file
from depth_anything_ros.replay.run import Summary
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.report.charts import bar_chart, line_chart
from depth_anything_ros.report.content import CameraContent, CloudFrame, Tile, gather

_STEPS = 32767
_LEGEND = (
    "AbsRel: mean of |p - t| / t · RMSE: metres · δ1 to δ3: share whose ratio is within 1.25, 1.25², 1.25³ · SILog: 100 times the spread "
    "of log p - log t, blind to the scale · coverage: share of the truth that has depth"
)


def write_report(summary: Summary, recording: SourceOptions, folder: Path, truth: str = "") -> Path:
    """Write report.html into `folder` and give its path. truth: topic of the bag; empty looks for one.

    Raises InputError (no depth in the bag, folder cannot be written) and what `evaluate` raises for a given truth.
    """
    cameras = gather(Path(summary.output), recording, summary.cameras, summary.kind, truth)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("input.file", f"Folder {folder} cannot be made: {error.strerror}.") from error
    path = folder / "report.html"
    write_file(path, _page(summary, recording, cameras).encode())
    return path


def _page(summary: Summary, recording: SourceOptions, cameras: list[CameraContent]) -> str:
    clouds = [cloud for camera in cameras for cloud in camera.clouds]
    return Template(_asset("page.html")).substitute(
        title=escape(f"Depth of {recording.path.name or recording.path}"),
        style=_asset("style.css"),
        summary=_summary(summary, recording),
        cameras="".join(map(_camera, cameras)),
        # `<` would end the element early if a topic's name held a tag.
        clouds=json.dumps([_packed(cloud) for cloud in clouds]).replace("<", "\\u003c"),
        license=escape(_asset("three.LICENSE")),
        three=_asset("three.min.js"),
        viewer=_asset("viewer.js"),
        version=__version__,
    )


def _summary(summary: Summary, recording: SourceOptions) -> str:
    rows = [
        ("recording", str(recording.path)),
        ("output", summary.output),
        ("pictures", f"{summary.pictures}: {summary.processed} processed, {summary.passed_over} passed over, {summary.refused} refused"),
        ("model", f"{summary.model} ({summary.kind.replace('_', ' ')})"),
        ("engine", f"{1e3 * summary.infer_seconds / max(summary.processed, 1):.1f} ms a picture (mean)"),
        *(("warning", text) for text in summary.warnings),
        *(("refused", text) for text in summary.refusals),
    ]
    return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows) + "</table>"


def _camera(content: CameraContent) -> str:
    parts = [f"<h2>{escape(content.name)}</h2>", f"<p>Depth in {escape(content.unit)}.</p>", '<section class="charts">']
    parts.append(line_chart("Time per picture, ms", content.latency, span=content.span))
    if content.confidence:
        parts.append(line_chart("Confidence and coverage, 0 to 1", content.confidence, span=content.span))
    if content.scale:
        parts.append(line_chart("Scale, metres per unit of the network", content.scale, span=content.span, from_zero=False))
    if content.ratio:
        unit = "true over shown depth; 1 is right" if content.unit.startswith("metres") else "metres per unit"
        parts.append(line_chart(f"Scale by the truth ({unit})", content.ratio, span=content.span, from_zero=False))
    parts.append("</section><h3>Accuracy</h3>")
    parts.append(f"<p>{escape(content.remark)}</p>" if content.evaluation is None else _accuracy(content.evaluation))
    parts.append('<h3>Contact sheet</h3><section class="sheet">')
    for row in content.rows:
        parts.append(f'<div class="row"><span>{row.seconds:.2f} s</span>{"".join(map(_figure, row.tiles))}</div>')
    return "".join([*parts, "</section>"])


def _figure(tile: Tile) -> str:
    name = escape(tile.name)
    return f'<figure><img alt="{name}" src="data:image/jpeg;base64,{_base64(tile.jpeg)}"><figcaption>{name}</figcaption></figure>'


def _accuracy(evaluation: Evaluation) -> str:
    head = "".join(f"<th>{escape(TITLES[name])}</th>" for name in NUMBERS)
    bands = {f"{low:g} to {high:g} m": sums for (low, high), sums in evaluation.bands.items() if sums.pixels}
    rows = "".join(_row(name, sums) for name, sums in {"all": evaluation.total, **bands}.items())
    drift = evaluation.drift
    trend = "" if math.isnan(drift.spread) else f" Its scale drifts by {100 * (drift.total - 1):+.2f} %."
    compared = f"{evaluation.depth} against {evaluation.truth}: {len(evaluation.frames)} frames, {about_fit(evaluation)}.{trend}"
    warnings = "".join(f"<p>Warning: {escape(problem)}.</p>" for problem in evaluation.problems)
    return (
        f"<p>{escape(compared)}</p>{warnings}"
        f'<table class="numbers"><tr><th>true distance</th><th>pixels</th>{head}</tr>{rows}</table>'
        f'<p class="hint">{escape(_LEGEND)}</p>'
        + bar_chart("AbsRel by true distance", [(name, sums.numbers()["abs_rel"]) for name, sums in bands.items()])
    )


def _row(name: str, sums: ErrorSums) -> str:
    cells = [f"{sums.pixels:,}".replace(",", "\u2009"), *(_shown(sums.numbers()[one]) for one in NUMBERS)]
    return f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _packed(cloud: CloudFrame) -> dict[str, object]:
    """Coordinates as int16 steps of one size; base64, little endian."""
    step = float(np.max(np.abs(cloud.xyz))) / _STEPS or 1.0
    steps = np.rint(cloud.xyz / np.float32(step)).astype("<i2")
    return {"name": cloud.name, "step": step, "xyz": _base64(steps.tobytes()), "rgb": _base64(cloud.rgb.tobytes())}


def _shown(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.3f}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _asset(name: str) -> str:
    return (files("depth_anything_ros.report") / "assets" / name).read_text(encoding="utf-8")
