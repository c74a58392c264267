"""What a demo run has shown, read back from the bag that it recorded: numbers, contact sheet, cloud."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from depth_anything_ros.colors import colourise, shade
from depth_anything_ros.errors import DepthAnythingError
from depth_anything_ros.files import write_png
from depth_anything_ros.geometry import project
from depth_anything_ros.ros.camera_bag import CAMERA_INFO, IMAGE, TRUTH
from depth_anything_ros.ros.cloud_picture import draw_cloud
from depth_anything_ros.ros.demo_run import CAMERA, TIMING
from depth_anything_ros.ros.recording import Recording, points, stamp_of
from depth_anything_ros.types import Float32Array, UInt8Array

POINTS = f"{CAMERA}/points"
DEPTH_TOPICS = (f"{CAMERA}/depth/image_rect", f"{CAMERA}/relative/image")
Paint = Callable[[Any], UInt8Array]
_ROWS = 4
_TILE = (360, 270)
_BAR = 30
_CLOUD, _CLOUD_OF_TWO = 960, 720
"""Width of a drawn cloud: alone, and beside another."""


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


@dataclass(frozen=True)
class Accuracy:
    """Against the true depth, over all processed frames."""

    abs_rel: float
    """Mean of |depth - true| / true."""
    within: float
    """Share of the pixels whose depth is within the factor 1.25."""
    covered: float
    """Share of the pixels with true depth that were given depth; the two above speak of these only."""


class DemoReport:
    """bag: recorded by `demo_run`. camera: the bag that was played, which may hold the true depth.

    Raises DepthAnythingError ``demo.empty`` when there is no depth in `bag`.
    """

    def __init__(self, bag: Path, camera: Path) -> None:
        self._bag, self._camera = Recording(bag), Recording(camera)
        found = [name for name in DEPTH_TOPICS if name in self._bag]
        if not found:
            raise DepthAnythingError(
                "demo.empty", f"No frame has become depth; {bag} holds only {', '.join(self._bag.topics) or 'nothing'}."
            )
        self._depth = found[0]

    def numbers(self) -> Numbers:
        came = {stamp_of(message): at_ns for at_ns, message in self._bag.messages(IMAGE)}
        went = {stamp_of(message): at_ns for at_ns, message in self._bag.messages(self._depth)}
        waits = [(went[stamp] - came[stamp]) * 1e-6 for stamp in went if stamp in came]
        inference = [
            float(pair.value) for _, message in self._bag.messages(TIMING) for pair in message.status[0].values if pair.key == "infer_ms"
        ]
        p50, p95 = np.percentile(waits, (50, 95))
        return Numbers(len(came), len(waits), float(p50), float(p95), float(np.median(inference)))

    def accuracy(self) -> Accuracy | None:
        """None where there is no true depth, or no metres."""
        if TRUTH not in self._camera or self._depth != DEPTH_TOPICS[0]:
            return None
        found = dict(self._bag.images(self._depth))
        pairs = [(found[stamp], true) for stamp, true in self._camera.images(TRUTH) if stamp in found]
        depth, true = (np.concatenate([array.ravel() for array in arrays]) for arrays in zip(*pairs))
        real = np.isfinite(true)
        both = real & np.isfinite(depth)
        ratio = depth[both] / true[both]
        within = np.maximum(ratio, 1.0 / ratio) < 1.25
        return Accuracy(float(np.abs(ratio - 1.0).mean()), float(within.mean()), float(both.sum() / real.sum()))

    def write_sheet(self, path: Path, caption: str) -> None:
        """A row per frame: picture, depth (near is warm), and what else the model gives."""
        stamps = sorted(stamp for stamp, _ in self._bag.images(self._depth))
        chosen = [stamps[index] for index in np.linspace(0, len(stamps) - 1, min(_ROWS, len(stamps))).round().astype(int)]
        columns = [_column(name, bag, topic, paint, chosen) for name, bag, topic, paint in self._panels()]
        sheet = np.hstack(columns)
        write_png(path, np.vstack([sheet, _bar(caption, sheet.shape[1])]))

    def write_cloud(self, path: Path, caption: str) -> bool:
        """The cloud of the last frame, with the true one beside it where that is known; False when there was none."""
        if POINTS not in self._bag:
            return False
        _, last = deque(self._bag.messages(POINTS), maxlen=1)[0]
        xyz, rgb = points(last)
        true = self._true_cloud(stamp_of(last))
        width = _CLOUD if true is None else _CLOUD_OF_TWO
        framed = None if true is None else true[0]
        pictures = [np.vstack([_bar("cloud of the last frame", width), draw_cloud(xyz, rgb, framed=framed, width=width)])]
        if true is not None:
            pictures.append(np.vstack([_bar("true cloud", width), draw_cloud(*true, width=width)]))
        picture = np.hstack(pictures)
        write_png(path, np.vstack([picture, _bar(caption, picture.shape[1])]))
        return True

    def _true_cloud(self, stamp: int) -> tuple[Float32Array, UInt8Array] | None:
        """xyz [N, 3] and rgb [N, 3] of the true depth of one picture."""
        if TRUTH not in self._camera:
            return None
        depth, rgb, camera = (
            next(value for at, value in values if at == stamp)
            for values in (self._camera.images(TRUTH), self._camera.images(IMAGE), self._camera.cameras(CAMERA_INFO))
        )
        cloud = project(depth, camera, rgb)
        return np.stack([cloud[name] for name in ("x", "y", "z")], axis=-1).reshape(-1, 3), rgb.reshape(-1, 3)

    def _panels(self) -> list[tuple[str, Recording, str, Paint]]:
        panels: list[tuple[str, Recording, str, Paint]] = [
            ("picture", self._bag, IMAGE, lambda rgb: rgb),
            ("true depth", self._camera, TRUTH, colourise),
            ("depth: near is warm", self._bag, self._depth, colourise),
            ("confidence: sure is warm", self._bag, f"{CAMERA}/depth/confidence", shade),
            ("sky", self._bag, f"{CAMERA}/depth/sky_mask", lambda mask: np.repeat(mask[..., None], 3, axis=2)),
        ]
        return [panel for panel in panels if panel[2] in panel[1]]


def _column(name: str, bag: Recording, topic: str, paint: Paint, stamps: list[int]) -> UInt8Array:
    tiles = {stamp: _tile(paint(array)) for stamp, array in bag.images(topic) if stamp in stamps}
    empty = np.zeros((_TILE[1], _TILE[0], 3), np.uint8)
    return np.vstack([_bar(name, _TILE[0]), *(tiles.get(stamp, empty) for stamp in stamps)])


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
