"""Time the engine, alone or against PyTorch, ONNX Runtime and OpenVINO, in one interleaved run; or look into its time.

    depth-anything-ros bench                                  # seeded weights of DA3-SMALL, 504x336, 1 and 2 threads
    depth-anything-ros bench --model my.gguf --study parts    # where a frame's time goes

docs/benchmarks.md says what is measured and what the rivals need.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import sys
import tempfile
from pathlib import Path

from depth_anything_ros.cli import bench_options

add_arguments = bench_options.add_arguments


def run(args: argparse.Namespace) -> int:
    from depth_anything_ros.bench.race import beside_busy, race, table
    from depth_anything_ros.checks.processor import this_processor

    (width, height), threads = bench_options.size(args.size), bench_options.threads(args.threads)
    bench_options.check(args)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if args.study:
            from depth_anything_ros.bench.studies import report

            model = _model_file(args.model, Path(folder))
            print(report(args.study.split(","), model, (width, height), threads, args.rounds))
            return 0
        contenders = _contenders(args, (width, height), threads, Path(folder))
        for contender in contenders:
            print(f"starting {contender.name} with {contender.threads} threads ...", file=sys.stderr, flush=True)
            stack.callback(contender.stop)
            contender.start()
        print(f"{args.rounds} rounds ...", file=sys.stderr, flush=True)
        depths = [contender.depth(Path(folder) / "depth.npy") for contender in contenders]
        race(contenders, args.rounds)
        busy = beside_busy(contenders, args.rounds) if args.beside_busy else ""
    processor = this_processor()
    machine = f"{platform.machine()} {processor.name} x {processor.cores}, {platform.release()}"
    print(f"{args.model} {width}x{height}, {args.rounds} rounds, {machine}")
    for contender in contenders:
        print(f"  {contender.name}: {', '.join(f'{name} {value}' for name, value in contender.facts.items())}")
    print(table(contenders, depths) + busy)
    return 0


def _contenders(args: argparse.Namespace, size: tuple[int, int], threads: list[int], folder: Path) -> list:
    """The engine and its rivals, for each number of threads. Raises what loading the model raises."""
    from depth_anything_ros.bench.contender import resolution_at
    from depth_anything_ros.bench.race import Contender

    numbers = [str(extent) for extent in size]
    model = _model_file(args.model, folder)
    resolution = str(resolution_at(model, size, instruction_set=args.instruction_set, device=args.device))
    contenders = []
    for count in threads:
        engine = [sys.executable, "-m", "depth_anything_ros.bench.contender", str(model), *numbers, str(count), resolution]
        engine += ["--device", args.device, *(["--exact"] if args.exact else [])]
        engine += ["--instruction-set", args.instruction_set] if args.instruction_set else []
        contenders.append(Contender("this engine", count, engine))
        for rival in filter(None, args.against.split(",")):
            command = [str(args.rival_python), str(args.rival_script), rival, args.model, *numbers, str(count)]
            contenders.append(Contender(rival, count, command))
    return contenders


def _model_file(model: str, folder: Path) -> Path:
    """The file itself, or one with the seeded weights of an official model."""
    from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
    from depth_anything_ros.convert.seeded import write_seeded
    from depth_anything_ros.models.cache import resolve_model

    if model not in OFFICIAL_MODELS:
        return resolve_model(model)
    path = folder / f"{model}.gguf"
    write_seeded(path, OFFICIAL_MODELS[model])
    return path
