"""Turn an official checkpoint into a GGUF file.

    depth-anything-ros convert FOLDER da3-small.gguf                           # model.safetensors and config.json
    depth-anything-ros convert da3-large-1.1-official da3-large-1.1.gguf       # fetched with the verb models
    depth-anything-ros convert depth_anything_v2_vits.pth da2-small.gguf --model da2-small

A nested checkpoint becomes two files, NAME-anyview.gguf and NAME-metric.gguf. PyTorch is not needed; nothing in a .pth file is executed.
"""

from __future__ import annotations

import argparse
import sys

from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint",
        type=user_path,
        help="folder with model.safetensors and config.json, .safetensors or .pth file, or the name of a fetched one",
    )
    parser.add_argument("output", type=user_path, help="GGUF file to write")
    parser.add_argument("--type", default="f32", help="storage of the large weights: f32 (default) or f16; the verb quantize knows more")
    parser.add_argument("--model", help="official model name, such as da3-small; default: from config.json, else from the tensor shapes")
    parser.add_argument(
        "--with-aux", action="store_true", help="keep the auxiliary ray branch of any-view models (published files lack it)"
    )
    parser.add_argument("--with-pose-encoder", action="store_true", help="keep the encoder of known poses of any-view models (likewise)")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.convert.converter import convert
    from depth_anything_ros.models.cache import fetched, meant
    from depth_anything_ros.progress import Progress

    checkpoint, model = arguments.checkpoint, arguments.model
    known = meant(checkpoint)
    if known is not None and known.converts_as:
        checkpoint, model = fetched(known), model or known.converts_as
    written = convert(
        checkpoint,
        arguments.output,
        arguments.type,
        model,
        arguments.with_aux,
        arguments.with_pose_encoder,
        Progress(sys.stderr if sys.stderr.isatty() else None, "tensors", "a second"),
    )
    for path, parameters in written.items():
        print(
            f"{path}: {parameters.checkpoint_name}, {parameters.depth_kind}, weights under {parameters.license}, "
            f"{path.stat().st_size / 1e6:.1f} MB"
        )
    return 0
