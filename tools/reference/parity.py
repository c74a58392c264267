"""The engine against the official PyTorch code at true size, from the uint8 picture on: parity.py [--cache FOLDER] [MODEL ...]

Seeded weights in the official checkpoint layout go through the converter; then the official forward and the engine run on the same picture,
and every stage is compared. Run in the parity environment with the extension built (`make parity`).
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import official
import torch
from comparison import worst_error

from depth_anything_ros import Engine, Prediction
from depth_anything_ros.convert import seeded
from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import HyperParameters
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

BOUND = 1e-4
PICTURE_SIZES = {"504x336": (640, 427), "504x378": (640, 480), "504x280": (640, 356)}
"""Processed size to the width and height of the picture."""
SIZES = {"da3-small": ("504x336", "504x378"), "da3-base": ("504x336", "504x378"), "da3metric-large": ("504x280",)}
NOT_STAGES = ("depth", "confidence", "sky", "filled_depth", "extrinsics", "intrinsics")


@dataclass(frozen=True)
class Row:
    """One comparison: the largest relative error of one tensor."""

    model: str
    size: str
    tensor: str
    error: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"default: {' '.join(SIZES)}")
    parser.add_argument("--cache", type=Path, default=Path(".local/parity-models"), help="folder for the converted models")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = [row for name in args.models or SIZES for row in _compared(name, args.cache, args.threads)]
    failed = [row for row in rows if not row.error <= BOUND]
    print(f"\n{len(rows)} tensors compared, worst {max(row.error for row in rows):.1e}, bound {BOUND:.0e}, {len(failed)} above it")
    return 1 if failed else 0


def _compared(name: str, cache: Path, threads: int) -> list[Row]:
    parameters = OFFICIAL_MODELS[name]
    net = official.network(parameters)
    path = _converted(net, parameters, cache)
    pictures = {size: official.picture(PICTURE_SIZES[size]) for size in SIZES[name]}
    references = {}
    for size, picture in pictures.items():
        pixels = official.processed(picture, parameters.resize_target)
        assert f"{pixels.shape[1]}x{pixels.shape[0]}" == size, pixels.shape
        references[size] = official.forward(net, official.normalised(pixels, parameters))
    del net
    gc.collect()  # the weights are not held while the engine holds its own
    rows = []
    with Engine.load(path, threads=threads) as engine:
        for size, reference in references.items():
            stages = [stage for stage in reference if stage not in NOT_STAGES]
            found = _arrays(engine.infer(pictures[size], fill_sky=False, stages=stages))
            rows += [Row(name, size, tensor, worst_error(tensor, found[tensor], reference[tensor])) for tensor in found]
            _print(rows[-len(found) :])
    return rows


def _converted(net: torch.nn.Module, parameters: HyperParameters, cache: Path) -> Path:
    """The GGUF file of the official checkpoint of `net`, through the converter; kept while the seeded weights stay the same."""
    recipe = hashlib.sha256((inspect.getsource(seeded) + repr(parameters)).encode()).hexdigest()[:12]
    path = cache / f"{parameters.checkpoint_name}-{recipe}.gguf"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        checkpoint = cache / "official.safetensors"
        official.save_checkpoint(net, checkpoint)
        model = next(name for name, known in OFFICIAL_MODELS.items() if known == parameters)
        convert(checkpoint, path, model=model)
        checkpoint.unlink()
    return path


def _arrays(prediction: Prediction) -> official.Arrays:
    """Every stage and output of a prediction, by the names of `official.forward`."""
    arrays = {**prediction.stages, "depth": prediction.depth}
    arrays |= {name: getattr(prediction, name) for name in ("confidence", "sky", "extrinsics") if getattr(prediction, name) is not None}
    if prediction.intrinsics is not None:
        k = prediction.intrinsics
        arrays["intrinsics"] = np.array([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1]])
    return arrays


def _print(rows: list[Row]) -> None:
    print(f"\n{rows[0].model} {rows[0].size}")
    for row in rows:
        print(f"  {row.tensor:16s} {row.error:9.1e}{'' if row.error <= BOUND else '  ABOVE THE BOUND'}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
