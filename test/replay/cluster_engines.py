"""Engines for workers of a cluster, which find them by this module's name."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
from fake_engine import METRIC, FakeEngine
from replay_tools import pixels

from depth_anything_ros.errors import DeviceError
from depth_anything_ros.ros.parameters import NodeOptions


def works(options: NodeOptions) -> FakeEngine:
    return FakeEngine(METRIC)


def takes_long(options: NodeOptions) -> FakeEngine:
    """A minute for each picture."""
    return FakeEngine(METRIC, seconds=60.0)


def dies_once(options: NodeOptions) -> FakeEngine:
    """The first worker that sees its third picture is killed."""
    engine, mark = FakeEngine(METRIC), Path(f"{options.model}.died")

    def depth_of(values: np.ndarray) -> np.ndarray:
        if engine.count == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1.0 + values[:, :, 0].astype(np.float32) / 255.0

    engine.depth_of = depth_of
    return engine


def fails_in_the_third_segment(options: NodeOptions) -> FakeEngine:
    """At picture 25, whoever sees it."""

    def depth_of(values: np.ndarray) -> np.ndarray:
        if np.array_equal(values, pixels(25)):
            raise DeviceError("device.compute", "The graph failed.")
        return 1.0 + values[:, :, 0].astype(np.float32) / 255.0

    return FakeEngine(METRIC, depth_of=depth_of)
