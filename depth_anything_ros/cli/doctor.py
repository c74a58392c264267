"""Tell what is installed, what this processor has, which backend runs, and how fast each model would be here.

    depth-anything-ros doctor              # a short run of a network with random weights, then estimates for all models
    depth-anything-ros doctor --no-speed   # without the run

What is missing, or does not work, is listed with the way to get it. The estimates follow from one measured time and the counted operations
of each model, so they may be off by a third; `bench --model NAME` measures one. Exit code 5 when the engine cannot run.
"""

from __future__ import annotations

import argparse
import platform
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-speed", action="store_true", help="no measured run, no estimates")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="CPU threads of the run; 0 takes the cores that may be used")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros import __version__
    from depth_anything_ros.checks.packages import PACKAGES, described, find_package
    from depth_anything_ros.errors import DeviceError

    print(f"depth_anything_ros {__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}")
    _show_processor()
    found = {package: find_package(package) for package in PACKAGES}
    print("\npackages")
    for package, one in found.items():
        print(f"  {described(package, one)}")
    _show_models()
    for package, one in found.items():
        if package.needed and (one is None or one.problem):
            state = "is missing" if one is None else f"cannot be imported ({one.problem})"
            raise DeviceError("device.unavailable", f"{package.module} {state}; nothing can run without it. {package.get}")
    if not arguments.no_speed:
        _show_speed(arguments.threads)
    return 0


def _show_processor() -> None:
    from depth_anything_ros.checks.processor import this_processor

    processor = this_processor()
    cores = f"{processor.cores} cores" + ("" if processor.allowed == processor.cores else f", {processor.allowed} of them may be used")
    print(f"\nprocessor\n  {processor.name}, {cores}, {processor.memory / 1e9:.1f} GB of memory free")
    print(f"  {' '.join(processor.features) or 'none of the features that make networks fast'}")


def _show_models() -> None:
    from depth_anything_ros.models.cache import default_folder, is_fetched
    from depth_anything_ros.models.registry import MODELS

    shipped = " ".join(model.name for model in MODELS if model.is_shipped)
    print(f"\nmodels in the package, for demos and tests\n  {shipped}")
    here = " ".join(model.name for model in MODELS if not model.is_shipped and is_fetched(model))
    print(f"\nmodels in {default_folder()}\n  {here or 'none; to get one: depth-anything-ros models fetch da3-small'}")


def _show_speed(threads: int) -> None:
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
