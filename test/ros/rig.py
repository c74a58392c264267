"""The camera and the listener at the other end of the node's topics, and the node's process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2

HERE = Path(__file__).resolve().parent

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

TYPES = {
    "depth/image_rect": Image,
    "depth/image_raw": Image,
    "depth/camera_info": CameraInfo,
    "depth/confidence": Image,
    "depth/sky_mask": Image,
    "depth/timing": DiagnosticArray,
    "depth/scale": DiagnosticArray,
    "relative/image": Image,
    "relative/camera_info": CameraInfo,
    "intrinsics": CameraInfo,
    "points": PointCloud2,
    "depth/color": Image,
    "depth/color/compressed": CompressedImage,
    "rgb/image_rect_color": Image,
    "rgb/camera_info": CameraInfo,
    "/diagnostics": DiagnosticArray,
}


class NodeProcess:
    """One node in a process of its own. engine: wishes for `fake_node.py`, or `native=True` for the real engine.

    With `fake_tf` it finds the stand-in for tf2_ros.
    """

    def __init__(self, log: Path, arguments: tuple[str, ...], engine: dict[str, object]) -> None:
        self._log = log
        fake_tf = [str(HERE / "fake_tf")] if engine.pop("fake_tf", False) else []
        if engine.pop("native", False):
            command = [sys.executable, "-c", "import sys; from depth_anything_ros.ros.node import main; sys.exit(main())"]
        else:
            command = [sys.executable, str(HERE / "fake_node.py"), json.dumps(engine)]
        paths = [*fake_tf, str(HERE.parent), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
        self.started = time.monotonic()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "ROS_LOG_DIR": str(log.parent / "ros_log"),
            "RCUTILS_LOGGING_BUFFERED_STREAM": "0",
        }
        with log.open("w") as out:
            self._process = subprocess.Popen([*command, *arguments], stdout=out, stderr=subprocess.STDOUT, env=environment)

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number: int = signal.SIGINT) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float = 5.0) -> int:
        """Exit code, which must come within `seconds`."""
        return self._process.wait(seconds)

    def wait_until_signals_are_its_own(self, seconds: float = 20.0) -> None:
        """Until the process has set its handler of SIGTERM; before that the interpreter's and the system's rules hold."""
        end = time.monotonic() + seconds
        caught = 0
        while not caught & 1 << (signal.SIGTERM - 1):
            assert self.running and time.monotonic() < end, self.log
            status = Path(f"/proc/{self._process.pid}/status").read_text()
            caught = int(status.partition("SigCgt:")[2].split()[0], 16)
            time.sleep(0.01)

    def wait_until_ready(self, seconds: float = 20.0) -> None:
        """Until the model is loaded and warm."""
        end = time.monotonic() + seconds
        while "ready in" not in self.log:
            assert self.running and time.monotonic() < end, self.log
            time.sleep(0.02)

    def kill(self) -> None:
        if self.running:
            self._process.kill()
        self._process.wait(10)


class Rig:
    """A node of this process with publishers and collecting subscribers.

    It is made when it is first used, after the node under test: the middleware greets those who are there already at once, and
    late-comers only every three seconds.
    """

    def __init__(self) -> None:
        self._executor: SingleThreadedExecutor | None = None
        self.received: dict[str, list[Any]] = {}

    @cached_property
    def node(self) -> Node:
        context = rclpy.Context()  # of its own, so that a module's rig and a test's can be there together
        rclpy.init(context=context)
        node = rclpy.create_node("rig", context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(node)
        return node

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
            self.node.destroy_node()
            rclpy.shutdown(context=self.node.context)

    def listen(self, *topics: str, qos: QoSProfile = RELIABLE) -> None:
        for topic in topics:
            inbox = self.received.setdefault(topic, [])
            kind = next(kind for name, kind in TYPES.items() if topic.endswith(name))
            self.node.create_subscription(kind, topic, inbox.append, qos)

    def camera(self, topic: str = "image", kind: type = Image, qos: QoSProfile = RELIABLE) -> Any:
        return self.node.create_publisher(kind, topic, qos)

    def spin(self, seconds: float) -> None:
        self.until(lambda: False, seconds, required=False)

    def until(self, condition: Callable[[], bool], seconds: float = 30.0, *, required: bool = True) -> bool:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                assert not required, f"not within {seconds} s; received { ({k: len(v) for k, v in self.received.items()}) }"
                return False
            if self._executor is None:
                time.sleep(0.02)
            else:
                self._executor.spin_once(timeout_sec=0.02)
        return True

    def wait_for_node(self, *cameras: Any) -> None:
        """Until the node listens to all of the given publishers (which it does once somebody listens to it)."""
        self.until(lambda: all(camera.get_subscription_count() > 0 for camera in cameras), 20.0)

    def send_until(self, send: Callable[[], None], condition: Callable[[], bool], seconds: float = 30.0) -> None:
        """Call `send` ten times a second until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s; received { ({k: len(v) for k, v in self.received.items()}) }"
            send()
            self.until(condition, 0.1, required=False)

    def next(self, send: Callable[[], None], *topics: str, seconds: float = 30.0) -> list[Any]:
        """Send one frame and give the message that it brings on each topic."""
        before = [len(self.received[topic]) for topic in topics]
        send()
        self.until(lambda: all(len(self.received[t]) > n for t, n in zip(topics, before)), seconds)
        return [self.received[topic][count] for topic, count in zip(topics, before)]

    def set_parameters(self, values: dict[str, object], node: str = "/depth_anything") -> str:
        """Set all of them at once; gives the reason of a refusal, empty when they were taken."""
        client = self.node.create_client(SetParametersAtomically, f"{node}/set_parameters_atomically")
        self.until(client.service_is_ready, 10)
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        future = client.call_async(SetParametersAtomically.Request(parameters=parameters))
        self.until(future.done, 10)
        self.node.destroy_client(client)
        result = future.result().result
        return "" if result.successful else result.reason or "refused without a reason"

    def call(self, kind: type, name: str, seconds: float = 20.0, **fields: object) -> Any:
        """Response of a service of the node."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, 10)
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, seconds)
        self.node.destroy_client(client)
        return future.result()

    def change_state(self, transition: int, node: str = "/depth_anything") -> bool:
        """One lifecycle transition (`lifecycle_msgs/Transition` id) by its service."""
        client = self.node.create_client(ChangeState, f"{node}/change_state")
        self.until(client.service_is_ready, 10)
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        self.until(future.done, 20)
        self.node.destroy_client(client)
        return future.result().success


def image_message(pixels: np.ndarray, stamp: int, encoding: str = "rgb8", padding: int = 0, frame: str = "cam_optical") -> Image:
    """stamp: nanoseconds. padding: bytes of 0xAA after each row."""
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    if padding:
        rows = np.hstack([rows, np.full((height, padding), 0xAA, np.uint8)])
    message = Image(height=height, width=width, encoding=encoding, step=rows.shape[1])
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    message.data.frombytes(rows.tobytes())
    return message


def compressed_message(data: bytes, stamp: int, format: str = "jpeg", frame: str = "cam_optical") -> CompressedImage:
    message = CompressedImage(format=format)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    message.data.frombytes(data)
    return message


def info_message(
    size: tuple[int, int], stamp: int, fx: float = 300.0, fy: float = 300.0, cx: float = 0.0, cy: float = 0.0, frame: str = "cam_optical"
) -> CameraInfo:
    width, height = size
    message = CameraInfo(width=width, height=height, distortion_model="plumb_bob", d=[0.0] * 5)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    return message


def values_of(message: Image) -> np.ndarray:
    """Array [H, W] of a one-channel image, read by the message's own fields."""
    dtype = np.dtype({"32FC1": "f4", "16UC1": "u2", "mono8": "u1"}[message.encoding]).newbyteorder(">" if message.is_bigendian else "<")
    assert message.step == message.width * dtype.itemsize
    return np.frombuffer(message.data, dtype).reshape(message.height, message.width)


def cloud_of(message: PointCloud2) -> np.ndarray:
    """Structured [h, w] of a cloud, read by the message's own fields."""
    names = [field.name for field in message.fields]
    layout = {
        "names": names,
        "formats": ["<f4"] * len(names),
        "offsets": [field.offset for field in message.fields],
        "itemsize": message.point_step,
    }
    assert message.row_step == message.width * message.point_step and not message.is_bigendian
    return np.frombuffer(message.data, np.dtype(layout)).reshape(message.height, message.width)


def grey(level: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), level, np.uint8)


COUNTS = ("received", "processed", "dropped", "expired", "rejected", "failed", "unheard")
"""Of frames, in the status of a camera; the first is the sum of the others."""


def statuses(rig: Rig) -> dict[str, dict[str, str]]:
    """Last values of each status by the part of its name after the node's."""
    found = {}
    for message in rig.received["/diagnostics"]:
        for status in message.status:
            found[status.name.partition(": ")[2]] = {"message": status.message, **{pair.key: pair.value for pair in status.values}}
    return found
