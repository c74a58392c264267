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

from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="da3-small",
        help="GGUF file, or a name: of official models with random weights of that size, else fetched (default %(default)s)",
    )
    parser.add_argument("--size", default="504x336", help="processed width x height, multiples of 14 (default %(default)s)")
    parser.add_argument("--threads", default="1,2", help="thread counts, comma separated (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured frames of each contender (default %(default)s)")
    parser.add_argument("--exact", action="store_true", help="compute a quantised --model in floats too")
    parser.add_argument(
        "--instruction-set", default="", metavar="NAME", help="of this engine, such as avx2 (default: the best one of the machine)"
    )
    parser.add_argument("--device", default="cpu", metavar="NAME", help="of this engine's race: cpu (default), ggml, cuda, vulkan")
    parser.add_argument("--against", default="", help="of an official --model: torch, torch-full, onnxruntime, openvino; comma separated")
    parser.add_argument("--beside-busy", action="store_true", help="race again beside a process that keeps one core busy")
    parser.add_argument("--study", default="", help="instead of the race, comma separated: parts, growth, load, around")
    parser.add_argument(
        "--rival-python", type=user_path, default=Path(".local/parity/bin/python"), help="interpreter with the rivals installed"
    )
    parser.add_argument("--rival-script", type=user_path, default="tools/reference/rival.py", help="script that runs a rival")


def run(args: argparse.Namespace) -> int:
    from depth_anything_ros.bench.race import beside_busy, race, table
    from depth_anything_ros.checks.processor import this_processor

    (width, height), threads = _size(args.size), _threads(args.threads)
    if args.rounds < 1:
        raise OptionError("option.range", f"--rounds is {args.rounds}; it must be 1 or more.")
    if args.study and (args.against or args.beside_busy or args.exact or args.instruction_set or args.device != "cpu"):
        raise OptionError("option.range", "--study takes --model, --size, --threads and --rounds; the other options are the race's.")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if args.study:
            from depth_anything_ros.bench.studies import report

            model = _model_file(args.model, Path(folder))
            print(report(args.study.split(","), model, (width, height), threads, args.rounds))
            return 0
        contenders = _contenders(args, (width, height), Path(folder))
        for contender in contenders:
            print(f"starting {contender.name} with {contender.threads} threads ...", file=sys.stderr, flush=True)
            contender.start()
            stack.callback(contender.stop)
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


def _contenders(args: argparse.Namespace, size: tuple[int, int], folder: Path) -> list:
    """The engine and its rivals, for each number of threads. Raises what loading the model raises."""
    from depth_anything_ros.bench.contender import resolution_at
    from depth_anything_ros.bench.race import Contender

    numbers = [str(extent) for extent in size]
    model = _model_file(args.model, folder)
    resolution = str(resolution_at(model, size, instruction_set=args.instruction_set, device=args.device))
    contenders = []
    for threads in _threads(args.threads):
        engine = [sys.executable, "-m", "depth_anything_ros.bench.contender", str(model), *numbers, str(threads), resolution]
        engine += ["--device", args.device, *(["--exact"] if args.exact else [])]
        engine += ["--instruction-set", args.instruction_set] if args.instruction_set else []
        contenders.append(Contender("this engine", threads, engine))
        for rival in filter(None, args.against.split(",")):
            command = [str(args.rival_python), str(args.rival_script), rival, args.model, *numbers, str(threads)]
            contenders.append(Contender(rival, threads, command))
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


def _size(text: str) -> tuple[int, int]:
    parts = text.split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 and int(part) % 14 == 0 for part in parts):
        raise OptionError("option.range", f"--size is {text!r}; it must be width x height in multiples of 14, such as 504x336.")
    return int(parts[0]), int(parts[1])


def _threads(text: str) -> list[int]:
    counts = text.split(",")
    if not all(count.isdecimal() and int(count) > 0 for count in counts):
        raise OptionError("option.range", f"--threads is {text!r}; it must be numbers from 1, comma separated.")
    return [int(count) for count in counts]
