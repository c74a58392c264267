"""One pass over a recording before the work: which pictures it holds, and which camera_info belongs to each."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from depth_anything_ros.errors import CancelledError, InputError
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.source import STAMP_END, Head, Source
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.topics import CAMERA_INFO

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
    infos: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """Stamp to (when it was recorded, number) of its camera_infos: several, where a clock began anew and the calibration is another one."""

    def add_info(self, stamp: int, recorded: int, number: int) -> None:
        known = self.infos.get(stamp, ())
        if not known or known[-1][1] != number:
            self.infos[stamp] = (*known, (recorded, number))

    def calibration(self, index: int) -> tuple[int, bool]:
        """(number, whether it has the picture's own stamp): as the live node pairs them, except that it never comes too late here."""
        exact = self.infos.get(self.stamps[index])
        if exact is None:
            return self.latest[index], False
        return min(exact, key=lambda one: abs(one[0] - self.recorded[index]))[1], True


@dataclass
class Index:
    cameras: dict[str, CameraIndex]
    """By image topic."""
    calibrations: list[bytes]
    """CDR of the camera_infos that differ in more than their stamp."""


def read_index(source: Source, cameras: Sequence[Camera], stopping: Callable[[], bool] = lambda: False) -> Index:
    """Reads the recording once from its begin to its end; only the head of each picture is looked at.

    A camera_info that cannot be read is passed over, and told in the source's warnings. Raises CancelledError once `stopping()` is true.
    """
    index = Index({camera.image: CameraIndex() for camera in cameras}, [])
    by_info: dict[str, list[CameraIndex]] = {}
    for camera in cameras:
        by_info.setdefault(camera.info, []).append(index.cameras[camera.image])
    latest = dict.fromkeys(by_info, NO_CALIBRATION)
    numbers = _Numbers(index.calibrations, source.warnings)
    info_of = {camera.image: camera.info for camera in cameras}
    for head in source.heads(list(index.cameras), list(by_info)):
        if stopping():
            raise CancelledError("engine.cancelled", "Stopped by request.")
        if head.topic in index.cameras:
            one = index.cameras[head.topic]
            one.recorded.append(head.stamp_ns)
            one.stamps.append(_stamp(head))
            one.latest.append(latest[info_of[head.topic]])
        else:
            number = numbers.of(head)
            if number == NO_CALIBRATION:
                continue
            latest[head.topic] = number
            for one in by_info[head.topic]:
                one.add_info(_stamp(head), head.stamp_ns, number)
    return index


class _Numbers:
    """Numbers for camera_infos that differ in more than their stamp."""

    def __init__(self, calibrations: list[bytes], warnings: list[str]) -> None:
        """calibrations: takes the first of each number. warnings: takes a line for the first of a topic that cannot be read."""
        self._calibrations = calibrations
        self._warnings = warnings
        self._messages = BagMessages(ros2_types())
        self._known: dict[bytes, int] = {}
        self._unreadable: set[str] = set()

    def of(self, head: Head) -> int:
        """`NO_CALIBRATION` where it cannot be read."""
        content = head.data[STAMP_END:]
        if content in self._known:
            return self._known[content]
        try:
            self._messages.read(head.data, CAMERA_INFO)
        except InputError as error:
            if head.topic not in self._unreadable:
                self._unreadable.add(head.topic)
                self._warnings.append(f"{head.topic} at {head.stamp_ns * 1e-9:.3f} s is passed over, like others after it: {error}")
            return NO_CALIBRATION
        self._calibrations.append(head.data)
        return self._known.setdefault(content, len(self._calibrations) - 1)


def _stamp(head: Head) -> int:
    """Of the header, in nanoseconds; byte 1 of CDR tells the order of bytes. -1 where the bytes do not even hold a stamp."""
    if len(head.data) < STAMP_END:
        return -1
    order = "little" if head.data[1] & 1 else "big"
    seconds = int.from_bytes(head.data[4:8], order, signed=True)  # type: ignore[arg-type]
    return seconds * 1_000_000_000 + int.from_bytes(head.data[8:12], order)  # type: ignore[arg-type]
