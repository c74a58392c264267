"""Who runs the segments: this process, or several on this machine. (`cluster` has the third way.)"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from depth_anything_ros.errors import CancelledError, DepthAnythingError
from depth_anything_ros.process import end_with, prepare_process
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.plan import Plan, Segment
from depth_anything_ros.replay.segment import LoadEngine, SegmentResult, SegmentRunner
from depth_anything_ros.replay.source import SourceOptions, open_source

_POLL = 0.2
Advance = Callable[[int], None]
"""Takes the number of pictures done since the last call."""


@dataclass(frozen=True)
class Job:
    """All that a worker needs, wherever it runs."""

    plan: Plan
    options: ReplayOptions
    source: SourceOptions
    load_engine: LoadEngine
    """A function of a module, so that other processes find it."""
    folder: Path
    """Of the segments' bags."""

    def runner(self, source: Any, threads: int) -> SegmentRunner:
        """With an engine of its own. threads: of the network, where the options leave that open."""
        prepare_process()
        node = self.options.node
        options = replace(self.options, node=replace(node, threads=node.threads or threads))
        return SegmentRunner(self.plan, options, source, self.load_engine(options.node), self.load_engine)

    def target(self, segment: Segment) -> Path:
        return self.folder / f"{segment.number:04d}"


def run_here(job: Job, segments: Sequence[Segment], advance: Advance, stopping: Callable[[], bool]) -> Iterator[SegmentResult]:
    """In this process, one after the other."""
    with open_source(job.source) as source:
        runner = job.runner(source, threads=0)
        for segment in segments:
            yield runner.run(segment, job.target(segment), advance, stopping)


def run_processes(job: Job, segments: Sequence[Segment], advance: Advance, stopping: Callable[[], bool]) -> Iterator[SegmentResult]:
    """In `jobs` processes, each with its own engine and its share of the cores; results in the order in which they are done."""
    count = min(job.options.jobs, len(segments))
    threads = max(1, len(os.sched_getaffinity(0)) // count)
    waiting = list(reversed(segments))
    context = multiprocessing.get_context("spawn")
    workers = [_Worker(context, job, threads) for _ in range(count)]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while busy := {worker.pipe: worker for worker in workers if worker.segment is not None}:
            if stopping():
                raise CancelledError("engine.cancelled", "Stopped by request.")
            for pipe in wait(list(busy), _POLL):
                answer = busy[pipe].answer()  # type: ignore[index]
                if isinstance(answer, int):
                    advance(answer)
                else:
                    busy[pipe].give(waiting.pop() if waiting else None)  # type: ignore[index]
                    yield answer
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """One process. It ends with this one: another run must not find it at work on the same segment."""

    def __init__(self, context: Any, job: Job, threads: int) -> None:
        self.pipe, theirs = context.Pipe()
        self.segment: Segment | None = None
        self._process = context.Process(target=_serve, args=(theirs, job, threads, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, segment: Segment | None) -> None:
        self.segment = segment
        if segment is not None:
            with suppress(BrokenPipeError, ConnectionResetError):  # it is gone, and `answer` tells why
                self.pipe.send(segment)

    def answer(self) -> int | SegmentResult:
        """Pictures done, or the result of the segment. Raises what the worker raised, or that it is gone."""
        try:
            answer = self.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            self._process.join()
            number = self.segment.number if self.segment is not None else -1
            raise DepthAnythingError(
                "replay.worker",
                f"The process at segment {number} died (exit code {self._process.exitcode}; -9 is often a lack of memory, then take fewer "
                "--jobs). What is done is kept: the same command goes on.",
            ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def end(self) -> None:
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _serve(pipe: Connection, job: Job, threads: int, parent: int) -> None:
    """Main loop of a worker process."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the first process decides
    try:
        with open_source(job.source) as source:
            runner = job.runner(source, threads)
            while True:
                segment = pipe.recv()
                pipe.send(runner.run(segment, job.target(segment), pipe.send, lambda: False))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the first process is gone
    except Exception as error:  # noqa: BLE001 - raised again in the first process
        pipe.send(error)
