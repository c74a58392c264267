"""What is carried from picture to picture: the scale's source, the sensors that it reads, depth held still. Of one recording, all cameras.

The counterpart of the node's `ScaleTracking`, with the same sources. Keyframes are looked at on the spot, so that the result does not
depend on how fast anything is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from depth_anything_ros.errors import OptionError
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.ros.bag_reader import BagTopic
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_choice import chosen_source
from depth_anything_ros.ros.scale_readings import Hear
from depth_anything_ros.ros.transform_tree import TransformTree
from depth_anything_ros.scale.steady import DepthSteadier
from depth_anything_ros.scale.tracker import ScaleTracker

_TF, _TF_TYPE = ("/tf", "/tf_static"), "tf2_msgs/msg/TFMessage"
Remaps = Mapping[str, str]
"""Topic as the node names it (relative to the camera, or whole) to that of the recording."""


class Ear(NamedTuple):
    """Who hears a topic."""

    type: str
    hear: Hear


@dataclass(frozen=True)
class Following:
    """The state of one camera."""

    tracker: ScaleTracker | None
    steadier: DepthSteadier | None


class OnTheSpot:
    """The network for keyframes, loaded when it is first needed. See `scale_choice.BackgroundNet`."""

    def __init__(self, load: Callable[[], Any], turn: threading.Lock) -> None:
        """turn: held while a network works, since each takes all cores."""
        self._load = load
        self._turn = turn
        self._net: Any = None

    def net(self) -> Any:
        if self._net is None:
            self._net = self._load()
        return self._net

    def run(self, job: Callable[[], None]) -> bool:
        with self._turn:
            job()
        return True


def follows(node: NodeOptions) -> bool:
    """Whether the depth of a picture depends on those before it."""
    return node.processing.scale_source not in ("model", "constant") or node.temporal.scale or node.temporal.depth


def begin(
    node: NodeOptions, cameras: Sequence[Camera], topics: Mapping[str, BagTopic], remaps: Remaps, net: OnTheSpot | None
) -> tuple[dict[str, Following], dict[str, list[Ear]]]:
    """A state that has seen nothing, by image topic, and who hears the topics of the recording.

    net: for the sources that look at keyframes. Raises OptionError where the recording lacks what the source reads, or has it with another
    type, and for a remap of what nobody reads.
    """
    tree = TransformTree()
    ears: dict[str, list[Ear]] = {}
    following = {}
    names = set(_TF) if _reads_tf(node) else set()
    for camera in cameras:
        source, readings = chosen_source(node, lambda: tree, net)
        tracker = None if source is None else ScaleTracker(node.processing.scale_source, source, node.scale)
        steadier = DepthSteadier(node.temporal) if node.temporal.scale or node.temporal.depth else None
        following[camera.image] = Following(tracker, steadier)
        if readings is not None:
            names.update(readings.topics, (f"{camera.namespace}/{name}" for name in readings.topics))
            wanted = {_recorded(camera, name, remaps): Ear(*heard) for name, heard in readings.topics.items()}
            others = {name: topic for name, topic in topics.items() if name not in (camera.image, camera.info)}
            _check_any(wanted, others, node.processing.scale_source)
            for topic, ear in wanted.items():
                ears.setdefault(topic, []).append(ear)
    if _reads_tf(node):
        for name in _TF:
            ears[remaps.get(name, name)] = [Ear(_TF_TYPE, lambda message, static=name == _TF[1]: tree.add(message, static=static))]
        if _needs_tf(node):
            _check_any({name: one[0] for name, one in ears.items() if one[0].type == _TF_TYPE}, topics, node.processing.scale_source)
    if unread := [name for name in remaps if name not in names]:
        raise OptionError(
            "option.range",
            f"--remap {unread[0]}: scale.source {node.processing.scale_source} reads {', '.join(sorted(names)) or 'no topic'} "
            "(pictures: --image, outputs: --namespace).",
        )
    for topic, heard in ears.items():
        if topic in topics and topics[topic].type != heard[0].type:
            raise OptionError("option.range", f"{topic} holds {topics[topic].type}, where the scale's source reads {heard[0].type}.")
    return following, {topic: heard for topic, heard in ears.items() if topic in topics}


def check(node: NodeOptions, cameras: Sequence[Camera], topics: Mapping[str, BagTopic], remaps: Remaps) -> None:
    """Raises what `begin` raises, before anything is loaded."""
    begin(node, cameras, topics, remaps, OnTheSpot(lambda: None, threading.Lock()))


def _reads_tf(node: NodeOptions) -> bool:
    return node.processing.scale_source in ("camera_height", "range", "odometry")


def _needs_tf(node: NodeOptions) -> bool:
    source, scale = node.processing.scale_source, node.scale
    return (source == "camera_height" and scale.camera_height_height <= 0.0) or (source == "odometry" and scale.odometry_input == "tf")


def _recorded(camera: Camera, name: str, remaps: Remaps) -> str:
    own = f"{camera.namespace}/{name}"
    return remaps.get(own) or remaps.get(name) or own


def _check_any(wanted: Mapping[str, Ear], topics: Mapping[str, BagTopic], source: str) -> None:
    if not any(topic in topics and topics[topic].count for topic in wanted):
        fitting = [name for name, topic in topics.items() if topic.type in {ear.type for ear in wanted.values()}]
        raise OptionError(
            "option.range",
            f"scale.source {source} reads {', '.join(wanted)}, and the recording has none of them; of these types it has "
            f"{', '.join(fitting) or 'nothing'} (--remap NAME:=TOPIC).",
        )
