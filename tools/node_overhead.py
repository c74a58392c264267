"""What the node adds to the engine, and how much of the engine's speed it gives on: the node in a process of its own, this one is the
camera and the listener.

    python tools/node_overhead.py --model MODEL [--size 640x480] [--rounds 5] [--frames 40]

Three measurements in turn, `rounds` times, so that whatever else the machine does falls on all of them: depth and camera_info, all outputs,
and `Engine.infer` alone in this process. A picture is sent a moment after the one before has come back, and the engine alone rests as long
between its frames, so that caches are cold and workers asleep for both. Medians; milliseconds from the message callback to the last
publish. Then the throughput with a camera that is just a little faster than the node, beside the engine alone, both without a rest.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2

from depth_anything_ros import Engine

FEW = {"depth/image_rect": Image, "depth/camera_info": CameraInfo}
ALL = {
    **FEW,
    "depth/confidence": Image,
    "depth/sky_mask": Image,
    "depth/color": Image,
    "depth/color/compressed": CompressedImage,
    "points": PointCloud2,
    "intrinsics": CameraInfo,
}
STAGES = ("wait", "prepare", "infer", "maps", "points", "color")
_WAITED = 1.0
"""Milliseconds that no frame waits for an engine that is free."""
_REST = 0.02
"""Seconds from the last output of a frame to the next picture."""
_PATIENCE = 60.0
"""Seconds without any frame from the node after which there will be none."""
_LABELS = {"infer": "infer beyond the bare engine"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--resolution", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--scale", default="constant", choices=("constant", "model"), help="constant for relative models")
    chosen = parser.parse_args(arguments)
    width, height = map(int, chosen.size.split("x"))
    with Engine.load(chosen.model, resolution=chosen.resolution) as engine, Listener(width, height) as listener:
        command = [sys.executable, "-c", "import sys; from depth_anything_ros.ros.node import main; sys.exit(main())", "--ros-args"]
        values = {"model": chosen.model, "resolution": chosen.resolution, "focal": 500.0, "scale.source": chosen.scale, "scale.value": 2.0}
        values["qos_overrides./image.subscription.reliability"] = "reliable"
        for name, value in values.items():
            command += ["-p", f"{name}:={value}"]
        node = subprocess.Popen(command)
        try:
            _measure(engine, listener, chosen)
        finally:
            _end(node)
    return 0


def _end(node: subprocess.Popen[bytes]) -> None:
    node.terminate()
    try:
        node.wait(10)
    except subprocess.TimeoutExpired:
        node.kill()
        node.wait()


def _measure(engine: Engine, listener: Listener, chosen: argparse.Namespace) -> None:
    found: dict[str, list[dict[str, float]]] = {"depth and camera_info": [], "all outputs": []}
    bare: list[float] = []
    for topics in (FEW, ALL):
        listener.listen(topics)
        listener.one_by_one(5)
    for _ in range(chosen.rounds):
        for name, topics in (("depth and camera_info", FEW), ("all outputs", ALL)):
            listener.listen(topics)
            found[name] += listener.one_by_one(chosen.frames)
        bare += [_after_a_rest(engine, listener) for _ in range(chosen.frames)]
    for name, timings in found.items():
        _print(name, timings, statistics.median(bare))
    print(f"Engine.infer alone        {statistics.median(bare):8.2f} ms after the same rest")
    listener.listen(FEW)
    seconds, alone, rate, fastest = [], [], 0.8e3 / statistics.median(bare), 1.2e3 / statistics.median(bare)
    while len(seconds) < chosen.rounds:
        waited, median = listener.without_waiting(chosen.frames, rate)
        if waited < 0.5 and rate < fastest:  # the node waits for the camera
            rate = min(1.1 * rate, fastest)
            continue
        seconds.append(1e3 * median)
        alone.append(statistics.median(_timed(engine, listener.pixels) for _ in range(chosen.frames)))
    wall, own = statistics.median(seconds), statistics.median(alone)
    print(f"wall time per frame       {wall:8.2f} ms with a camera of {rate:.0f} Hz, {own:.2f} ms of the engine alone beside it:")
    print(f"    {wall - own:.2f} ms more, {own / wall:.3f} of its speed")


def _print(name: str, timings: list[dict[str, float]], bare: float) -> None:
    medians = {stage: statistics.median(one[stage] for one in timings) for stage in STAGES}
    rest = statistics.median(one["total"] - sum(one[stage] for stage in STAGES) for one in timings)
    total = statistics.median(one["total"] for one in timings)
    print(f"{name}: overhead {total - bare:.2f} ms (medians of {len(timings)})")
    medians["infer"] -= bare
    for stage, value in {**medians, "messages, publish": rest}.items():
        print(f"    {_LABELS.get(stage, stage):28} {value:8.2f} ms")


def _after_a_rest(engine: Engine, listener: Listener) -> float:
    listener.spin(_REST)
    return _timed(engine, listener.pixels)


def _timed(engine: Engine, pixels: np.ndarray) -> float:
    started = time.perf_counter()
    engine.infer(pixels, fill_sky=False)
    return 1e3 * (time.perf_counter() - started)


class Listener:
    """The camera and the subscriptions. Pictures are sent and outputs taken as bytes, to leave the cores to the node."""

    def __init__(self, width: int, height: int) -> None:
        rclpy.init()
        self._node = rclpy.create_node("overhead")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._camera = self._node.create_publisher(Image, "image", 1)
        self._timings: list[dict[str, float]] = []
        self._arrivals: list[float] = []
        self._last = time.monotonic()
        self._node.create_subscription(DiagnosticArray, "depth/timing", self._take, 10)
        self._subscriptions: dict[str, Any] = {}
        small = np.random.default_rng(0).integers(0, 256, (height // 16, width // 16, 3), np.uint8)
        self.pixels = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
        message = Image(width=width, height=height, step=3 * width, encoding="rgb8")
        message.header.frame_id = "camera_optical_frame"
        message.data.frombytes(self.pixels.tobytes())
        self._picture = serialize_message(message)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def listen(self, topics: dict[str, type]) -> None:
        for topic in set(self._subscriptions) - set(topics):
            self._node.destroy_subscription(self._subscriptions.pop(topic))
        for topic in set(topics) - set(self._subscriptions):
            self._subscriptions[topic] = self._node.create_subscription(topics[topic], topic, lambda _: None, 5, raw=True)
        self.spin(1.0)

    def one_by_one(self, frames: int) -> list[dict[str, float]]:
        """Timings of so many frames, each sent after the one before came back."""
        first, self._last = len(self._timings), time.monotonic()
        while len(self._timings) < first + frames:
            self._check_node()
            before = len(self._timings)
            self._camera.publish(self._picture)
            end = time.monotonic() + 10.0
            while len(self._timings) == before and time.monotonic() < end:
                self._executor.spin_once(timeout_sec=0.02)
            self.spin(_REST)
        return self._timings[first:]

    def without_waiting(self, frames: int, rate: float) -> tuple[float, float]:
        """With a picture `rate` times a second: share of the frames that had to wait for the engine, and seconds from frame to frame.

        The median of those that waited: what the way here loses is no time of the node.
        """
        first, self._last = len(self._arrivals), time.monotonic()
        while len(self._arrivals) <= first + frames:
            self._check_node()
            self._camera.publish(self._picture)
            self.spin(1 / rate)
        waited = [one["wait"] > _WAITED for one in self._timings[first + 1 :]]
        times = np.diff(self._arrivals[first:])[waited]
        return float(np.mean(waited)), float(np.median(times)) if times.size else 0.0

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def _check_node(self) -> None:
        if time.monotonic() - self._last > _PATIENCE:
            raise SystemExit(f"The node has given no frame for {_PATIENCE:.0f} s; what it says above tells why.")

    def _take(self, message: DiagnosticArray) -> None:
        self._last = time.monotonic()
        self._arrivals.append(self._last)
        values = {pair.key: pair.value for pair in message.status[0].values}
        self._timings.append({key.removesuffix("_ms"): float(value) for key, value in values.items()})


if __name__ == "__main__":
    sys.exit(main())
