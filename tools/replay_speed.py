"""What a replay costs beyond the engine: the same pictures through the bare engine and through a segment of a replay, in turns.

    python tools/replay_speed.py da3-small --frames 10 --rounds 5
    python tools/replay_speed.py nano.gguf --frames 100

An official name stands for seeded weights of that size. CPU time tells the cost where the machine is busy with other things.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import write_seeded
from depth_anything_ros.geometry import centred_intrinsics
from depth_anything_ros.pipeline import predict
from depth_anything_ros.process import prepare_process
from depth_anything_ros.replay.cameras import find_cameras
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.plan import make_plan
from depth_anything_ros.replay.segment import SegmentRunner
from depth_anything_ros.replay.source import SourceOptions, open_source
from depth_anything_ros.ros.camera_bag import Shot, write_camera_bag
from depth_anything_ros.ros.node import load_native
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.topics import topics_of, wanted_products
from depth_anything_ros.types import Frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file, or an official name for seeded weights of that size")
    parser.add_argument("--size", type=int, nargs=2, default=(504, 378), metavar=("W", "H"), help="of the pictures (default 504 378)")
    parser.add_argument("--frames", type=int, default=20, metavar="N", help="pictures a round (default 20)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each (default 5)")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="of the engine (default: all cores)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _race(arguments, Path(folder))


def _race(arguments: argparse.Namespace, folder: Path) -> None:
    model = Path(arguments.model)
    if arguments.model in OFFICIAL_MODELS:
        model = folder / "model.gguf"
        write_seeded(model, OFFICIAL_MODELS[arguments.model])
    node = NodeOptions(model=str(model), threads=arguments.threads)
    prepare_process()
    engine = load_native(node)
    shots = _shots(arguments.frames, *arguments.size)
    write_camera_bag(folder / "bag", shots, rate=10.0)
    options = ReplayOptions(output=folder / "out", node=node, segment=10**9)
    wanted = wanted_products(frozenset(topics_of(engine.info)) - {"points", "depth/color", "depth/color/compressed"})
    frames = [Frame(shot.rgb, False, shot.intrinsics, 0, "camera") for shot in shots]
    with open_source(SourceOptions(folder / "bag")) as source:
        plan = make_plan(source, find_cameras(source, options), options)
        runner = SegmentRunner(plan, options, source, engine, load_native)

        def bare() -> None:
            for frame in frames:
                predict(frame, engine, options.node.processing, wanted)

        def replayed() -> None:
            runner.run(plan.segments[0], folder / "segment", lambda _: None, lambda: False)
            shutil.rmtree(folder / "segment")

        bare()
        times: dict[Callable[[], None], list[tuple[float, float]]] = {bare: [], replayed: []}
        for _ in range(arguments.rounds):
            for work, found in times.items():
                found.append(_timed(work, arguments.frames))
    _tell(arguments, {work.__name__: [statistics.median(column) for column in zip(*found)] for work, found in times.items()})


def _tell(arguments: argparse.Namespace, medians: dict[str, list[float]]) -> None:
    """medians: wall and CPU milliseconds a picture of ``bare`` and ``replayed``."""
    print(f"{arguments.model}, {'x'.join(map(str, arguments.size))}, {arguments.rounds} rounds of {arguments.frames}; medians, ms")
    for name, (wall, cpu) in medians.items():
        print(f"  {name:<10}{wall:9.2f} wall{cpu:9.2f} CPU")
    (wall, cpu), (with_wall, with_cpu) = medians["bare"], medians["replayed"]
    print(f"  throughput of the replay: {wall / with_wall:.3f}; {with_wall - wall:+.2f} ms wall, {with_cpu - cpu:+.2f} ms CPU")


def _timed(work: Callable[[], None], count: int) -> tuple[float, float]:
    """Milliseconds of wall and CPU time a picture."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return 1e3 * (time.perf_counter() - wall) / count, 1e3 * (time.process_time() - cpu) / count


def _shots(count: int, width: int, height: int) -> list[Shot]:
    """Pictures of noise: they do not compress, and the engine does not mind."""
    random, camera = np.random.default_rng(0), centred_intrinsics(0.8 * width, width, height)
    return [Shot(random.integers(0, 256, (height, width, 3), np.uint8), camera) for _ in range(count)]


if __name__ == "__main__":
    main()
