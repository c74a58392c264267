"""A recording in steps, for the thread that computes: what was recorded between two pictures, and the picture, ready for the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from rosbags.interfaces import Qos, QosDurability

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.camera_replay import CameraReplay
from depth_anything_ros.replay.following import Ear
from depth_anything_ros.replay.plan import CameraPart, Segment
from depth_anything_ros.replay.source import LostPicture, Source
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import FOREVER_NS, BagMessage
from depth_anything_ros.ros.picture import Picture
from depth_anything_ros.ros.scale_readings import Hear

_LATE_NS = 500_000_000
"""A picture hears what was recorded up to so much later, as it does live while the network is at work."""
_EARLIER_NS = 10_000_000_000
"""What sensors and TF said so long before the first picture is heard (the length of tf2's buffer)."""
_LARGEST_STEP = 8 << 20
"""Bytes of messages that are copied in one step."""


Recorded = BagMessage | LostPicture


class Take(NamedTuple):
    """A picture."""

    camera: CameraReplay
    topic: str
    stamp_ns: int
    """Time of recording."""
    number: int
    """Of processed pictures of the camera before it."""
    picture: Picture | InputError | None
    """None: passed over."""
    lead: bool
    """Looked at without output."""


@dataclass
class Step:
    """In this order: sensors are heard, messages are copied, the picture's outputs follow."""

    heard: list[tuple[Hear, Any]] = field(default_factory=list)
    copies: list[BagMessage] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Of messages that cannot be read."""
    take: Take | None = None


class StepReader:
    """Steps of segments of one open recording. Iterated on the reading thread."""

    def __init__(
        self,
        source: Source,
        cameras: Mapping[str, CameraReplay],
        copied: Sequence[str],
        messages: BagMessages,
        every: int,
        begin_ns: int,
    ) -> None:
        """cameras: by image topic. copied: topics. every: one of so many pictures is processed.

        begin_ns: of the range that is replayed, 0 for the begin of the recording.
        """
        self._source = source
        self._cameras = cameras
        self._copied = frozenset(copied)
        self._messages = messages
        self._every = every
        self._begin_ns = begin_ns

    def steps(self, segment: Segment, ears: Mapping[str, Sequence[Ear]], *, lead: bool, heard: bool) -> Iterator[Step]:
        """lead: with the segment's leads. heard: whether `ears` have heard all that the segment before it heard; else from earlier on."""
        yield from self._latched(segment)
        takes = {topic: _numbered(part, lead=False) for topic, part in segment.parts.items()}
        if lead:
            takes = {topic: chain(_numbered(segment.leads[topic], lead=True), rest) for topic, rest in takes.items()}
        step, size = Step(), 0
        for message in self._in_time(segment, ears, lead, heard):
            if isinstance(message, _Heard):
                step.heard += message.heard
                step.problems += message.problems
                continue
            if isinstance(message, BagMessage) and message.topic in self._copied and message.stamp_ns >= segment.start_ns:
                step.copies.append(message)
                size += len(message.data)
            if message.topic in self._cameras and self._concerns(message, segment):
                step.take = self._take(message, *next(takes[message.topic]))
            if step.take is not None or size > _LARGEST_STEP:
                yield step
                step, size = Step(), 0
        yield step

    def _in_time(self, segment: Segment, ears: Mapping[str, Sequence[Ear]], lead: bool, heard: bool) -> Iterator[Recorded | _Heard]:
        """Messages in the order of their recording, but sensors as early as pictures hear them."""
        if not ears:
            yield from self._read(segment, (), lead, heard)
            return
        heard_before = segment.start_ns + _LATE_NS if heard else 0
        waiting: deque[Recorded] = deque()
        unheard: deque[Recorded] = deque()
        own = self._copied | self._cameras.keys()
        for message in chain(self._read(segment, ears, lead, heard), (None,)):
            while waiting and (message is None or waiting[0].stamp_ns + _LATE_NS < message.stamp_ns):
                yield self._hear(unheard, ears, waiting[0].stamp_ns + _LATE_NS)
                yield waiting.popleft()
            if message is not None and message.topic in ears and message.stamp_ns >= heard_before:
                unheard.append(message)
            if message is not None and message.topic in own and message.stamp_ns < segment.stop_ns:
                waiting.append(message)
        yield self._hear(unheard, ears, segment.stop_ns + _LATE_NS)

    def _read(self, segment: Segment, ears: Collection[str], lead: bool, heard: bool) -> Iterator[Recorded]:
        """All that is needed of the recording, each once."""
        read, begin = self._source.messages, segment.lead_ns if lead else segment.start_ns
        if ears and not heard:
            earlier = max(begin - _EARLIER_NS, 0)
            yield from read({name for name in ears if is_latched(name, self._source.topics[name].qos)}, 0, earlier)
            yield from read(set(ears), earlier, begin)
        if begin < segment.start_ns:
            yield from read({*self._cameras, *ears}, begin, segment.start_ns)
        yield from read({*self._copied, *self._cameras, *ears}, segment.start_ns, segment.stop_ns)
        if ears and segment.stop_ns < FOREVER_NS:
            yield from read(set(ears), segment.stop_ns, segment.stop_ns + _LATE_NS)

    def _hear(self, waiting: deque[Recorded], ears: Mapping[str, Sequence[Ear]], until_ns: int) -> _Heard:
        found = _Heard([], [])
        while waiting and waiting[0].stamp_ns <= until_ns:
            message = waiting.popleft()
            try:
                read = self._messages.read(message.data, ears[message.topic][0].type)
            except InputError as error:
                found.problems.append(f"{message.topic} at {message.stamp_ns * 1e-9:.3f} s: {error}")
                continue
            found.heard.extend((ear.hear, read) for ear in ears[message.topic])
        return found

    def _latched(self, segment: Segment) -> Iterator[Step]:
        """What a late joiner would have got at the begin of the range: messages of latched topics from before it."""
        latched = {name for name in self._copied if is_latched(name, self._source.topics[name].qos)}
        if segment.number == 0 and self._begin_ns > 0 and latched:
            for message in self._source.messages(latched, 0, self._begin_ns):
                yield Step(copies=[BagMessage(message.topic, self._begin_ns, message.data)])

    @staticmethod
    def _concerns(message: Recorded, segment: Segment) -> bool:
        """Whether a picture belongs to the segment or to the lead of its camera."""
        return message.stamp_ns >= segment.start_ns or message.stamp_ns >= segment.leads[message.topic].start_ns

    def _take(self, message: Recorded, number: int, calibration: tuple[int, bool], lead: bool) -> Take:
        camera = self._cameras[message.topic]
        picture: Picture | InputError | None = None
        if number % self._every == 0:
            picture = message.problem if isinstance(message, LostPicture) else camera.prepare(message.data, *calibration)
        return Take(camera, message.topic, message.stamp_ns, number // self._every, picture, lead)


@dataclass
class _Heard:
    heard: list[tuple[Hear, Any]]
    problems: list[str]


def _numbered(part: CameraPart, *, lead: bool) -> Iterator[tuple[int, tuple[int, bool], bool]]:
    """(number, calibration, lead) of each picture."""
    number = part.first
    for count, calibration, exact in part.runs:
        for _ in range(count):
            yield number, (calibration, exact), lead
            number += 1


def is_latched(name: str, qos: tuple[Qos, ...]) -> bool:
    return name.endswith("/tf_static") or any(one.durability is QosDurability.TRANSIENT_LOCAL for one in qos)
