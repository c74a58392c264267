"""One segment of a replay: read ahead, compute, write behind, into a bag of its own that appears when it is whole."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from depth_anything_ros.errors import CancelledError, InputError, OptionError
from depth_anything_ros.models.checkpoint_facts import doubt_of
from depth_anything_ros.replay.camera_replay import CameraReplay, Inferred, Output
from depth_anything_ros.replay.following import Ear, Following, OnTheSpot, begin, follows
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.overlap import WriteBehind, read_ahead
from depth_anything_ros.replay.plan import Plan, Segment
from depth_anything_ros.replay.selection import kept_topics, output_topics
from depth_anything_ros.replay.source import Source
from depth_anything_ros.replay.state import STATE_FILE, packed, recalled
from depth_anything_ros.replay.steps import Step, StepReader
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.calibration import NO_CAMERA_INFO
from depth_anything_ros.ros.camera_bag import LATCHED_QOS, NODE_QOS
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_choice import background_options
from depth_anything_ros.ros.topics import SCALE
from depth_anything_ros.types import InfersDepth

LoadEngine = Callable[[NodeOptions], InfersDepth]
NOTE = "depth_anything_ros"
"""Key of a segment's result in the metadata of its bag."""
_AHEAD = 4
"""Steps that wait between reading, computing and writing."""
_NAMED_REFUSALS = _NAMED_REMARKS = 5


@dataclass
class SegmentResult:
    """What a segment has come to. Pictures are counted once, in one of the three."""

    number: int
    processed: int = 0
    passed_over: int = 0
    """Left out by `every`."""
    refused: int = 0
    """Pictures that cannot be used; there is no depth for them."""
    refusals: tuple[str, ...] = ()
    """The first few, in words."""
    remarks: tuple[str, ...] = ()
    """What is wrong with calibrations, and what else the user should know."""
    seconds: float = 0.0
    infer_seconds: float = 0.0
    model: str = ""
    """Name of the checkpoint."""
    kind: str = ""
    """Of its depth, see `DepthKind`."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class SegmentRunner:
    """Runs segments of one plan, one after the other, with one engine and one open recording.

    Where depth depends on earlier pictures and one worker does all in order, a segment goes on with the state of the one before it, from
    memory or from disk; else it begins with its lead.
    """

    def __init__(self, plan: Plan, options: ReplayOptions, source: Source, engine: InfersDepth, load_engine: LoadEngine) -> None:
        """load_engine: for keyframes, when there are any."""
        self._plan = plan
        self._options = options
        self._source = source
        self._info = engine.info
        kept = kept_topics(source, options)
        relative = output_topics(engine.info, options)
        messages, turn = BagMessages(ros2_types()), threading.Lock()
        self._cameras = {
            camera.image: CameraReplay(camera, engine, options.node, frozenset(relative), messages, plan.calibrations, turn)
            for camera in plan.cameras
        }
        self._outputs = {f"{camera.namespace}/{name}": kind for camera in plan.cameras for name, kind in relative.items()}
        # In the order of the recording, so that all segments declare them alike; depth that was recorded gives way to the new one.
        self._copied = [name for name in source.topics if name in kept and name not in self._outputs]
        doubt = doubt_of(engine.info.checkpoint, engine.info.license)
        self._remarks = (*filter(None, [doubt]), *_replaced(source, plan, kept & self._outputs.keys()))
        self._reader = StepReader(source, self._cameras, self._copied, messages, options.every, plan.start_ns)
        beside = background_options(options.node)
        self._keyframes = None if beside is None else OnTheSpot(lambda: load_engine(replace(beside, threads=options.node.threads)), turn)
        self._states: dict[str, Following] = {}
        self._ears: dict[str, list[Ear]] = {}
        self._last: int | None = None
        """Number of the segment that the state comes from."""

    def run(self, segment: Segment, folder: Path, progress: Callable[[int], None], stopping: Callable[[], bool]) -> SegmentResult:
        """Write the bag `folder`. progress: takes the number of pictures done since the last call.

        Raises CancelledError once `stopping()` is true, InputError when the bag cannot be written, and what the engine raises; nothing
        is left at `folder` then.
        """
        started = time.perf_counter()
        result = SegmentResult(segment.number, model=self._info.checkpoint, kind=self._info.kind.value, remarks=self._remarks)
        before = folder.with_name(f"{segment.number - 1:04d}")
        steps = self._begin(segment, before)

        def write(outputs: Iterator[Iterable[Output]]) -> None:
            with BagWriter(folder, self._options.storage, whole=True) as bag:
                self._fill(bag, outputs)
                if self._in_order and follows(self._options.node):
                    bag.attach(STATE_FILE, packed(self._states))
                result.seconds = time.perf_counter() - started
                bag.note(NOTE, result.to_json())

        with WriteBehind(write, _AHEAD) as writer:
            for step in read_ahead(steps, _AHEAD):
                if stopping():
                    raise CancelledError("engine.cancelled", "Stopped by request.")
                inferred = self._inferred(step, result)
                writer.put(self._outputs_of(step, inferred))
                if step.take is not None and not step.take.lead:
                    progress(1)
        (before / STATE_FILE).unlink(missing_ok=True)  # nobody needs it any more
        self._last = segment.number
        return result

    @property
    def _in_order(self) -> bool:
        """Where several work, the result must not depend on who happened to do what before."""
        return self._options.jobs == 1 and not self._options.cluster

    def _begin(self, segment: Segment, before: Path) -> Iterator[Step]:
        """The steps of the segment, the cameras having the state that they go on from. before: folder of the segment before it."""
        goes_on = self._in_order and self._last == segment.number - 1
        lead, self._last = False, None
        if not goes_on:
            options = self._options
            states, self._ears = begin(options.node, self._plan.cameras, self._source.topics, dict(options.remaps), self._keyframes)
            known = recalled(states, before) if self._in_order else None
            lead, self._states = known is None, known or states
            for image, following in self._states.items():
                self._cameras[image].begin(following)
        for camera in self._cameras.values():
            camera.begin_segment()
        return self._reader.steps(segment, self._ears, lead=lead, heard=goes_on)

    def _inferred(self, step: Step, result: SegmentResult) -> Inferred | None:
        """What the network says about the picture of a step. Counts it."""
        for problem in step.problems:
            self._name(problem, result)
        take = step.take
        if take is None:
            return None
        try:
            if take.picture is None:
                result.passed_over += not take.lead
                return None
            if isinstance(take.picture, InputError):
                raise take.picture
            self._remark(take.topic, take.picture.view.problem, result)
            inferred = take.camera.infer(take.picture, take.stamp_ns, take.number)
        except InputError as error:
            if not take.lead:
                result.refused += 1
                self._name(f"{take.topic} at {take.stamp_ns * 1e-9:.3f} s: {error}", result)
            return None
        if not take.lead:
            result.processed += 1
            result.infer_seconds += inferred.seconds
        return inferred

    @staticmethod
    def _name(refusal: str, result: SegmentResult) -> None:
        if len(result.refusals) < _NAMED_REFUSALS:
            result.refusals += (refusal,)

    @staticmethod
    def _remark(topic: str, problem: str, result: SegmentResult) -> None:
        """What is wrong with a calibration; that there is none the user knows."""
        remark = f"{topic}: {problem}"
        if problem not in ("", NO_CAMERA_INFO) and remark not in result.remarks and len(result.remarks) < _NAMED_REMARKS:
            result.remarks += (remark,)

    @staticmethod
    def _outputs_of(step: Step, inferred: Inferred | None) -> Iterator[Output]:
        """Iterated on the writing thread."""
        for hear, message in step.heard:
            hear(message)
        for copy in step.copies:
            yield Output(*copy)
        if step.take is not None and inferred is not None:
            if step.take.lead:
                step.take.camera.follow(inferred)
            else:
                yield from step.take.camera.finish(inferred)

    def _fill(self, bag: BagWriter, outputs: Iterator[Iterable[Output]]) -> None:
        """On the writing thread."""
        for name in self._copied:
            bag.add_recorded_topic(self._source.topics[name])
        for output in chain.from_iterable(outputs):
            if output.topic not in bag.counts:
                qos = LATCHED_QOS if output.topic.endswith(f"/{SCALE}") else NODE_QOS
                bag.add_topic(output.topic, self._outputs[output.topic], [qos])
            bag.write(output.topic, output.stamp_ns, output.data)


def _replaced(source: Source, plan: Plan, names: Collection[str]) -> tuple[str, ...]:
    """A remark on recorded topics that outputs take the place of. Raises OptionError where one is a camera's own."""
    own = [name for camera in plan.cameras for name in (camera.image, camera.info) if name in names]
    if own:
        raise OptionError(
            "option.range", f"The output {own[0]} would take the place of the camera's own; give another --namespace, or name --outputs."
        )
    gone = [name for name in sorted(names) if source.topics[name].count]
    return (f"recorded topics that new ones take the place of: {', '.join(gone)}",) if gone else ()


def result_of(metadata: dict[str, Any]) -> SegmentResult:
    """Read back from the `custom_data` of a segment's bag."""
    values = json.loads(metadata[NOTE])
    return SegmentResult(**{**values, **{name: tuple(values[name]) for name in ("refusals", "remarks")}})
