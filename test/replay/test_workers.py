"""Processes that do segments: what becomes of one that dies, or that has no model."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from replay_tools import IMAGE, camera_messages, read, run, write

from depth_anything_ros.errors import DepthAnythingError, InputError
from depth_anything_ros.replay.plan import Segment
from depth_anything_ros.replay.workers import _Worker
from depth_anything_ros.ros.parameters import NodeOptions


def test_a_dead_worker_is_named_and_its_work_is_done_later(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    with pytest.raises(Exception, match=r"died \(exit code -9") as caught:
        run(recording, tmp_path / "out", engine=dying_engine, segment=10, jobs=2)
    assert caught.value.code == "replay.worker"
    assert run(recording, tmp_path / "out", segment=10, jobs=2).processed == 30
    assert len(read(tmp_path / "out")[IMAGE]) == 30


def test_errors_of_workers_are_those_of_one_process(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    with pytest.raises(InputError, match="no model here"):
        run(recording, tmp_path / "out", engine=missing_engine, segment=10, jobs=2)


def test_a_worker_that_died_between_two_segments_is_told_too() -> None:
    """Not as a pipe whose reader has left, which ends a verb without a word."""
    worker = _Worker(multiprocessing.get_context("spawn"), None, 1)
    worker._process.kill()
    worker._process.join()
    worker.give(Segment(3, 0, 1, {}, {}))
    with pytest.raises(DepthAnythingError, match=r"segment 3 died \(exit code -9"):
        worker.answer()
    worker.end()


def dying_engine(options: NodeOptions) -> object:
    os.kill(os.getpid(), signal.SIGKILL)


def missing_engine(options: NodeOptions) -> object:
    raise InputError("input.file", "There is no model here.")
