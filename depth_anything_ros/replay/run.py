"""A whole replay: plan, segments, output. What an earlier run has done is kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from depth_anything_ros import __version__
from depth_anything_ros.errors import DepthAnythingError, InputError
from depth_anything_ros.models.cache import resolve_model
from depth_anything_ros.paths import user_path
from depth_anything_ros.progress import Progress
from depth_anything_ros.replay.cameras import Camera, find_cameras
from depth_anything_ros.replay.following import check
from depth_anything_ros.replay.journal import Journal
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.plan import Plan, make_plan
from depth_anything_ros.replay.segment import LoadEngine, SegmentResult
from depth_anything_ros.replay.source import SourceOptions, open_source
from depth_anything_ros.replay.workers import Job, run_here, run_processes
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.node import load_native

_LIVE_ONLY = ("threads", "nice", "autostart", "max_rate", "max_age", "points_rate", "snapshot_folder", "model", "metric_model")
"""Parameters that the numbers do not depend on (the models are told by their files)."""


@dataclass(frozen=True)
class Summary:
    """What has come of a recording. Every picture of the range is in one of the three counts."""

    output: str
    model: str
    """Name of the checkpoint."""
    kind: str
    """Of its depth, see `DepthKind`."""
    pictures: int
    processed: int
    passed_over: int
    refused: int
    refusals: tuple[str, ...]
    cameras: tuple[Camera, ...]
    topics: dict[str, int]
    """Messages in the output."""
    seconds: float
    """Of this run; 0 when nothing was left to do."""
    infer_seconds: float
    """Of the engine for the processed pictures, all runs and workers together."""
    warnings: tuple[str, ...]


def replay(
    source: SourceOptions,
    options: ReplayOptions,
    stopping: Callable[[], bool] = lambda: False,
    progress: Progress = Progress(None),
    load_engine: LoadEngine = load_native,
) -> Summary:
    """Depth for a recording, as the bag `options.output`, which appears when it is whole. What a killed run has done is not done again.

    stopping: asked between pictures. load_engine: a function of a module. Raises CancelledError (stopped), InputError (recording, disk),
    OptionError, ModelError, DeviceError.
    """
    started = time.perf_counter()
    model = resolve_model(options.node.model).absolute()
    beside = str(resolve_model(options.node.metric_model).absolute()) if options.node.metric_model else ""
    options = replace(options, node=replace(options.node, model=str(model), metric_model=beside))
    with Journal(options.output, _identity(source, options, model)) as journal:
        if journal.complete:
            return _with_topics(replace(_summary_from(journal.summary()), seconds=0.0, output=str(journal.output)))
        plan = journal.plan() or _planned(source, options, journal, progress, stopping)
        results = _run(Job(plan, options, source, load_engine, journal.segment(0).parent), journal, progress, stopping)
        summary = _summary(plan, results, str(journal.output), time.perf_counter() - started)
        if not summary.processed and summary.refused:
            journal.discard()
            raise InputError("input.bag", f"None of the {summary.refused} pictures can be used. {summary.refusals[0]}")
        journal.assemble(plan, json.dumps(asdict(summary)))
        return _with_topics(summary)


def _planned(source: SourceOptions, options: ReplayOptions, journal: Journal, progress: Progress, stopping: Callable[[], bool]) -> Plan:
    progress.say(f"reading {source.path} ...")
    with open_source(source) as recording:
        cameras = find_cameras(recording, options)
        check(options.node, cameras, recording.topics, dict(options.remaps))
        plan = make_plan(recording, cameras, options, stopping)
    journal.save(plan)
    return plan


def _run(job: Job, journal: Journal, progress: Progress, stopping: Callable[[], bool]) -> list[SegmentResult]:
    """Results of all segments, in order."""
    results = journal.finished()
    left = [segment for segment in job.plan.segments if segment.number not in results]
    done = sum(one.processed + one.passed_over + one.refused for one in results.values())
    if done:
        progress.say(f"{done} of {job.plan.pictures} frames were done before; going on")
    if left:
        progress.begin(job.plan.pictures, done)
        if job.options.cluster:
            from depth_anything_ros.replay.cluster import run_on_cluster as run
        else:
            run = run_here if min(job.options.jobs, len(left)) == 1 else run_processes
        for result in run(job, left, progress.advance, stopping):
            results[result.number] = result
        progress.end()
    return [results[segment.number] for segment in job.plan.segments]


def _summary(plan: Plan, results: list[SegmentResult], output: str, seconds: float) -> Summary:
    processed, passed_over, refused = (sum(counts) for counts in zip(*((one.processed, one.passed_over, one.refused) for one in results)))
    if processed + passed_over + refused != plan.pictures:
        raise DepthAnythingError(
            "replay.count",
            f"{plan.pictures} pictures were found, but {processed + passed_over + refused} came; did the recording change meanwhile?",
        )
    return Summary(
        output=output,
        model=results[0].model,
        kind=results[0].kind,
        pictures=plan.pictures,
        processed=processed,
        passed_over=passed_over,
        refused=refused,
        refusals=tuple(text for one in results for text in one.refusals)[:10],
        cameras=plan.cameras,
        topics={},
        seconds=seconds,
        infer_seconds=sum(one.infer_seconds for one in results),
        warnings=tuple(dict.fromkeys([*plan.warnings, *(text for one in results for text in one.remarks)])),
    )


def _with_topics(summary: Summary) -> Summary:
    """As the finished bag has them."""
    with BagReader(Path(summary.output)) as bag:
        return replace(summary, topics={name: topic.count for name, topic in bag.topics.items()})


def _summary_from(values: dict) -> Summary:
    cameras = tuple(Camera(**one) for one in values["cameras"])
    return Summary(**{**values, "refusals": tuple(values["refusals"]), "warnings": tuple(values["warnings"]), "cameras": cameras})


def _identity(source: SourceOptions, options: ReplayOptions, model: Path) -> dict[str, str]:
    """All that the numbers depend on, in words."""
    node = {name: value for name, value in asdict(options.node).items() if name not in _LIVE_ONLY}
    asked = {name: value for name, value in asdict(options).items() if name not in ("node", "jobs", "cluster", "output")}
    return {
        "version": __version__,
        "recording": _state(user_path(source.path).absolute()),
        "model": _state(model),
        "metric model": _state(Path(options.node.metric_model)) if options.node.metric_model else "",
        "calibration": _state(user_path(source.calibration).absolute()) if source.calibration is not None else "",
        **{name: str(value) for name, value in asdict(source).items() if name not in ("path", "calibration")},
        **{f"parameter {name}": str(value) for name, value in node.items()},
        **{f"option {name}": str(value) for name, value in asked.items()},
    }


def _state(path: Path) -> str:
    """A path with what changes when its content does. Folders in a folder are none of it: the output may be one of them."""
    try:
        files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        facts = [(file.name, state.st_size, state.st_mtime_ns) for file in files for state in [file.stat()]]
    except OSError as error:
        raise InputError("input.file", f"{path} cannot be read: {error.strerror}.") from error
    return f"{path} ({hashlib.sha256(repr(facts).encode()).hexdigest()[:12]})"
