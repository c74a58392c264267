"""Make a smaller model file: 2-D weights as f16, q8_0, q6_k, q5_k or q4_k.

    depth-anything-ros quantize da3-base.gguf da3-base-q8_0.gguf --type q8_0

Convolutions, biases, norms and tokens stay f32. Rows that a K type cannot fill (DA3-SMALL has 384 values) become q8_0.
With --refine the same types are closer to f32, at the same size and speed; without it the files are those that others publish.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=user_path, help="f32 or f16 GGUF file, or name of a fetched model (verb models)")
    parser.add_argument("output", type=user_path, help="GGUF file to write")
    parser.add_argument("--type", default="q8_0", help="f16, q8_0 (default), q6_k, q5_k or q4_k")
    parser.add_argument("--refine", action="store_true", help="scales by what the norms let into each matrix, and corrected biases")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.convert.quantize import quantize
    from depth_anything_ros.models.cache import resolve_model
    from depth_anything_ros.progress import Progress

    source = resolve_model(arguments.model)
    before = source.stat().st_size
    progress = Progress(sys.stderr if sys.stderr.isatty() else None, "tensors", "a second")
    infos = quantize(source, arguments.output, arguments.type, arguments.refine, progress)
    counts = Counter(info.type.name.lower() for info in infos)
    types = ", ".join(f"{count} tensors {name}" for name, count in sorted(counts.items()))
    print(f"{arguments.output}: {types}; {before / 1e6:.1f} MB -> {arguments.output.stat().st_size / 1e6:.1f} MB")
    return 0
