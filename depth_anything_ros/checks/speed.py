"""How fast the engine is here: a short measured run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from depth_anything_ros.types import Wanted

RUNS = 3


@dataclass(frozen=True)
class Run:
    seconds: float
    """Of one frame, the best of a few."""
    device: str
    instruction_set: str


def measure(model: Path, width: int, height: int, threads: int) -> Run:
    """Time depth and confidence of a picture of width x height (multiples of the patch) with a model file."""
    from depth_anything_ros.engine import Engine

    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    with Engine.load(model, threads=threads, resolution=max(width, height)) as engine:
        wanted = Wanted(pose=False)
        engine.infer(pixels, wanted=wanted)
        taken = []
        for _ in range(RUNS):
            start = time.perf_counter()
            engine.infer(pixels, wanted=wanted)
            taken.append(time.perf_counter() - start)
        return Run(min(taken), engine.info.device, engine.info.instruction_set)
