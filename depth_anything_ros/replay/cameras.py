"""Which topics of a recording are cameras, and where their depth goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.source import Source
from depth_anything_ros.ros import calibration
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.picture import COMPRESSED
from depth_anything_ros.ros.picture import RAW as IMAGE

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


def find_cameras(source: Source, options: ReplayOptions) -> tuple[Camera, ...]:
    """The named image topics, else those of the parameter `cameras`, else the only topic that holds pictures.

    Raises InputError ``input.bag`` (no pictures), OptionError (a name that is no image topic, or several topics to choose from).
    """
    pictures = {name: topic.count for name, topic in source.topics.items() if topic.type in (IMAGE, COMPRESSED)}
    compressed = options.node.image_transport == "compressed"
    names = list(options.images) or _of_parameter(options, compressed)
    if wrong := [name for name in names if name not in pictures]:
        raise OptionError("option.unknown", f"{wrong[0]} is no image topic of the recording; it has {', '.join(pictures) or 'none'}.")
    if empty := [name for name in names if not pictures[name]]:
        raise InputError("input.bag", f"The image topic {empty[0]} has no messages.")
    chosen = dict.fromkeys(names or _only(_candidates(source, pictures, compressed), pictures))
    if options.images and len(chosen) > 1 and options.namespace is not None:
        raise OptionError("option.range", "--namespace is for one image topic; several keep their own.")
    namespace = options.namespace if options.images or not names else None
    cameras = tuple(_camera(source, name, namespace) for name in chosen)
    _check_apart(cameras)
    return cameras


def _of_parameter(options: ReplayOptions, compressed: bool) -> list[str]:
    """Topics of the node's `cameras` in its namespace; none for the one camera without a name."""
    parts = [(options.namespace or "").strip("/"), "", "image", "compressed" if compressed else ""]
    named = [name for name in options.node.cameras if name]
    return ["/" + "/".join(filter(None, [parts[0], name, *parts[2:]])) for name in named]


def _camera(source: Source, image: str, namespace: str | None) -> Camera:
    kind = source.topics[image].type
    base = image.removesuffix(_SUFFIX) if kind == COMPRESSED else image
    own = base.rpartition("/")[0] if namespace is None else "/" + namespace.strip("/") if namespace.strip("/") else ""
    return Camera(image, kind, calibration.sibling(base), own)


def _check_apart(cameras: Sequence[Camera]) -> None:
    """Raises OptionError for two cameras whose outputs would have the same names."""
    first: dict[str, Camera] = {}
    for camera in cameras:
        other = first.setdefault(camera.namespace, camera)
        if other is not camera:
            raise OptionError(
                "option.range",
                f"The depth of {other.image} and of {camera.image} would both be {camera.namespace}/depth/image_rect; replay one after the "
                "other (--image), each with a --namespace.",
            )


def _candidates(source: Source, pictures: dict[str, int], compressed: bool) -> list[str]:
    """Topics with pictures that are no depth images; of a picture in both forms one; our own outputs only without others."""
    reader = BagMessages(ros2_types())
    found = []
    for name, count in pictures.items():
        kind = source.topics[name].type
        twin = name.removesuffix(_SUFFIX) if kind == COMPRESSED else name + _SUFFIX
        if not count or (twin != name and pictures.get(twin) and compressed != (kind == COMPRESSED)):
            continue
        if _holds_pictures(source, name, kind, reader):
            found.append(name)
    return [name for name in found if not name.endswith(_OURS)] or found


def _holds_pictures(source: Source, name: str, kind: str, reader: BagMessages) -> bool:
    """By the first message that can be read."""
    for message in source.messages([name]):
        with suppress(InputError):  # it will be counted among the refused pictures
            first = reader.read(message.data, kind)
            # image_transport: "rgb8; jpeg compressed bgr8", "16UC1; png compressed", "16UC1; compressedDepth png".
            encoding = first.format.partition(";")[0].strip() if kind == COMPRESSED else first.encoding
            return encoding not in _DEPTH_ENCODINGS
    return False


def _only(candidates: list[str], pictures: dict[str, int]) -> list[str]:
    if len(candidates) > 1:
        raise OptionError("option.range", f"The recording has several image topics: {', '.join(candidates)}; choose with --image.")
    if not candidates:
        named = ", ".join(f"{name} ({count} messages)" for name, count in pictures.items())
        raise InputError("input.bag", f"The recording holds no pictures; its image topics: {named or 'none'}.")
    return candidates
