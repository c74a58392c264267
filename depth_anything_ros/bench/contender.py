"""A process that computes frames when told to.

Protocol, one line each, on standard input and output: the process says ``ready {json of facts}``; then every ``frame`` is answered by
``took {milliseconds} {peak resident megabytes}``, and every ``save PATH`` by ``saved`` once the depth of a frame was written there (.npy).
The peak counts from ``ready`` on, so that loading and preparing do not hide what running needs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from depth_anything_ros.types import Float32Array, UInt8Array, Wanted


def serve(facts: dict[str, str], frame: Callable[[], Float32Array]) -> None:
    """Answer the lines of standard input until it ends. `frame` computes one frame and gives its depth, float32 [h, w]."""
    frame()  # warm-up: buffers, thread pools, code pages
    Path("/proc/self/clear_refs").write_text("5")
    _say(f"ready {json.dumps({'python': platform.python_version(), 'numpy': np.__version__, **facts})}")
    for line in sys.stdin:
        command, _, path = line.strip().partition(" ")
        if command == "save":
            np.save(path, frame())
            _say("saved")
        else:
            start = time.perf_counter()
            frame()
            _say(f"took {1e3 * (time.perf_counter() - start):.3f} {_peak_megabytes():.1f}")


def picture(width: int, height: int) -> UInt8Array:
    """The picture that every contender computes, uint8 RGB [height, width, 3]: waves of several lengths with noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [np.sin(x / a + y / b) for a, b in ((37.0, 61.0), (11.0, -23.0), (90.0, 7.0))]
    noise = np.random.default_rng(0).random((height, width, 3))
    return np.clip(127.5 + 80.0 * np.stack(waves, axis=-1) + 40.0 * (noise - 0.5), 0, 255).astype(np.uint8)


def resolution_at(model: Path | str, size: tuple[int, int], **options: object) -> int:
    """The resolution at which pictures of `size` (width, height) are processed as they are: Depth Anything V2 counts the short side.

    options: of `Engine.load`. Raises what that raises.
    """
    from depth_anything_ros import Engine

    with Engine.load(model, **options) as engine:
        return min(size) if engine.info.architecture == "v2" else max(size)


def _say(line: str) -> None:
    print(line, flush=True)


def _peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    """This package's engine as a contender: one `Engine.infer` from the uint8 picture to depth and confidence or sky."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("model")
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("resolution", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--instruction-set", default="")
    args = parser.parse_args()
    from depth_anything_ros import Engine, _native

    pixels = picture(args.width, args.height)
    wanted = Wanted(confidence=True, sky=True, pose=False)
    start = time.perf_counter()
    options = {"threads": args.threads, "resolution": args.resolution, "device": args.device, "exact": args.exact}
    with Engine.load(args.model, **options, instruction_set=args.instruction_set) as engine:
        loaded = time.perf_counter() - start
        facts = {
            "device": engine.info.device,
            "ggml": _native.ggml_version,
            "kernels": engine.info.instruction_set,
            "load_ms": f"{1e3 * loaded:.0f}",
        }
        serve(facts, lambda: engine.infer(pixels, wanted=wanted, fill_sky=False).depth)


if __name__ == "__main__":
    main()
