"""The part of the verb doctor that measures: one short run, and from it the speed of every model."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depth_anything_ros.checks.speed import Run
    from depth_anything_ros.convert.hyper_parameters import HyperParameters

CAMERA = (640, 480)
MEASURED_MODEL = "da3-small"
MEASURED_SIZE = (252, 196)


def show_speed(threads: int) -> None:
    from depth_anything_ros.checks.speed import measure
    from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
    from depth_anything_ros.convert.operations import operations
    from depth_anything_ros.convert.seeded import write_seeded

    print("\nmeasuring ...", file=sys.stderr, flush=True)
    parameters = OFFICIAL_MODELS[MEASURED_MODEL]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "seeded.gguf"
        write_seeded(path, parameters)
        run = measure(path, *MEASURED_SIZE, threads)
    rate = operations(parameters, *MEASURED_SIZE) / run.seconds
    print(f"\nbackend\n  {run.device}, kernels {run.instruction_set}")
    print(f"\nspeed: {_text(parameters, run, rate)}\n  {'model':<22} {'processed':>10} {'GFLOP':>8} {'frames/s':>9}")
    for name, models in _models().items():
        size = _size(models[0])
        needed = sum(operations(model, *size) for model in models)
        print(f"  {name:<22} {f'{size[0]}x{size[1]}':>10} {needed / 1e9:>8.0f} {rate / needed:>9.2g}")
    print("  faster: a lower resolution (308: a third of the work of 504), quantised files (verb quantize)")


def _text(parameters: HyperParameters, run: Run, rate: float) -> str:
    size = "x".join(map(str, MEASURED_SIZE))
    return (
        f"{parameters.checkpoint_name} (random weights) took {run.seconds * 1e3:.0f} ms at {size}: {rate / 1e9:.0f} GFLOP/s.\n"
        f"  ESTIMATED from that, for f32 files and pictures of {CAMERA[0]}x{CAMERA[1]}; may be off by a third"
    )


def _size(parameters: HyperParameters) -> tuple[int, int]:
    from depth_anything_ros.convert.operations import processed_size

    return processed_size(parameters, *CAMERA)


def _models() -> dict[str, list[HyperParameters]]:
    """Name to its networks; models of equal cost share a row."""
    from depth_anything_ros.convert.official_models import OFFICIAL_MODELS, OFFICIAL_PAIRS

    single = [name for name in OFFICIAL_MODELS if "nested" not in name and "1.1" not in name and "da2-metric" not in name]
    rows = {name: [OFFICIAL_MODELS[name]] for name in single}
    return {**rows, **{name: [OFFICIAL_MODELS[half] for half in halves] for name, halves in OFFICIAL_PAIRS.items()}}
