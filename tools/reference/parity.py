"""The engine against the official PyTorch code at true size, from the uint8 picture on: parity.py [--threads N] [MODEL ...]

Seeded weights in the official checkpoint layout go through the converter; then the official forward and the engine run on the same picture,
each in a process of its own, and every stage is compared. Run in the parity environment with the extension built (`make parity`).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from comparison import BOUND, RMS_BOUND, rms_error, stage_bound, worst_error
from true_size import CASES, Case

from depth_anything_ros import DepthKind, Engine, Prediction

OUTPUTS = ("depth", "clear_of_zero", "confidence", "sky", "extrinsics", "intrinsics", "pose_encoding", "scale_factor")
NOT_STAGES = (*(name for name in OUTPUTS if name != "pose_encoding"), "filled_depth", "inverse_depth")
CLEAR_OF_ZERO = 0.1
"""Inverse depth is zero where the network sees nothing. It is measured whole as a stage, and as an output where it is above so much rms."""
KEPT_BYTES = 500_000_000
"""Model files up to this size are kept for the next time."""
Arrays = dict[str, np.ndarray]


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
    rounding: float | None
    """Largest relative error of PyTorch's float32 itself, against its float64; None where it is not known."""

    @property
    def bound(self) -> float:
        if self.tensor in OUTPUTS:
            return BOUND
        return math.inf if self.rounding is None else stage_bound(self.rounding)

    @property
    def passed(self) -> bool:
        return self.error <= self.bound and self.rms <= RMS_BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"default: all of {' '.join(CASES)}")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    rows = [row for name in args.models or CASES for row in _compared(name, args.threads)]
    outputs = max(row.error for row in rows if row.tensor in OUTPUTS)
    failed = sum(not row.passed for row in rows)
    print(f"\n{len(rows)} tensors compared; worst output {outputs:.1e} (bound {BOUND:.0e}); {failed} above their bound")
    return 1 if failed else 0


def _compared(model: str, threads: int) -> list[Row]:
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        reference = Path(__file__).with_name("parity_reference.py")
        subprocess.run([sys.executable, str(reference), model, str(folder), str(threads)], check=True)
        paths = [Path(path) for path in json.loads((folder / "models.json").read_text())]
        for number, case in enumerate(CASES[model]):
            facts = json.loads((folder / f"{number}.json").read_text())
            new = _case(model, case, paths, dict(np.load(folder / f"{number}.npz")), facts, threads)
            _print(new)
            rows += new
        for path in paths:
            if path.stat().st_size > KEPT_BYTES:
                path.unlink()
    return rows


def _case(model: str, case: Case, paths: list[Path], reference: Arrays, facts: dict, threads: int) -> list[Row]:
    pictures = [reference.pop(f"picture_{view}") for view in range(case.views)]
    metric = paths[1] if len(paths) == 2 else None
    with Engine.load(paths[0], metric_model=metric, threads=threads, resolution=case.resolution) as engine:
        if metric:
            found = _stacked(engine.infer_views(pictures))
        else:
            stages = [name for name in reference if name not in NOT_STAGES]
            found = _arrays(engine.infer(pictures[0], fill_sky=False, stages=stages))
        if engine.info.kind is DepthKind.RELATIVE_INVERSE_DEPTH:
            found["inverse_depth"] = found.pop("depth")
            clear = reference["inverse_depth"] > CLEAR_OF_ZERO * np.sqrt(np.mean(reference["inverse_depth"] ** 2))
            for arrays in (found, reference):
                arrays["clear_of_zero"] = arrays["inverse_depth"][clear]
    missing = {name for name in reference if name in OUTPUTS} - set(found)
    if missing:
        raise SystemExit(f"{model}: the engine gave no {', '.join(sorted(missing))}")
    return [_row(model, facts["size"], tensor, found[tensor], reference[tensor], facts["rounding"]) for tensor in found]


def _row(model: str, size: str, tensor: str, found: np.ndarray, expected: np.ndarray, rounding: dict[str, float]) -> Row:
    errors = worst_error(tensor, found, expected), rms_error(tensor, found, expected)
    return Row(model, size, tensor, *errors, 0.0 if tensor == "input" else rounding.get(tensor))


def _arrays(prediction: Prediction) -> Arrays:
    """Every stage and output of a prediction, by the names of `official.forward`."""
    arrays = {**prediction.stages, "depth": prediction.depth}
    arrays |= {name: getattr(prediction, name) for name in ("confidence", "sky", "extrinsics") if getattr(prediction, name) is not None}
    if prediction.intrinsics is not None:
        k = prediction.intrinsics
        arrays["intrinsics"] = np.array([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1]])
    return arrays


def _stacked(predictions: list[Prediction]) -> Arrays:
    """The outputs of the views of a pair; its sky belongs to the metric half and is no output of the official code."""
    views = [_arrays(prediction) for prediction in predictions]
    stacked = {name: np.stack([view[name] for view in views]) for name in views[0] if name != "sky"}
    return {**stacked, "scale_factor": np.array(predictions[0].scale_factor)}


def _print(rows: list[Row]) -> None:
    print(f"\n{rows[0].model} {rows[0].size}\n  tensor           largest error     bound  PyTorch's rounding  rms error")
    for row in rows:
        verdict = "" if row.passed else "  ABOVE THE BOUND"
        bound, rounding = (f"{value:.1e}" if value is not None and value < math.inf else "" for value in (row.bound, row.rounding))
        print(f"  {row.tensor:16s} {row.error:13.1e} {bound:>9s} {rounding:>19s} {row.rms:10.1e}{verdict}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
