"""Segments on a Ray cluster: a task each, models loaded once per worker, failed ones tried again elsewhere.

The recording, the output's folder and the model must be reachable under the same paths from all machines (a shared file system), and this
package must be installed there. Ray is imported here only: ``pip install "depth_anything_ros[ray]"``.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from depth_anything_ros.errors import CancelledError, DepthAnythingError, OptionError
from depth_anything_ros.replay.plan import Segment
from depth_anything_ros.replay.segment import SegmentResult, SegmentRunner
from depth_anything_ros.replay.source import open_source
from depth_anything_ros.replay.workers import Advance, Job

LOCAL = "local"
_TRIES = 3
_POLL = 0.5
_THREADS = 2
"""Of a worker, where the parameter threads leaves that open."""


def run_on_cluster(job: Job, segments: Sequence[Segment], advance: Advance, stopping: Callable[[], bool]) -> Iterator[SegmentResult]:
    """Results in the order in which they are done.

    Raises OptionError (no Ray, no cluster at the address), DepthAnythingError ``replay.segment`` that names the segments that failed
    three times, after all others are done.
    """
    with _connected(job) as ray:
        crew = _Crew(ray, job, len(segments))
        waiting, tries, failed = list(reversed(segments)), dict.fromkeys((one.number for one in segments), 0), {}
        while waiting or crew.busy:
            if stopping():
                raise CancelledError("engine.cancelled", "Stopped by request.")
            while waiting and crew.free:
                tries[waiting[-1].number] += 1
                crew.start(waiting.pop())
            for segment, answer in crew.finished():
                if isinstance(answer, SegmentResult):
                    advance(sum(part.pictures for part in segment.parts.values()))
                    yield answer
                elif tries[segment.number] < _TRIES:
                    waiting.append(segment)
                else:
                    failed[segment.number] = answer
    if failed:
        raise _failure(failed, len(segments))


class _Crew:
    """The workers of a cluster: Ray actors, each with its engine and its open recording."""

    def __init__(self, ray: Any, job: Job, most: int) -> None:
        self._ray = ray
        self._threads = job.options.node.threads or _threads_of(job)
        count = min(most, job.options.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)) // self._threads))
        self._class = ray.remote(num_cpus=0 if job.options.cluster == LOCAL else self._threads)(_Worker)
        self._job = ray.put(job)
        self._free = [self._hired() for _ in range(count)]
        self._busy: dict[Any, tuple[Any, Segment]] = {}

    @property
    def free(self) -> bool:
        return bool(self._free)

    @property
    def busy(self) -> bool:
        return bool(self._busy)

    def start(self, segment: Segment) -> None:
        worker = self._free.pop()
        self._busy[worker.run.remote(segment)] = (worker, segment)

    def finished(self) -> list[tuple[Segment, SegmentResult | Exception]]:
        """What came in within half a second."""
        ready, _ = self._ray.wait(list(self._busy), timeout=_POLL)
        answers: list[tuple[Segment, SegmentResult | Exception]] = []
        for task in ready:
            worker, segment = self._busy.pop(task)
            try:
                answers.append((segment, self._ray.get(task)))
            except self._ray.exceptions.RayError as error:
                answers.append((segment, error))
                if isinstance(error, self._ray.exceptions.RayActorError):
                    # Dead, or out of reach. Another one is hired, maybe on another machine; Ray's own restart refuses work until it is up.
                    self._ray.kill(worker)
                    worker = self._hired()
            self._free.append(worker)
        return answers

    def _hired(self) -> Any:
        return self._class.remote(self._job, self._threads)


class _Worker:
    """Lives in a process of the cluster."""

    def __init__(self, job: Job, threads: int) -> None:
        self._job = job
        self._threads = threads
        self._runner: SegmentRunner | None = None

    def run(self, segment: Segment) -> SegmentResult:
        if self._runner is None:
            self._runner = self._job.runner(open_source(self._job.source), self._threads)
        return self._runner.run(segment, self._job.target(segment), lambda _: None, lambda: False)


def _threads_of(job: Job) -> int:
    if job.options.cluster == LOCAL and job.options.jobs:
        return max(1, len(os.sched_getaffinity(0)) // job.options.jobs)
    return _THREADS


@contextmanager
def _connected(job: Job) -> Iterator[Any]:
    try:
        import ray
    except ImportError as error:
        raise OptionError("option.range", 'For --ray the package ray is needed: pip install "depth_anything_ros[ray]".') from error
    address = job.options.cluster
    try:
        _probe(address)
        # Nothing of this process is needed there but the job.
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise OptionError("option.range", f"No Ray cluster at {address}: {' '.join(str(error).split())[:200]}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _probe(address: str) -> None:
    """Raises OSError when nothing listens at host:port, which Ray itself finds out after minutes only."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10.0).close()


def _failure(failed: dict[int, Exception], count: int) -> DepthAnythingError:
    causes = [getattr(error, "cause", None) or error for error in failed.values()]
    known = next((cause for cause in causes if isinstance(cause, DepthAnythingError)), None)
    numbers = ", ".join(map(str, sorted(failed)))
    text = (
        f"Segments {numbers} of {count} failed {_TRIES} times each. What is done is kept: the same command goes on. "
        f"First reason: {causes[0]}"
    )
    return DepthAnythingError("replay.segment", text) if known is None else type(known)(known.code, text)
