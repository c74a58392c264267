"""The options of the verb `bench`."""

from __future__ import annotations

import argparse
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
    parser.add_argument("--exact", action="store_true", help="compute everything in floats, a quantised --model too")
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


def check(args: argparse.Namespace) -> None:
    """Raises OptionError for options that do not go together."""
    from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

    if args.rounds < 1:
        raise OptionError("option.range", f"--rounds is {args.rounds}; it must be 1 or more.")
    if args.study and (args.against or args.beside_busy or args.exact or args.instruction_set or args.device != "cpu"):
        raise OptionError("option.range", "--study takes --model, --size, --threads and --rounds; the other options are the race's.")
    if args.against and args.model not in OFFICIAL_MODELS:
        raise OptionError(
            "option.range", f"--against needs an official --model, such as da3-small, which rivals can make too; {args.model} is none."
        )


def size(text: str) -> tuple[int, int]:
    """Width and height. Raises OptionError."""
    parts = text.split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 and int(part) % 14 == 0 for part in parts):
        raise OptionError("option.range", f"--size is {text!r}; it must be width x height in multiples of 14, such as 504x336.")
    return int(parts[0]), int(parts[1])


def threads(text: str) -> list[int]:
    """Raises OptionError."""
    counts = text.split(",")
    if not all(count.isdecimal() and int(count) > 0 for count in counts):
        raise OptionError("option.range", f"--threads is {text!r}; it must be numbers from 1, comma separated.")
    return [int(count) for count in counts]
