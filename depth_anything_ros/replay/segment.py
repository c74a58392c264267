"""One segment of a replay: read ahead, compute, write behind, into a bag of its own that appears when it is whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import Qos, QosDurability

from depth_anything_ros.errors import CancelledError, InputError
from depth_anything_ros.replay.camera_replay import CameraReplay, Output
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.overlap import WriteBehind, read_ahead
from depth_anything_ros.replay.plan import Plan, Segment
from depth_anything_ros.replay.selection import kept_topics, output_topics
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import BagMessage
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.camera_bag import NODE_QOS
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.picture import Picture
from depth_anything_ros.types import InfersDepth

NOTE = "depth_anything_ros"
"""Key of a segment's result in the metadata of its bag."""
_AHEAD = 4
"""Messages that wait between reading, computing and writing."""
_NAMED_REFUSALS = 5


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
    seconds: float = 0.0
    infer_seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class _Item(NamedTuple):
    message: BagMessage
    camera: CameraReplay | None
    number: int
    """Of processed pictures of the camera before it."""
    picture: Picture | InputError | None
    """None: not a picture, or one that is passed over."""


class SegmentRunner:
    """Runs segments of one plan, one after the other, with one engine and one open recording."""

    def __init__(self, plan: Plan, options: ReplayOptions, source: Source, engine: InfersDepth) -> None:
        self._plan = plan
        self._options = options
        self._source = source
        kept = kept_topics(source, options)
        relative = output_topics(engine.info, options)
        messages = BagMessages(ros2_types())
        self._cameras = {
            camera.image: CameraReplay(camera, engine, options.node, frozenset(relative), messages, plan.calibrations)
            for camera in plan.cameras
        }
        self._outputs = {f"{camera.namespace}/{name}": kind for camera in plan.cameras for name, kind in relative.items()}
        # In the order of the recording, so that all segments declare them alike; depth that was recorded gives way to the new one.
        self._copied = [name for name in source.topics if name in kept and name not in self._outputs]

    def run(self, segment: Segment, folder: Path, progress: Callable[[int], None], stopping: Callable[[], bool]) -> SegmentResult:
        """Write the bag `folder`. progress: takes the number of pictures done since the last call.

        Raises CancelledError once `stopping()` is true, InputError when the bag cannot be written, and what the engine raises; nothing
        is left at `folder` then.
        """
        started = time.perf_counter()
        result = SegmentResult(segment.number)

        def write(outputs: Iterator[Iterable[Output]]) -> None:
            with BagWriter(folder, self._options.storage, whole=True) as bag:
                self._fill(bag, outputs)
                result.seconds = time.perf_counter() - started
                bag.note(NOTE, result.to_json())

        with WriteBehind(write, _AHEAD) as writer:
            for item in read_ahead(self._items(segment), _AHEAD):
                if stopping():
                    raise CancelledError("engine.cancelled", "Stopped by request.")
                if item.message.topic in self._copied:
                    writer.put([Output(*item.message)])
                if item.camera is not None:
                    self._compute(item, writer, result)
                    progress(1)
        return result

    def _items(self, segment: Segment) -> Iterator[_Item]:
        """On the reading thread: messages in the order of the recording, pictures made ready."""
        if segment.number == 0 and self._plan.start_ns > 0:
            yield from self._latched()
        calibrations = {topic: _unrolled(part.runs) for topic, part in segment.parts.items()}
        numbers = {topic: part.first for topic, part in segment.parts.items()}
        for message in self._source.messages({*self._copied, *self._cameras}, segment.start_ns, segment.stop_ns):
            camera = self._cameras.get(message.topic)
            if camera is None:
                yield _Item(message, None, 0, None)
            else:
                number, calibration = numbers[message.topic], next(calibrations[message.topic])
                numbers[message.topic] += 1
                wanted = number % self._options.every == 0
                yield _Item(message, camera, number // self._options.every, camera.prepare(message.data, *calibration) if wanted else None)

    def _latched(self) -> Iterator[_Item]:
        """What a late joiner would have got at the begin of the range: messages of latched topics from before it."""
        latched = {name for name in self._copied if _is_latched(name, self._source.topics[name].qos)}
        if latched:
            for message in self._source.messages(latched, 0, self._plan.start_ns):
                yield _Item(message._replace(stamp_ns=self._plan.start_ns), None, 0, None)

    def _compute(self, item: _Item, writer: WriteBehind[Iterable[Output]], result: SegmentResult) -> None:
        if item.picture is None:
            result.passed_over += 1
        elif isinstance(item.picture, InputError):
            self._refuse(item, item.picture, result)
        else:
            assert item.camera is not None
            try:
                inferred = item.camera.infer(item.picture, item.message.stamp_ns, item.number)
            except InputError as error:
                self._refuse(item, error, result)
                return
            result.processed += 1
            result.infer_seconds += inferred.seconds
            writer.put(item.camera.finish(inferred))

    def _refuse(self, item: _Item, error: InputError, result: SegmentResult) -> None:
        result.refused += 1
        if result.refused <= _NAMED_REFUSALS:
            result.refusals += (f"{item.message.topic} at {item.message.stamp_ns * 1e-9:.3f} s: {error}",)

    def _fill(self, bag: BagWriter, outputs: Iterator[Iterable[Output]]) -> None:
        """On the writing thread."""
        for name in self._copied:
            bag.add_recorded_topic(self._source.topics[name])
        for output in chain.from_iterable(outputs):
            if output.topic not in bag.counts:
                bag.add_topic(output.topic, self._outputs[output.topic], [NODE_QOS])
            bag.write(output.topic, output.stamp_ns, output.data)


def _unrolled(runs: tuple[tuple[int, int, bool], ...]) -> Iterator[tuple[int, bool]]:
    for count, calibration, exact in runs:
        for _ in range(count):
            yield calibration, exact


def _is_latched(name: str, qos: tuple[Qos, ...]) -> bool:
    return name.endswith("/tf_static") or any(one.durability is QosDurability.TRANSIENT_LOCAL for one in qos)


def result_of(metadata: dict[str, Any]) -> SegmentResult:
    """Read back from the `custom_data` of a segment's bag."""
    values = json.loads(metadata[NOTE])
    return SegmentResult(**{**values, "refusals": tuple(values["refusals"])})
