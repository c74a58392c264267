"""Bags for tests, written by libraries other than the reader under test where that matters, and verbs as processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

TYPES = get_typestore(Stores.ROS2_JAZZY)
START_NS = 1_700_000_000_000_000_000
STEP_NS = 20_000_000
Messages = list[tuple[str, int, bytes]]


def image_bytes(index: int, width: int = 32, height: int = 24) -> bytes:
    """CDR of an rgb8 Image whose pixels and stamp tell the index."""
    header = TYPES.types["std_msgs/msg/Header"](
        stamp=TYPES.types["builtin_interfaces/msg/Time"](sec=1_600_000_000 + index, nanosec=index), frame_id="camera"
    )
    pixels = np.random.default_rng(index).integers(0, 256, height * width * 3, dtype=np.uint8)
    message = TYPES.types["sensor_msgs/msg/Image"](
        header=header, height=height, width=width, encoding="rgb8", is_bigendian=0, step=width * 3, data=pixels
    )
    return bytes(TYPES.serialize_cdr(message, "sensor_msgs/msg/Image"))


def string_bytes(text: str) -> bytes:
    return bytes(TYPES.serialize_cdr(TYPES.types["std_msgs/msg/String"](data=text), "std_msgs/msg/String"))


def some_messages(count: int = 10) -> Messages:
    """Images on /image and strings on /text, in turn. All are multiples of 4 bytes long: the middleware pads others."""
    messages: Messages = []
    for index in range(count):
        messages.append(("/image", START_NS + index * STEP_NS, image_bytes(index)))
        messages.append(("/text", START_NS + index * STEP_NS + STEP_NS // 2, string_bytes(f"number {index:04d}")))
    return messages


TOPIC_TYPES = {"/image": "sensor_msgs/msg/Image", "/text": "std_msgs/msg/String"}


def write_bag(folder: Path, messages: Messages, storage: str = "mcap", compression: str = "none") -> Path:
    """By rosbags. compression: none, file or message."""
    plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage]
    writer = Writer(folder, version=9, storage_plugin=plugin)
    writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connections = {topic: writer.add_connection(topic, kind, typestore=TYPES) for topic, kind in TOPIC_TYPES.items()}
        for topic, stamp_ns, data in messages:
            writer.write(connections[topic], stamp_ns, data)
    return folder


def write_mcap(
    path: Path, messages: Messages, compression: CompressionType = CompressionType.NONE, types: dict[str, str] | None = None
) -> Path:
    """One file by the mcap package; small chunks, so that a cut file holds whole ones. types: topic to type name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = McapWriter(file, chunk_size=8000, compression=compression)
        writer.start(profile="ros2", library="test")
        channels = {}
        for topic, kind in (types or TOPIC_TYPES).items():
            text = TYPES.generate_msgdef(kind, ros_version=2)[0].encode() if kind in TYPES.fielddefs else b""
            schema = writer.register_schema(kind, "ros2msg", text)
            channels[topic] = writer.register_channel(topic, "cdr", schema)
        for topic, stamp_ns, data in messages:
            writer.add_message(channels[topic], log_time=stamp_ns, publish_time=stamp_ns, data=data)
        writer.finish()
    return path


def write_unclosed_sqlite(path: Path, messages: Messages) -> Path:
    """A database whose last messages are still in the write-ahead log: copied while its writer has it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    live = path.with_name("live.db3")
    connection = sqlite3.connect(live)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
    connection.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    for number, (topic, kind) in enumerate(TOPIC_TYPES.items(), 1):
        connection.execute("INSERT INTO topics VALUES(?, ?, ?, 'cdr')", (number, topic, kind))
    numbers = {topic: number for number, topic in enumerate(TOPIC_TYPES, 1)}
    rows = [(numbers[topic], stamp_ns, data) for topic, stamp_ns, data in messages]
    connection.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)", rows)
    connection.commit()
    path.write_bytes(live.read_bytes())
    path.with_name(f"{path.name}-wal").write_bytes(live.with_name("live.db3-wal").read_bytes())
    connection.close()
    live.unlink()
    return path


def verb(*arguments: object, domain: int = 0, extra: dict[str, str] | None = None, **options: object) -> subprocess.Popen[str]:
    """The command in a process of its own, on a ROS domain of its own. extra: of its environment."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", **(extra or {})}
    command = [sys.executable, "-m", "depth_anything_ros", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options)
