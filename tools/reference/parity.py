"""The engine against the official PyTorch code at true size, from the uint8 picture on: parity.py [--threads N] [MODEL ...]

Seeded weights in the official checkpoint layout go through the converter; then the official forward and the engine run on the same picture,
and every stage is compared. Run in the parity environment with the extension built (`make parity`).
"""

from __future__ import annotations

import argparse
import gc
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import official
import torch
from cache import cached_path
from comparison import BOUND, RMS_BOUND, rms_error, stage_bound, worst_error

from depth_anything_ros import Engine, Prediction
from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import HyperParameters
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

PICTURE_SIZES = {"504x336": (640, 427), "504x378": (640, 480), "504x280": (640, 356)}
"""Processed size to the width and height of the picture."""
SIZES = {"da3-small": ("504x336", "504x378"), "da3-base": ("504x336", "504x378"), "da3metric-large": ("504x280",)}
OUTPUTS = ("depth", "confidence", "sky", "extrinsics", "intrinsics", "pose_encoding")
NOT_STAGES = (*OUTPUTS[:-1], "filled_depth")


@dataclass(frozen=True)
class Row:
    """One comparison of the engine with the official float32 forward."""

    model: str
    size: str
    tensor: str
    error: float
    """Largest relative error (`comparison.worst_error`)."""
    rms: float
    """`comparison.rms_error`."""
    rounding: float
    """Largest relative error of PyTorch's float32 itself, against its float64."""

    @property
    def bound(self) -> float:
        return BOUND if self.tensor in OUTPUTS else stage_bound(self.rounding)

    @property
    def passed(self) -> bool:
        return self.error <= self.bound and self.rms <= RMS_BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"default: {' '.join(SIZES)}")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = [row for name in args.models or SIZES for row in _compared(name, args.threads)]
    outputs = max(row.error for row in rows if row.tensor in OUTPUTS)
    failed = sum(not row.passed for row in rows)
    print(f"\n{len(rows)} tensors compared; worst output {outputs:.1e} (bound {BOUND:.0e}); {failed} above their bound")
    return 1 if failed else 0


def _compared(name: str, threads: int) -> list[Row]:
    parameters = OFFICIAL_MODELS[name]
    net = official.network(parameters)
    path = _converted(net, parameters)
    pictures = {size: official.picture(PICTURE_SIZES[size]) for size in SIZES[name]}
    inputs = {
        size: official.normalised(official.processed(picture, parameters.resize_target), parameters) for size, picture in pictures.items()
    }
    references = {size: official.forward(net, x) for size, x in inputs.items()}
    rounding = {size: official.rounding(net, x, references[size]) for size, x in inputs.items()}
    del net
    gc.collect()  # the weights are not held while the engine holds its own
    rows = []
    with Engine.load(path, threads=threads) as engine:
        for size, reference in references.items():
            stages = [stage for stage in reference if stage not in NOT_STAGES]
            found = _arrays(engine.infer(pictures[size], fill_sky=False, stages=stages))
            new = [_row(name, size, tensor, found[tensor], reference[tensor], rounding[size]) for tensor in found]
            _print(new)
            rows += new
    return rows


def _row(model: str, size: str, tensor: str, found: np.ndarray, expected: np.ndarray, rounding: dict[str, float]) -> Row:
    errors = worst_error(tensor, found, expected), rms_error(tensor, found, expected)
    return Row(model, size, tensor, *errors, rounding.get(tensor, 0.0))


def _converted(net: torch.nn.Module, parameters: HyperParameters) -> Path:
    """The GGUF file of the official checkpoint of `net`, through the converter; kept while the seeded weights stay the same."""
    path = cached_path(parameters, ".gguf")
    if not path.exists():
        checkpoint = path.with_suffix(".safetensors")
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
    print(f"\n{rows[0].model} {rows[0].size}\n  tensor           largest error     bound  PyTorch's rounding  rms error")
    for row in rows:
        verdict = "" if row.passed else "  ABOVE THE BOUND"
        print(f"  {row.tensor:16s} {row.error:13.1e} {row.bound:9.1e} {row.rounding:19.1e} {row.rms:10.1e}{verdict}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
