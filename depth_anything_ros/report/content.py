"""What a report shows, read back from the bag that a replay wrote."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.colors import colourise, shade
from depth_anything_ros.edges import flying_pixels
from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.evaluate.evaluation import CLOUD, DEPTH_NAMES, IMAGE, Evaluation, EvaluationOptions, evaluate
from depth_anything_ros.geometry import project
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.report.charts import Line
from depth_anything_ros.report.likely_truth import likely_truth
from depth_anything_ros.report.pictures import pictures_at
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.sensor_values import depth_values
from depth_anything_ros.types import DepthKind, Float32Array, Intrinsics, UInt8Array

_SHEET, _CLOUDS = 8, 5
_MOST_SAMPLES = 400
"""Confidence maps that the timeline looks at."""
_MOST_POINTS = 60_000
_TILE = 300
_EDGE = 0.1


@dataclass(frozen=True)
class Tile:
    """A picture of the contact sheet."""

    name: str
    jpeg: bytes


@dataclass(frozen=True)
class SheetRow:
    seconds: float
    """Since the first frame."""
    tiles: list[Tile]


@dataclass(frozen=True)
class CloudFrame:
    """Points of one frame, optical frame of the camera."""

    name: str
    xyz: Float32Array
    """float32 [n, 3]."""
    rgb: UInt8Array
    """uint8 [n, 3]."""


@dataclass
class CameraContent:
    """All about one camera."""

    name: str
    unit: str
    """Of its depth."""
    latency: list[Line] = field(default_factory=list)
    """Milliseconds."""
    confidence: list[Line] = field(default_factory=list)
    scale: list[Line] = field(default_factory=list)
    """Metres per unit of the network."""
    ratio: list[Line] = field(default_factory=list)
    """What the depth would have to be multiplied with."""
    span: tuple[float, float] = (0.0, 0.0)
    """Of the timelines, seconds."""
    rows: list[SheetRow] = field(default_factory=list)
    clouds: list[CloudFrame] = field(default_factory=list)
    evaluation: Evaluation | None = None
    remark: str = ""
    """Why there is no evaluation."""


def gather(bag: Path, recording: SourceOptions, cameras: Sequence[Camera], kind: str, truth: str) -> list[CameraContent]:
    """bag: output of a replay. recording: its input, for pictures that were not kept. truth: topic, or empty to look for one.

    kind: of the model's depth (`DepthKind`).
    """
    return [_Gatherer(bag, recording, camera, kind).content(truth, cameras) for camera in cameras]


class _Gatherer:
    def __init__(self, bag: Path, recording: SourceOptions, camera: Camera, kind: str) -> None:
        self._bag, self._recording, self._camera = bag, recording, camera
        self._messages = BagMessages(ros2_types())
        with BagReader(bag) as reader:
            self._topics = {name: topic.type for name, topic in reader.topics.items() if topic.count}
        found = [name for name in (self._name(one) for one in DEPTH_NAMES) if name in self._topics]
        if not found:
            raise InputError("input.bag", f"{bag} holds no depth of {camera.image}; a report wants one of {', '.join(DEPTH_NAMES)}.")
        self._depth = found[0]
        self._stamps = [stamp for stamp, _ in self._of(self._depth)]
        every = [stamp for name in {*found, self._name("depth/timing")} for stamp, _ in self._of(name)]
        self._first, self._last = min(every), max(every)
        self._metric = not self._depth.endswith(DEPTH_NAMES[-1])
        self._inverse = not self._metric and kind == DepthKind.RELATIVE_INVERSE_DEPTH.value

    def content(self, truth: str, cameras: Sequence[Camera]) -> CameraContent:
        """cameras: all of the bag, this one among them."""
        unit = "metres" if self._metric else "units of inverse depth (near is large)" if self._inverse else "units without scale"
        content = CameraContent(self._camera.image, unit, span=(0.0, self._seconds(self._last)))
        if self._metric and self._name(DEPTH_NAMES[-1]) in self._topics:
            unknown = sum(1 for _ in self._of(self._name(DEPTH_NAMES[-1])))
            content.unit = f"metres in {len(self._stamps)} pictures; in {unknown} the scale was not known"
        content.latency = self._latency()
        content.confidence = self._confidence()
        content.scale = self._published_scale()
        self._compare(content, truth, cameras)
        self._add_pictures(content)
        return content

    def _name(self, relative: str) -> str:
        return f"{self._camera.namespace}/{relative}"

    def _of(self, topic: str) -> Iterator[tuple[int, Any]]:
        """(stamp of the header, message)."""
        if topic in self._topics:
            with BagReader(self._bag) as reader:
                for one in reader.messages([topic]):
                    message = self._messages.read(one.data, self._topics[topic])
                    yield stamp_ns(message.header.stamp), message

    def _seconds(self, stamp: int) -> float:
        return (stamp - self._first) * 1e-9

    def _latency(self) -> list[Line]:
        lines: dict[str, list[float]] = defaultdict(list)
        times = []
        for stamp, message in self._of(self._name("depth/timing")):
            values = {pair.key: pair.value for pair in message.status[0].values}
            times.append(self._seconds(stamp))
            for name, key in (("engine", "infer_ms"), ("all steps", "total_ms")):
                lines[name].append(float(values.get(key, math.nan)))
        return [Line(name, times, values) for name, values in lines.items()]

    def _confidence(self) -> list[Line]:
        step = max(1, len(self._stamps) // _MOST_SAMPLES)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for name, topic, measure in (
            ("confidence, mean", self._name("depth/confidence"), lambda map_: float(np.mean(map_))),
            ("share of valid depth", self._depth, lambda map_: float(np.mean(self._valid(map_)))),
        ):
            for number, (stamp, message) in enumerate(self._of(topic)):
                if number % step == 0:
                    times, values = lines.setdefault(name, ([], []))
                    times.append(self._seconds(stamp))
                    values.append(measure(depth_values(message)))
        return [Line(name, *line) for name, line in lines.items()]

    def _valid(self, depth: Float32Array) -> NDArray[np.bool_]:
        """bool [H, W]; of inverse depth, whose shift is unknown, 0 and less may well be distances."""
        return np.isfinite(depth) if self._inverse else np.isfinite(depth) & (depth > 0.0)

    def _published_scale(self) -> list[Line]:
        times, values = [], []
        for stamp, message in self._of(self._name("depth/scale")):
            found = {pair.key: pair.value for status in message.status for pair in status.values}
            times.append(self._seconds(stamp))
            values.append(_number(found.get("value", "")))
        if times:  # told when it changes, so the last one holds to the end
            times, values = [*times, self._seconds(self._last)], [*values, values[-1]]
        return [Line("as the source says", times, values)] if times else []

    def _compare(self, content: CameraContent, truth: str, cameras: Sequence[Camera]) -> None:
        with BagReader(self._bag) as reader:
            topic = truth or likely_truth(reader, self._depth, cameras)
        if not topic:
            content.remark = "The bag holds no depth image in this camera's frame and no laser to compare with."
            return
        try:
            tolerance = 0.05 if self._topics.get(topic) == CLOUD else 0.0
            values = "inverse" if self._inverse else "depth"
            content.evaluation = evaluate(EvaluationOptions(self._bag, topic, depth=self._depth, values=values, tolerance=tolerance))
        except (InputError, OptionError) as error:
            if truth:
                raise
            content.remark = str(error)
            return
        frames = content.evaluation.frames
        best = Line("best factor of the picture", [self._seconds(one.stamp_ns) for one in frames], [one.fit.factor for one in frames])
        content.ratio.append(best)

    def _add_pictures(self, content: CameraContent) -> None:
        chosen = _spread(self._stamps, _SHEET)
        clouds = set(_spread(chosen, _CLOUDS))
        maps = {name: self._maps(topic, chosen) for name, topic in (("depth", self._depth), ("confidence", self._name("depth/confidence")))}
        cameras = {stamp: info for stamp, info in self._of(self._info_topic()) if stamp in clouds}
        distorted = self._depth.endswith(DEPTH_NAMES[1]) or any(np.any(info.d) for info in cameras.values())
        pictures = self._pictures(set(chosen), "off" if distorted else "auto")
        for stamp in chosen:
            tiles = [Tile("picture", _jpeg(pictures[stamp]))] if stamp in pictures else []
            depth, confidence = maps["depth"].get(stamp), maps["confidence"].get(stamp)
            if depth is not None:
                tiles.append(self._depth_tile(depth))
            if confidence is not None:
                tiles.append(Tile("confidence: sure is warm", _jpeg(shade(confidence))))
            content.rows.append(SheetRow(self._seconds(stamp), tiles))
            if stamp in cameras and depth is not None and stamp in pictures and not self._inverse:
                name = f"{content.name} at {self._seconds(stamp):.2f} s"
                cloud = _cloud(name, depth, cameras[stamp], pictures[stamp])
                content.clouds += [cloud] if cloud is not None else []

    def _depth_tile(self, depth: Float32Array) -> Tile:
        """near is warm, with the two ends of the colours."""
        picture = shade(depth) if self._inverse else colourise(depth)
        solid = depth[np.isfinite(depth) & (depth > 0.0)]
        if not self._metric or not solid.size:
            return Tile("depth: near is warm", _jpeg(picture))
        near, far = np.percentile(solid, (2, 98))
        return Tile(f"depth: near is warm, {near:.1f} to {far:.1f} m", _jpeg(picture))

    def _info_topic(self) -> str:
        return self._depth.rpartition("/")[0] + "/camera_info"

    def _maps(self, topic: str, stamps: Sequence[int]) -> dict[int, Float32Array]:
        return {stamp: depth_values(message) for stamp, message in self._of(topic) if stamp in stamps}

    def _pictures(self, stamps: set[int], rectify: str) -> dict[int, UInt8Array]:
        """uint8 RGB [H, W, 3] by stamp: as rectified by the node, as kept in the bag, or as in the recording."""
        rectified, camera = self._name("rgb/image_rect_color"), self._camera
        if rectified in self._topics:
            camera = replace(camera, image=rectified, type=IMAGE, info=self._name("rgb/camera_info"))
        return pictures_at(SourceOptions(self._bag) if camera.image in self._topics else self._recording, camera, stamps, rectify)


def _spread(stamps: Sequence[int], count: int) -> list[int]:
    """Evenly, first and last among them."""
    places = np.linspace(0, len(stamps) - 1, min(count, len(stamps))).round().astype(int)
    return [stamps[place] for place in dict.fromkeys(places.tolist())]


def _jpeg(rgb: UInt8Array) -> bytes:
    factor = min(1.0, _TILE / rgb.shape[1])
    size = (max(1, round(rgb.shape[1] * factor)), max(1, round(rgb.shape[0] * factor)))
    small = cv2.resize(np.ascontiguousarray(rgb), size, interpolation=cv2.INTER_AREA)
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])[1])


def _cloud(name: str, depth: Float32Array, info: Any, rgb: UInt8Array) -> CloudFrame | None:
    """None where the camera is not calibrated."""
    fx, fy, cx, cy = (float(info.k[index]) for index in (0, 4, 2, 5))
    if fx <= 0.0 or fy <= 0.0:
        return None
    stride = max(1, math.ceil(math.sqrt(depth.size / _MOST_POINTS)))
    solid = np.where(np.isfinite(depth), depth, np.float32(1e6))
    edges = flying_pixels(solid, _EDGE) > 0
    depth = np.where(edges, np.float32(np.nan), depth)
    points = project(depth, Intrinsics(info.width, info.height, fx, fy, cx, cy), rgb, stride=stride).ravel()
    points = points[np.isfinite(points["z"])]
    if not len(points):
        return None
    xyz: NDArray[np.float32] = np.stack([points["x"], points["y"], points["z"]], axis=1)
    bgr = np.ascontiguousarray(points["rgb"]).view(np.uint8).reshape(-1, 4)[:, :3]
    return CloudFrame(name, xyz, np.ascontiguousarray(bgr[:, ::-1]))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
