"""Tell what is installed, what this processor has, which backend runs, and how fast each model would be here.

    depth-anything-ros doctor              # a short run of a network with random weights, then estimates for all models
    depth-anything-ros doctor --no-speed   # without the run

What is missing, or does not work, is listed with the way to get it. The estimates follow from one measured time and the counted operations
of each model, so they may be off by a third; `bench --model NAME` measures one. Exit code 5 when the engine cannot run.
"""

from __future__ import annotations

import argparse
import platform

from depth_anything_ros.cli.doctor_speed import show_speed


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
        show_speed(arguments.threads)
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
