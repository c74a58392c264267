"""Write a trained net as an official checkpoint: model.safetensors and config.json, ready for `depth-anything-ros convert`.

python -m training.export --net any-view --width 168 --output nano-any-view
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from .dataset import STATE
from .nets import NanoShape

LICENSE = "Apache-2.0"


def config(shape, width):
    """The `hyper_parameters` object that the converter reads, for a net that sees pictures `width` wide."""
    return {
        "architecture": "any_view" if shape.multi_view else "mono",
        "checkpoint_name": shape.checkpoint_name,
        "depth_kind": "relative_depth" if shape.multi_view else "metric",
        "license": LICENSE,
        "embed_dim": shape.embed_dim,
        "depth": shape.depth,
        "num_heads": shape.num_heads,
        "out_layers": list(shape.out_layers),
        "head_features": shape.features,
        "head_out_channels": list(shape.out_channels),
        "alt_start": shape.alt_start if shape.multi_view else -1,
        "pos_embed_grid": shape.pos_embed_grid,
        "resize_target": width,
    }


def export(average, shape, width, folder):
    """Weights `average` (name -> tensor, as in NanoNet) -> `folder` in the official layout."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({f"model.{name}": value.contiguous().float() for name, value in average.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"hyper_parameters": config(shape, width)}, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=("any-view", "metric"), required=True)
    parser.add_argument("--state", type=Path, default=STATE, help="folder for pictures and checkpoints")
    parser.add_argument("--width", type=int, default=168, help="picture width of the last training stage")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    options = parser.parse_args()
    average = torch.load(options.state / options.net / "last.pt", weights_only=False)["average"]
    export(average, NanoShape(multi_view=options.net == "any-view"), options.width, options.output)


if __name__ == "__main__":
    main()
