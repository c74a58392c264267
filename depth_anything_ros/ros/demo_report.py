"""What a demo run has shown, read back from the bag that it recorded: numbers, contact sheet, cloud."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from depth_anything_ros.colors import colourise, shade
from depth_anything_ros.errors import DepthAnythingError
from depth_anything_ros.files import write_png
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.camera_bag import IMAGE
from depth_anything_ros.ros.cloud_picture import draw_cloud
from depth_anything_ros.ros.demo_run import CAMERA, TIMING
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.types import Float32Array, UInt8Array

POINTS = f"{CAMERA}/points"
DEPTH_TOPICS = (f"{CAMERA}/depth/image_rect", f"{CAMERA}/relative/image")
Paint = Callable[[Any], UInt8Array]
_ROWS = 4
_TILE = (360, 270)
_BAR = 30


@dataclass(frozen=True)
class Numbers:
    """Counts of frames, and milliseconds."""

    frames: int
    processed: int
    latency_p50: float
    """From the arrival of a picture at the recorder to the arrival of its depth."""
    latency_p95: float
    inference_p50: float
    """Of the engine alone."""

    @property
    def dropped(self) -> int:
        return self.frames - self.processed


class DemoReport:
    """bag: recorded by `demo_run`. Raises DepthAnythingError ``demo.empty`` when it holds no depth."""

    def __init__(self, bag: Path) -> None:
        self._bag = bag
        self._types = ros2_types()
        with BagReader(bag) as reader:
            self._topics = {name: topic.type for name, topic in reader.topics.items() if topic.count}
        found = [name for name in DEPTH_TOPICS if name in self._topics]
        if not found:
            raise DepthAnythingError("demo.empty", f"No frame has become depth; {bag} holds only {', '.join(self._topics) or 'nothing'}.")
        self._depth = found[0]

    def numbers(self) -> Numbers:
        came = {_stamp(message): at_ns for at_ns, message in self._messages(IMAGE)}
        went = {_stamp(message): at_ns for at_ns, message in self._messages(self._depth)}
        waits = [(went[stamp] - came[stamp]) * 1e-6 for stamp in went if stamp in came]
        inference = [
            float(pair.value) for _, message in self._messages(TIMING) for pair in message.status[0].values if pair.key == "infer_ms"
        ]
        p50, p95 = np.percentile(waits, (50, 95))
        return Numbers(len(came), len(waits), float(p50), float(p95), float(np.median(inference)))

    def write_sheet(self, path: Path, caption: str) -> None:
        """A row per frame: picture, depth (near is warm), and what else the model gives."""
        stamps = sorted(_stamp(message) for _, message in self._messages(self._depth))
        chosen = [stamps[index] for index in np.linspace(0, len(stamps) - 1, min(_ROWS, len(stamps))).round().astype(int)]
        columns = [self._column(name, topic, paint, chosen) for name, topic, paint in self._panels()]
        sheet = np.hstack(columns)
        write_png(path, np.vstack([sheet, _bar(caption, sheet.shape[1])]))

    def write_cloud(self, path: Path, caption: str) -> bool:
        """The cloud of the last frame; False when there was none."""
        if POINTS not in self._topics:
            return False
        _, last = deque(self._messages(POINTS), maxlen=1)[0]
        xyz, rgb = _points(last)
        picture = draw_cloud(xyz, rgb)
        write_png(path, np.vstack([picture, _bar(caption, picture.shape[1])]))
        return True

    def _panels(self) -> list[tuple[str, str, Paint]]:
        panels: list[tuple[str, str, Paint]] = [
            ("picture", IMAGE, lambda rgb: rgb),
            ("depth: near is warm", self._depth, colourise),
            ("confidence: sure is warm", f"{CAMERA}/depth/confidence", shade),
            ("sky", f"{CAMERA}/depth/sky_mask", lambda mask: np.repeat(mask[..., None], 3, axis=2)),
        ]
        return [panel for panel in panels if panel[1] in self._topics]

    def _column(self, name: str, topic: str, paint: Paint, stamps: list[int]) -> UInt8Array:
        tiles = {_stamp(message): _tile(paint(_pixels(message))) for _, message in self._messages(topic) if _stamp(message) in stamps}
        empty = np.zeros((_TILE[1], _TILE[0], 3), np.uint8)
        return np.vstack([_bar(name, _TILE[0]), *(tiles.get(stamp, empty) for stamp in stamps)])

    def _messages(self, topic: str) -> Iterator[tuple[int, Any]]:
        """(time of arrival in nanoseconds, message)."""
        with BagReader(self._bag) as reader:
            for message in reader.messages([topic]):
                yield message.stamp_ns, self._types.deserialize_cdr(message.data, self._topics[topic])


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)


def _pixels(message: Any) -> Any:
    """Array of an Image as the node and the camera bag write it: packed rows, little endian."""
    kind, channels = {"rgb8": (np.uint8, 3), "mono8": (np.uint8, 1), "32FC1": (np.float32, 1)}[message.encoding]
    array = message.data.view(kind).reshape(message.height, message.width, channels)
    return array if channels > 1 else array[..., 0]


def _points(message: Any) -> tuple[Float32Array, UInt8Array]:
    """xyz [N, 3] and rgb [N, 3] of a PointCloud2 whose fields are float32."""
    names = [field.name for field in message.fields]
    layout = np.dtype(
        {
            "names": names,
            "formats": ["<f4"] * len(names),
            "offsets": [field.offset for field in message.fields],
            "itemsize": message.point_step,
        }
    )
    points = message.data.view(layout)
    xyz = np.stack([points[name] for name in ("x", "y", "z")], axis=1)
    bgr = np.ascontiguousarray(points["rgb"]).view(np.uint8).reshape(-1, 4)[:, :3]
    return xyz, bgr[:, ::-1]


def _tile(rgb: UInt8Array) -> UInt8Array:
    """Scaled into a tile, with black beside it where the shape differs."""
    height, width = rgb.shape[:2]
    factor = min(_TILE[0] / width, _TILE[1] / height)
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    tile = np.zeros((_TILE[1], _TILE[0], 3), np.uint8)
    tile[: size[1], : size[0]] = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    return tile


def _bar(text: str, width: int) -> UInt8Array:
    bar = np.full((_BAR, width, 3), 40, np.uint8)
    scale = min(0.5, 0.5 * (width - 16) / max(cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)[0][0], 1))
    cv2.putText(bar, text, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, scale, (235, 235, 235), 1, cv2.LINE_AA)
    return bar
