"""One pass over a recording before the work: which pictures it holds, and which camera_info belongs to each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.source import STAMP_END, Head, Source

NO_CALIBRATION = -1


@dataclass
class CameraIndex:
    """The pictures of one camera in the order of the recording."""

    recorded: array[int] = field(default_factory=lambda: array("q"))
    """When each was recorded, nanoseconds."""
    stamps: array[int] = field(default_factory=lambda: array("q"))
    """That of its header."""
    latest: array[int] = field(default_factory=lambda: array("q"))
    """Number of the camera_info that was the last to come before it, or `NO_CALIBRATION`."""
    infos: dict[int, int] = field(default_factory=dict)
    """Stamp of a camera_info to its number."""

    def calibration(self, index: int) -> tuple[int, bool]:
        """(number, whether it has the picture's own stamp): as the live node pairs them, except that it never comes too late here."""
        exact = self.infos.get(self.stamps[index])
        return (self.latest[index], False) if exact is None else (exact, True)


@dataclass
class Index:
    cameras: dict[str, CameraIndex]
    """By image topic."""
    calibrations: list[bytes]
    """CDR of the camera_infos that differ in more than their stamp."""


def read_index(source: Source, cameras: Sequence[Camera]) -> Index:
    """Reads the recording once from its begin to its end; only the head of each picture is looked at."""
    index = Index({camera.image: CameraIndex() for camera in cameras}, [])
    by_info: dict[str, list[CameraIndex]] = {}
    for camera in cameras:
        by_info.setdefault(camera.info, []).append(index.cameras[camera.image])
    latest = dict.fromkeys(by_info, NO_CALIBRATION)
    numbers: dict[bytes, int] = {}
    info_of = {camera.image: camera.info for camera in cameras}
    for head in source.heads(list(index.cameras), list(by_info)):
        if head.topic in index.cameras:
            one = index.cameras[head.topic]
            one.recorded.append(head.stamp_ns)
            one.stamps.append(_stamp(head))
            one.latest.append(latest[info_of[head.topic]])
        else:
            number = numbers.setdefault(head.data[STAMP_END:], len(numbers))
            if number == len(index.calibrations):
                index.calibrations.append(head.data)
            latest[head.topic] = number
            for one in by_info[head.topic]:
                one.infos[_stamp(head)] = number
    return index


def _stamp(head: Head) -> int:
    """Of the header, in nanoseconds; byte 1 of CDR tells the order of bytes. -1 where the bytes do not even hold a stamp."""
    if len(head.data) < STAMP_END:
        return -1
    order = "little" if head.data[1] & 1 else "big"
    seconds = int.from_bytes(head.data[4:8], order, signed=True)  # type: ignore[arg-type]
    return seconds * 1_000_000_000 + int.from_bytes(head.data[8:12], order)  # type: ignore[arg-type]
