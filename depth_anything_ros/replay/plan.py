"""The work cut into segments: ranges of time that can be done in any order, by anybody, again and again, with the same result.

Where depth depends on earlier pictures, a segment begins with a lead, and the result is the same within a small bound.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.index import CameraIndex, read_index
from depth_anything_ros.replay.lead import Lead, lead_of
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros.bag_reader import FOREVER_NS

_MOST_SEGMENTS = 200
"""Each is a file of the output bag, and readers open all of them."""
_MOST_UNINDEXED = 8
"""A recording without index is read from its begin for each segment."""
_LEADS = 4
"""A segment that somebody else goes on with is so many times as long as its lead."""


@dataclass(frozen=True)
class CameraPart:
    """Pictures of one camera, one after the other."""

    start_ns: int
    """Time of recording, first that belongs to it."""
    first: int
    """Number of its first picture in the range that is replayed, from 0."""
    runs: tuple[tuple[int, int, bool], ...]
    """(pictures, number of their camera_info or -1, whether it has their own stamp), in the order of the recording."""

    @property
    def pictures(self) -> int:
        return sum(count for count, _, _ in self.runs)


@dataclass(frozen=True)
class Segment:
    number: int
    start_ns: int
    """Time of recording, first that belongs to it."""
    stop_ns: int
    """First that does not."""
    parts: dict[str, CameraPart]
    """By image topic."""
    leads: dict[str, CameraPart]
    """What is looked at before, without output, where depth depends on earlier pictures; else empty parts."""

    @property
    def lead_ns(self) -> int:
        """Time of recording at which the leads begin."""
        return min(part.start_ns for part in self.leads.values())


@dataclass(frozen=True)
class Plan:
    cameras: tuple[Camera, ...]
    calibrations: tuple[bytes, ...]
    """CDR of the camera_infos."""
    segments: tuple[Segment, ...]
    start_ns: int
    """Time of recording at which the replay begins; 0 is the begin of the recording."""
    warnings: tuple[str, ...]
    """About the recording."""

    @property
    def pictures(self) -> int:
        return sum(part.pictures for segment in self.segments for part in segment.parts.values())

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "calibrations": [base64.b64encode(one).decode() for one in self.calibrations]}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Plan:
        def parts(one: dict[str, Any]) -> dict[str, CameraPart]:
            return {topic: CameraPart(part["start_ns"], part["first"], tuple(map(tuple, part["runs"]))) for topic, part in one.items()}

        segments = [Segment(**{**one, "parts": parts(one["parts"]), "leads": parts(one["leads"])}) for one in values["segments"]]
        return cls(
            cameras=tuple(Camera(**one) for one in values["cameras"]),
            calibrations=tuple(base64.b64decode(one) for one in values["calibrations"]),
            segments=tuple(segments),
            start_ns=values["start_ns"],
            warnings=tuple(values["warnings"]),
        )


def make_plan(source: Source, cameras: Sequence[Camera], options: ReplayOptions, stopping: Callable[[], bool] = lambda: False) -> Plan:
    """Reads the recording once.

    Raises InputError ``input.bag`` when the range holds no pictures, CancelledError once `stopping()` is true.
    """
    index = read_index(source, cameras, stopping)
    begin = 0 if options.start == 0.0 else _later(source.start_ns, options.start)
    end = FOREVER_NS if options.stop is None else _later(source.start_ns, options.stop)
    times = sorted(time for one in index.cameras.values() for time in one.recorded if begin <= time < end)
    if not times:
        raise InputError("input.bag", "There are no pictures in the range of time that is asked for.")
    lead = lead_of(options.node)
    length = _length(options, lead, times, _MOST_SEGMENTS if source.indexed else _MOST_UNINDEXED)
    # Pictures of the same time stay together; what lies before the first and behind the last picture belongs to their segments.
    borders = [begin, *sorted({times[at] for at in range(length, len(times), length)} - {times[0]}), end]
    parts = {topic: _parts(camera, borders, lead, options.every) for topic, camera in index.cameras.items()}
    segments = [
        Segment(number, start, stop, *({topic: of_camera[number][which] for topic, of_camera in parts.items()} for which in (0, 1)))
        for number, (start, stop) in enumerate(pairwise(borders))
    ]
    return Plan(tuple(cameras), tuple(index.calibrations), tuple(segments), begin, tuple(source.warnings))


def _later(begin_ns: int, seconds: float) -> int:
    """Nanoseconds; at the latest `FOREVER_NS`, which storages can hold."""
    return min(begin_ns + round(min(seconds * 1e9, float(FOREVER_NS))), FOREVER_NS)


def _length(options: ReplayOptions, lead: Lead, times: Sequence[int], most: int) -> int:
    """Pictures of a segment."""
    length = max(options.segment, -(-len(times) // most))
    if options.jobs == 1 and not options.cluster:
        return length
    # Whoever does a segment looks at its lead first, which must not become most of the work.
    rate = len(times) / max((times[-1] - times[0]) * 1e-9, 1e-9)
    return max(length, _LEADS * max(lead.pictures * options.every, int(lead.seconds * rate)))


def _parts(camera: CameraIndex, borders: list[int], lead: Lead, every: int) -> list[tuple[CameraPart, CameraPart]]:
    """The part of each segment, and its lead."""
    within = [at for at, time in enumerate(camera.recorded) if borders[0] <= time < borders[-1]]
    times = [camera.recorded[at] for at in within]
    found: list[list[int]] = [[] for _ in borders[1:]]
    for number, time in enumerate(times):
        found[bisect_right(borders, time) - 1].append(number)
    parts, first = [], 0
    for start, numbers in zip(borders, found):
        lead_ns = times[lead.first(times, first, every)] if 0 < first < len(times) else start
        before = [number for number, time in enumerate(times) if lead_ns <= time < start] if lead_ns < start else []
        first_before = before[0] if before else first
        parts.append((_part(camera, within, numbers, start, first), _part(camera, within, before, min(lead_ns, start), first_before)))
        first += len(numbers)
    return parts


def _part(camera: CameraIndex, within: list[int], numbers: Sequence[int], start_ns: int, first: int) -> CameraPart:
    calibrations = (camera.calibration(within[number]) for number in numbers)
    return CameraPart(start_ns, first, tuple((len(list(group)), *key) for key, group in groupby(calibrations)))
