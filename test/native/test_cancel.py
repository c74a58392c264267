"""How soon an inference ends when it is cancelled: inside the kernels, not after them."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from depth_anything_ros import Engine
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import write_seeded
from depth_anything_ros.errors import CancelledError

pytestmark = pytest.mark.native

MOST_SECONDS = 0.1
PICTURE = np.zeros((336, 504, 3), np.uint8)


def seconds_to_end(engine: Engine, after: float) -> float:
    """From the cancel to the end of an inference that had run for `after` seconds."""
    ended: list[float] = []

    def infer() -> None:
        with pytest.raises(CancelledError):
            engine.infer(PICTURE)
        ended.append(time.monotonic())

    thread = threading.Thread(target=infer)
    thread.start()
    time.sleep(after)
    cancelled = time.monotonic()
    engine.cancel()
    thread.join()
    return ended[0] - cancelled


@pytest.mark.parametrize("threads", [1, 2])
def test_a_frame_of_small_ends_within_a_tenth_of_a_second(tmp_path: Path, threads: int) -> None:
    write_seeded(tmp_path / "small.gguf", OFFICIAL_MODELS["da3-small"])
    with Engine.load(tmp_path / "small.gguf", threads=threads) as engine:
        started = time.monotonic()
        engine.infer(PICTURE)
        frame = time.monotonic() - started
        # All over a frame, but not so late that a faster one has ended before its cancel. The median, for a busy machine that gives this
        # process no time when it is due.
        seconds = [seconds_to_end(engine, part * frame) for part in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)]
    print(f"{threads} threads: {', '.join(f'{1e3 * one:.1f}' for one in seconds)} ms")
    assert statistics.median(seconds) < MOST_SECONDS
