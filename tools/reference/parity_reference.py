"""The official side of parity.py in a process of its own, so that only one side's weights are in memory.

parity_reference.py MODEL FOLDER THREADS: writes the checkpoint of the seeded network in the official format, has it converted, runs the
official forward in float32 and float64, and leaves in FOLDER: CASE.npz (pictures, stages, outputs), CASE.json (rounding, size) and
models.json (paths of the model files).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import official
import official_v2
import official_views
import torch
from cache import cached_path
from comparison import worst_error
from torch import nn
from true_size import CASES, SEEDS, WITHOUT_ROUNDING

from depth_anything_ros.convert.converter import convert
from depth_anything_ros.convert.hyper_parameters import ARCH_V2, HyperParameters
from depth_anything_ros.convert.naming import PLAIN
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS, OFFICIAL_PAIRS

Rounding = Callable[[nn.Module, torch.Tensor, official.Arrays], dict[str, float]]


def main() -> None:
    model, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    if model in OFFICIAL_PAIRS:
        _pair(model, folder)
    elif OFFICIAL_MODELS[model].arch == ARCH_V2:
        _v2(model, folder)
    else:
        _da3(model, folder)


def _da3(model: str, folder: Path) -> None:
    parameters = OFFICIAL_MODELS[model]
    net = official.network(parameters, SEEDS.get(model, 0))
    _write_models(folder, _converted(model, [parameters], lambda path: official.save_checkpoint(net, path), ".safetensors"))
    pictures = [official.picture(case.picture) for case in CASES[model]]
    inputs = [
        official.normalised(official.processed(picture, case.resolution), parameters) for picture, case in zip(pictures, CASES[model])
    ]
    _run(model, folder, net, pictures, inputs, official.forward, official.rounding)


def _v2(model: str, folder: Path) -> None:
    parameters = OFFICIAL_MODELS[model]
    net = official_v2.network(parameters, SEEDS.get(model, 0))
    _write_models(folder, _converted(model, [parameters], lambda path: torch.save(net.state_dict(), path), ".pth"))
    pictures = [official.picture(case.picture) for case in CASES[model]]
    inputs = [official_v2.normalised(net, picture, case.resolution) for picture, case in zip(pictures, CASES[model])]

    def forward(net: nn.Module, x: torch.Tensor) -> official.Arrays:
        found = official_v2.forward(net, x, parameters)
        if parameters.head_max_depth is None:
            found["inverse_depth"] = found.pop("depth")
        return found

    def rounding(net: nn.Module, x: torch.Tensor, found: official.Arrays) -> dict[str, float]:
        exact = forward(net.double(), x.double())
        return {name: worst_error(name, values, exact[name]) for name, values in found.items() if name != "input"}

    _run(model, folder, net, pictures, inputs, forward, rounding)


def _pair(model: str, folder: Path) -> None:
    """Outputs only: a pair has no stages, and its outputs have a fixed bound."""
    halves = [OFFICIAL_MODELS[name] for name in OFFICIAL_PAIRS[model]]
    # Seeds go by the names of plain files.
    net = official_views.pair(*(replace(half, naming=PLAIN) for half in halves), SEEDS.get(model, 0))
    paths = _converted(model, halves, lambda path: official.save_checkpoint(net, path), ".safetensors")
    _write_models(folder, paths)
    for number, case in enumerate(CASES[model]):
        pictures = official_views.pictures([case.picture] * case.views)
        x = official_views.normalised(pictures, case.resolution, halves[0])
        _write_case(folder, number, pictures, x, official_views.forward(net, x), {})


def _run(
    model: str, folder: Path, net: nn.Module, pictures: list, inputs: list[torch.Tensor], forward: Callable, rounding: Rounding
) -> None:
    references = [forward(net, x) for x in inputs]
    for number, (picture, x, found) in enumerate(zip(pictures, inputs, references)):
        _write_case(folder, number, [picture], x, found, {} if model in WITHOUT_ROUNDING else rounding(net, x, found))


def _converted(model: str, parameters: list[HyperParameters], save: Callable[[Path], None], suffix: str) -> list[str]:
    """The GGUF files of a checkpoint, through the converter; kept while the seeded weights stay the same."""
    path = cached_path(parameters[0], ".gguf")
    paths = [path.with_name(f"{path.stem}-{half}.gguf") for half in ("anyview", "metric")] if len(parameters) == 2 else [path]
    if not all(one.exists() for one in paths):
        checkpoint = path.with_suffix(suffix)
        save(checkpoint)
        convert(checkpoint, path, model=model)
        checkpoint.unlink()
    return [str(one) for one in paths]


def _write_models(folder: Path, paths: list[str]) -> None:
    (folder / "models.json").write_text(json.dumps(paths))


def _write_case(folder: Path, number: int, pictures: list, x: torch.Tensor, found: official.Arrays, rounding: dict[str, float]) -> None:
    np.savez(folder / f"{number}.npz", **{f"picture_{view}": picture for view, picture in enumerate(pictures)}, **found)
    size = f"{x.shape[-1]}x{x.shape[-2]}" + (f", {len(pictures)} views" if len(pictures) > 1 else "")
    (folder / f"{number}.json").write_text(json.dumps({"rounding": rounding, "size": size}))


if __name__ == "__main__":
    main()
