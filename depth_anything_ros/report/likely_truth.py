"""Which topic of a bag the depth of a camera can be compared with, when nobody has named one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from depth_anything_ros.errors import InputError
from depth_anything_ros.evaluate.evaluation import CLOUD, DEPTH_NAMES, IMAGE
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.sensor_values import DEPTH_ENCODINGS

_OURS = (*DEPTH_NAMES, "depth/confidence", "depth/sky_mask", "depth/color", "points", "rgb/image_rect_color")
_WORDS = ("truth", "ground", "gt", "depth")
"""In the name of a depth image, the most telling one first."""


def likely_truth(bag: BagReader, depth: str, cameras: Iterable[Camera]) -> str:
    """A depth image with a telling name in the frame of `depth`, else a laser's cloud that is no node's own, else nothing.

    depth: topic with messages. cameras: all that the bag has depth of.
    """
    ours = {f"{camera.namespace}/{name}" for camera in cameras for name in _OURS}
    others = {name: topic.type for name, topic in bag.topics.items() if topic.count and name not in ours}
    named = (name for word in _WORDS for name, kind in others.items() if kind == IMAGE and word in name.lower())
    frame = _first(bag, depth).header.frame_id
    for name in dict.fromkeys(named):
        first = _first(bag, name)
        if first is not None and first.encoding in DEPTH_ENCODINGS and first.header.frame_id == frame:
            return name
    return next((name for name, kind in others.items() if kind == CLOUD), "")


def _first(bag: BagReader, topic: str) -> Any:
    """The first Image of a topic that can be read, None where there is none."""
    messages = BagMessages(ros2_types())
    for message in bag.messages([topic]):
        with suppress(InputError):
            return messages.read(message.data, IMAGE)
    return None
