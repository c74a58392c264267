"""What the verb demo prints: the model, how far it is, and the results."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depth_anything_ros.ros.demo_model import DemoModel


def describe(model: DemoModel) -> None:
    info = model.info
    print(f"     {info.checkpoint} ({info.parameters / 1e6:.1f} M parameters, weights under {info.license}), {info.path}")
    if model.doubt:
        lines = (
            "NOT FOR A ROBOT:",
            *textwrap.wrap(f"{info.checkpoint} {model.doubt}."),
            "Another one: --model NAME_OR_FILE (make demo MODEL=...)",
        )
        width = max(map(len, lines))
        edge = f"     +{'-' * (width + 2)}+"
        print("\n".join([edge, *(f"     | {line:<{width}} |" for line in lines), edge]))
    print(f"     {model.seconds * 1e3:.0f} ms a frame on this machine", flush=True)


class Progress:
    """One line that is written over on a terminal, and now and then a line elsewhere."""

    def __init__(self) -> None:
        self._shown, self._next = "", 0.0

    def __call__(self, text: str) -> None:
        if text == self._shown or time.monotonic() < self._next:
            return
        terminal = sys.stdout.isatty()
        print(f"\r     {text:<60}" if terminal else f"     {text}", end="" if terminal else "\n", flush=True)
        self._shown, self._next = text, time.monotonic() + (0.1 if terminal else 2.0)


def report(folder: Path, camera: Path, model: DemoModel) -> None:
    from depth_anything_ros.ros.demo_report import DemoReport

    results = DemoReport(folder / "depth", camera)
    numbers = results.numbers()
    print(f"     frames: {numbers.frames} in, {numbers.processed} processed, {numbers.dropped} dropped (a newer one was there)")
    print(f"     latency: p50 {numbers.latency_p50:.0f} ms, p95 {numbers.latency_p95:.0f} ms; engine {numbers.inference_p50:.0f} ms")
    if accuracy := results.accuracy():
        print(
            f"     AbsRel {accuracy.abs_rel:.3f} against the true depth ({model.unit}); {accuracy.within:.0%} within 25 %, "
            f"depth for {accuracy.covered:.1%} of the pixels that have a true one"
        )
    sheet, cloud = folder / "contact_sheet.png", folder / "cloud.png"
    results.write_sheet(sheet, model.caption)
    print(f"     contact sheet: {sheet}")
    if results.write_cloud(cloud, model.caption):
        print(f"     point cloud:   {cloud}")
    print(f"     output bag:    {folder / 'depth'}")
    print(f"     logs:          {folder}/*.log")
