"""The work cut into segments: ranges of time that can be done in any order, by anybody, again and again, with the same result."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.index import CameraIndex, read_index
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros.bag_reader import FOREVER_NS

_MOST_SEGMENTS = 200
"""Each is a file of the output bag, and readers open all of them."""
_MOST_UNINDEXED = 8
"""A recording without index is read from its begin for each segment."""


@dataclass(frozen=True)
class CameraPart:
    """The pictures of one camera in a segment."""

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
        segments = [
            Segment(
                **{
                    **one,
                    "parts": {topic: CameraPart(part["first"], tuple(map(tuple, part["runs"]))) for topic, part in one["parts"].items()},
                }
            )
            for one in values["segments"]
        ]
        return cls(
            cameras=tuple(Camera(**one) for one in values["cameras"]),
            calibrations=tuple(base64.b64decode(one) for one in values["calibrations"]),
            segments=tuple(segments),
            start_ns=values["start_ns"],
            warnings=tuple(values["warnings"]),
        )


def make_plan(source: Source, cameras: Sequence[Camera], options: ReplayOptions) -> Plan:
    """Reads the recording once. Raises InputError ``input.bag`` when the range holds no pictures."""
    index = read_index(source, cameras)
    begin = 0 if options.start == 0.0 else source.start_ns + round(options.start * 1e9)
    end = FOREVER_NS if options.stop is None else source.start_ns + round(options.stop * 1e9)
    times = sorted(time for one in index.cameras.values() for time in one.recorded if begin <= time < end)
    if not times:
        raise InputError("input.bag", "There are no pictures in the range of time that is asked for.")
    most = _MOST_SEGMENTS if source.indexed else _MOST_UNINDEXED
    length = max(options.segment, -(-len(times) // most))
    # Pictures of the same time stay together; what lies before the first and behind the last picture belongs to their segments.
    borders = [begin, *sorted({times[at] for at in range(length, len(times), length)} - {times[0]}), end]
    parts = {topic: _parts(camera, borders) for topic, camera in index.cameras.items()}
    segments = [
        Segment(number, start, stop, {topic: of_camera[number] for topic, of_camera in parts.items()})
        for number, (start, stop) in enumerate(pairwise(borders))
    ]
    return Plan(tuple(cameras), tuple(index.calibrations), tuple(segments), begin, tuple(source.warnings))


def _parts(camera: CameraIndex, borders: list[int]) -> list[CameraPart]:
    """The part of each segment."""
    found: list[list[tuple[int, bool]]] = [[] for _ in borders[1:]]
    for at, time in enumerate(camera.recorded):
        if borders[0] <= time < borders[-1]:
            found[bisect_right(borders, time) - 1].append(camera.calibration(at))
    firsts = accumulate(map(len, found), initial=0)
    return [
        CameraPart(first, tuple((len(list(group)), *key) for key, group in groupby(calibrations)))
        for first, calibrations in zip(firsts, found)
    ]
