"""What a race does not tell: where a frame's time goes, how it grows, how long the first depth takes, what surrounds the network.

Each study is a function of the model file, the processed size, the number of threads and the number of rounds, and gives a table as text.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from depth_anything_ros.bench.contender import picture, resolution_at
from depth_anything_ros.errors import OptionError
from depth_anything_ros.types import DepthKind, Frame, Intrinsics, Prediction, Wanted

Size = tuple[int, int]
MAPS = Wanted(confidence=True, sky=True, pose=False)
GROWTH_SIDES = (196, 280, 364, 448, 560, 700)
"""Sides of square pictures: 196 to 2500 patches of 14 pixels."""
CAMERA = (1280, 720)


def parts(model: Path, size: Size, threads: int, rounds: int) -> str:
    """Time of each kind of kernel, and its operations as a fraction of the peak that was measured between the same frames."""
    from depth_anything_ros.engine import Engine

    pixels = picture(*size)
    seconds: dict[str, list[float]] = {}
    operations: dict[str, float] = {}
    peaks = []
    with Engine.load(model, threads=threads, resolution=resolution_at(model, size)) as engine:
        engine.infer(pixels, wanted=MAPS, fill_sky=False)
        for _ in range(rounds):
            peaks.append(engine.peak())
            frame = engine.infer(pixels, wanted=MAPS, fill_sky=False).timings.compute
            measured = {part.name: part for part in engine.parts()}
            for name, part in measured.items():
                seconds.setdefault(name, []).append(part.seconds)
                operations[name] = part.operations
            seconds.setdefault("nodes of ggml", []).append(frame - sum(part.seconds for part in measured.values()))
            seconds.setdefault("whole frame", []).append(frame)
    operations["whole frame"] = sum(operations.values())
    peak = statistics.median(peaks)
    lines = [f"peak of fused multiply-adds: {peak / 1e9:.1f} GFLOP/s", "part                   ms  share  GFLOP  of peak"]
    whole = statistics.median(seconds["whole frame"])
    for name, values in sorted(seconds.items(), key=lambda item: -statistics.median(item[1])):
        took, work = statistics.median(values), operations.get(name, 0.0)
        fraction = f"{work / took / peak:7.2f}" if work else "      -"
        lines.append(f"{name:16s} {1e3 * took:8.1f} {took / whole:6.1%} {work / 1e9:6.1f} {fraction}")
    return "\n".join(lines)


def growth(model: Path, size: Size, threads: int, rounds: int) -> str:
    """Time per token for square pictures of growing size; `size` is not used."""
    from depth_anything_ros.engine import Engine

    lines = ["picture   tokens        ms  us/token"]
    for side in GROWTH_SIDES:
        pixels, tokens = picture(side, side), (side // 14) ** 2
        with Engine.load(model, threads=threads, resolution=side) as engine:
            took = _median(rounds, lambda engine=engine, pixels=pixels: engine.infer(pixels, wanted=MAPS, fill_sky=False))
        lines.append(f"{side}x{side} {tokens:8d} {1e3 * took:9.1f} {1e6 * took / tokens:9.1f}")
    return "\n".join(lines)


def load(model: Path, size: Size, threads: int, rounds: int) -> str:
    """From nothing to the first depth, from a warm page cache, against a later frame of the same engine."""
    from depth_anything_ros.engine import Engine

    pixels = picture(*size)
    firsts, frames, resolution = [], [], resolution_at(model, size)
    for _ in range(rounds):
        start = time.perf_counter()
        with Engine.load(model, threads=threads, resolution=resolution) as engine:
            engine.infer(pixels, wanted=MAPS, fill_sky=False)
            firsts.append(time.perf_counter() - start)
            frames.append(_median(1, lambda engine=engine: engine.infer(pixels, wanted=MAPS, fill_sky=False)))
    first, frame = statistics.median(firsts), statistics.median(frames)
    return f"load to first depth {1e3 * first:.0f} ms = one frame of {1e3 * frame:.0f} ms + {1e3 * (first - frame):.0f} ms"


def around(model: Path, size: Size, threads: int, rounds: int) -> str:
    """What one thread does around the network for a raw rgb8 picture of 1280x720: input, bilinear upsampling, cloud of stride 2."""
    from depth_anything_ros.engine import Engine
    from depth_anything_ros.pipeline import Finisher, ProcessingOptions, WantedProducts

    width, height = CAMERA
    intrinsics = Intrinsics(width, height, 900.0, 900.0, width / 2 - 0.5, height / 2 - 0.5)
    frame = Frame(picture(width, height), False, intrinsics, 0, "camera")
    options = ProcessingOptions(scale_source="constant", scale_value=1.0)
    wanted = WantedProducts(confidence=False, sky_mask=False)
    with Engine.load(model, threads=threads, resolution=resolution_at(model, size)) as engine:
        predictions = [engine.infer(frame.pixels, wanted=MAPS, fill_sky=False) for _ in range(rounds)]
    inputs = statistics.median(prediction.timings.preprocess for prediction in predictions)
    outputs = statistics.median(prediction.timings.postprocess for prediction in predictions)
    prediction = _with_kind(predictions[-1])
    finisher = Finisher()
    after = _median(max(rounds, 5), lambda: finisher.finish(frame, prediction, options, wanted))
    total = inputs + outputs + after
    return (
        f"1280x720: {1e3 * total:.1f} ms = resize and normalise {1e3 * inputs:.1f} + maps out of the network {1e3 * outputs:.1f} "
        f"+ depth and cloud {1e3 * after:.1f}"
    )


STUDIES: dict[str, Callable[[Path, Size, int, int], str]] = {"parts": parts, "growth": growth, "load": load, "around": around}


def report(names: Sequence[str], model: Path, size: Size, threads: Sequence[int], rounds: int) -> str:
    """The named studies, for each number of threads. Raises OptionError (``option.unknown``) for a name that is none."""
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise OptionError("option.unknown", f"There is no study {', '.join(unknown)}; known: {', '.join(STUDIES)}.")
    return "\n\n".join(f"{name}, {count} threads\n{STUDIES[name](model, size, count, rounds)}" for name in names for count in threads)


def _median(rounds: int, action: Callable[[], object]) -> float:
    """Median seconds of an action, after one that does not count."""
    action()
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def _with_kind(prediction: Prediction) -> Prediction:
    """The prediction as metric depth without sky, so that a cloud is made of it whatever the model is."""
    return Prediction(**{**vars(prediction), "kind": DepthKind.METRIC, "sky": None, "depth": np.abs(prediction.depth) + np.float32(0.5)})
