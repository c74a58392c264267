"""Recordings for replay tests, written by `rosbags` itself, and what came out, read by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bag_tools import START_NS, STEP_NS, TYPES
from fake_engine import ANY_VIEW, METRIC, FakeEngine
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import Summary, replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.ros.parameters import NodeOptions

IMAGE, INFO, TEXT, TF_STATIC = "/cam/image_rect", "/cam/camera_info", "/text", "/tf_static"
KINDS = {
    IMAGE: "sensor_msgs/msg/Image",
    INFO: "sensor_msgs/msg/CameraInfo",
    TEXT: "std_msgs/msg/String",
    TF_STATIC: "tf2_msgs/msg/TFMessage",
}
_NEVER = QosTime(0, 0)
BEST_EFFORT = Qos(
    QosHistory.KEEP_LAST, 3, QosReliability.BEST_EFFORT, QosDurability.VOLATILE, _NEVER, _NEVER, QosLiveliness.AUTOMATIC, _NEVER, False
)
LATCHED = BEST_EFFORT._replace(reliability=QosReliability.RELIABLE, durability=QosDurability.TRANSIENT_LOCAL)
Message = tuple[str, int, bytes]


def header(index: int) -> object:
    """Of picture `index`: stamps that are not those of the recording, with odd nanoseconds."""
    time = TYPES.types["builtin_interfaces/msg/Time"](sec=1_600_000_000 + index, nanosec=7 * index + 1)
    return TYPES.types["std_msgs/msg/Header"](stamp=time, frame_id="cam_optical")


def stamp(index: int) -> int:
    return (1_600_000_000 + index) * 10**9 + 7 * index + 1


def cdr(kind: str, **fields: object) -> bytes:
    return bytes(TYPES.serialize_cdr(TYPES.types[kind](**fields), kind))


def pixels(index: int, width: int = 32, height: int = 24) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (height, width, 3), dtype=np.uint8)


def image(index: int, encoding: str = "rgb8", size: tuple[int, int] = (32, 24)) -> bytes:
    width, height = size
    data = pixels(index, width, height).ravel()
    step = width * 3
    return cdr(KINDS[IMAGE], header=header(index), height=height, width=width, encoding=encoding, is_bigendian=0, step=step, data=data)


def info(index: int, focal: float = 300.0, size: tuple[int, int] = (32, 24), d: Sequence[float] = (0.0,) * 5) -> bytes:
    width, height = size
    roi = TYPES.types["sensor_msgs/msg/RegionOfInterest"](x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    k = np.array([focal, 0, 16, 0, focal, 12, 0, 0, 1.0])
    p = np.array([focal, 0, 16, 0, 0, focal, 12, 0, 0, 0, 1.0, 0])
    fields = {"distortion_model": "plumb_bob", "d": np.array(d), "k": k, "r": np.eye(3).ravel(), "p": p}
    return cdr(KINDS[INFO], header=header(index), height=height, width=width, **fields, binning_x=0, binning_y=0, roi=roi)


def camera_messages(count: int, size: tuple[int, int] = (32, 24)) -> list[Message]:
    """A latched transform, then per picture: calibration, picture (50 ns later), text (10 ms later)."""
    transforms = cdr(KINDS[TF_STATIC], transforms=[])
    messages = [(TF_STATIC, START_NS, transforms)]
    for index in range(count):
        time = START_NS + index * STEP_NS
        text = cdr(KINDS[TEXT], data=f"number {index}")
        messages += [(INFO, time, info(index, size=size)), (IMAGE, time + 50, image(index, size=size)), (TEXT, time + 10_000_000, text)]
    return messages


def write(folder: Path, messages: Sequence[Message], storage: str = "mcap", kinds: dict[str, str] | None = None) -> Path:
    writer = Writer(folder, version=9, storage_plugin={"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage])
    with writer:
        connections = {}
        for topic, kind in (kinds or KINDS).items():
            qos = [LATCHED if topic == TF_STATIC else BEST_EFFORT]
            connections[topic] = writer.add_connection(topic, kind, typestore=TYPES, offered_qos_profiles=qos)
        for topic, time, data in messages:
            writer.write(connections[topic], time, data)
    return folder


def read(folder: Path) -> dict[str, list[tuple[int, bytes]]]:
    """(time of recording, CDR) per topic, in order."""
    with Reader(folder) as reader:
        found: dict[str, list[tuple[int, bytes]]] = {connection.topic: [] for connection in reader.connections}
        for connection, time, data in reader.messages():
            found[connection.topic].append((time, bytes(data)))
        return found


def stamps(messages: Sequence[tuple[int, bytes]]) -> list[int]:
    """Of the headers."""
    return [int.from_bytes(data[4:8], "little") * 10**9 + int.from_bytes(data[8:12], "little") for _, data in messages]


def decoded(messages: Sequence[tuple[int, bytes]], kind: str = KINDS[IMAGE]) -> list:
    return [TYPES.deserialize_cdr(data, kind) for _, data in messages]


def depth_values(message: object) -> np.ndarray:
    assert message.encoding == "32FC1" and message.is_bigendian == 0
    return message.data.view(np.float32).reshape(message.height, message.width)


def metric_engine(options: NodeOptions) -> FakeEngine:
    return FakeEngine(METRIC)


def any_view_engine(options: NodeOptions) -> FakeEngine:
    return FakeEngine(ANY_VIEW)


def failing_engine(options: NodeOptions) -> FakeEngine:
    """Refuses its fifth picture."""
    return FakeEngine(METRIC, failures={5: InputError("input.shape", "The engine does not like it.")})


def run(recording: Path, output: Path, engine: object = metric_engine, model: Path | None = None, **options: object) -> Summary:
    """A replay in this process with the test double (or in others, with `jobs`)."""
    file = model or output.parent / "model.gguf"
    if model is None and not file.exists():
        file.touch()
    node = NodeOptions(model=str(file), **options.pop("node", {}))
    source = SourceOptions(recording, **options.pop("source", {}))
    return replay(source, ReplayOptions(output=output, node=node, **options), load_engine=engine)
