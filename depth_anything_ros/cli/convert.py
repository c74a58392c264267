"""Turn an official checkpoint into a GGUF file."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, help="folder with model.safetensors and config.json, or a .safetensors file")
    parser.add_argument("output", type=Path, help="GGUF file to write")
    parser.add_argument("--type", default="f32", help="storage of the large weights: f32 (default) or f16")
    parser.add_argument("--model", help="official model name, such as da3-small; default: from config.json, else from the tensor shapes")


def run(args: argparse.Namespace) -> int:
    from depth_anything_ros.convert.converter import convert

    parameters = convert(args.checkpoint, args.output, args.type, args.model)
    print(
        f"{args.output}: {parameters.checkpoint_name}, {parameters.depth_kind}, weights under {parameters.license}, "
        f"{args.output.stat().st_size / 1e6:.1f} MB"
    )
    return 0
