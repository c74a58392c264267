"""Which topics of a recording are cameras, and where their depth goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros import calibration
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.message_types import ros2_types

IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_SUFFIX = "/compressed"
_OURS = ("/depth/sky_mask", "/depth/color", "/depth/color/compressed", "/rgb/image_rect_color")
"""Ends of output topics that hold pictures."""
_DEPTH_ENCODINGS = ("32FC1", "64FC1", "16UC1")
"""Of depth images; one that is a picture all the same can be named with --image."""


@dataclass(frozen=True)
class Camera:
    """One camera of a recording."""

    image: str
    type: str
    info: str
    """Topic of its camera_info, which the recording may lack."""
    namespace: str
    """Of its outputs, without a slash at the end; empty for the root."""

    @property
    def base(self) -> str:
        """The image topic without the part that a transport adds."""
        return self.image.removesuffix(_SUFFIX) if self.type == COMPRESSED else self.image


def find_cameras(source: Source, names: Sequence[str], namespace: str | None) -> tuple[Camera, ...]:
    """The named image topics or, without names, the only one that holds pictures.

    Raises InputError ``input.bag`` (no pictures), OptionError (a name that is no image topic, or several topics to choose from).
    """
    pictures = {name: topic.count for name, topic in source.topics.items() if topic.type in (IMAGE, COMPRESSED)}
    if wrong := [name for name in names if name not in pictures]:
        raise OptionError("option.unknown", f"{wrong[0]} is no image topic of the recording; it has {', '.join(pictures) or 'none'}.")
    if empty := [name for name in names if not pictures[name]]:
        raise InputError("input.bag", f"The image topic {empty[0]} has no messages.")
    chosen = list(names) or _only(_candidates(source, pictures), pictures)
    if len(chosen) > 1 and namespace is not None:
        raise OptionError("option.range", "--namespace is for one camera; several keep those of their image topics.")
    return tuple(_camera(source, name, namespace) for name in dict.fromkeys(chosen))


def _camera(source: Source, image: str, namespace: str | None) -> Camera:
    kind = source.topics[image].type
    base = image.removesuffix(_SUFFIX) if kind == COMPRESSED else image
    own = base.rpartition("/")[0] if namespace is None else "/" + namespace.strip("/") if namespace.strip("/") else ""
    return Camera(image, kind, calibration.sibling(base), own)


def _candidates(source: Source, pictures: dict[str, int]) -> list[str]:
    """Topics with pictures that are no depth images; of a picture in both forms the plain one; our own outputs only without others."""
    reader = BagMessages(ros2_types())
    found = []
    for name, count in pictures.items():
        kind = source.topics[name].type
        if not count or (kind == COMPRESSED and pictures.get(name.removesuffix(_SUFFIX))):
            continue
        message = next(iter(source.messages([name])), None)
        if message is not None and (kind == COMPRESSED or reader.read(message.data, kind).encoding not in _DEPTH_ENCODINGS):
            found.append(name)
    return [name for name in found if not name.endswith(_OURS)] or found


def _only(candidates: list[str], pictures: dict[str, int]) -> list[str]:
    if len(candidates) > 1:
        raise OptionError("option.range", f"The recording has several image topics: {', '.join(candidates)}; choose with --image.")
    if not candidates:
        named = ", ".join(f"{name} ({count} messages)" for name, count in pictures.items())
        raise InputError("input.bag", f"The recording holds no pictures; its image topics: {named or 'none'}.")
    return candidates
