"""Runs a bag through the real node: player, node and recorder in processes of their own, connected by the middleware only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from depth_anything_ros.errors import DepthAnythingError, DeviceError, InputError, ModelError, OptionError
from depth_anything_ros.ros.camera_bag import CAMERA_INFO, IMAGE

CAMERA = IMAGE.rpartition("/")[0]
INPUTS = (IMAGE, CAMERA_INFO)
OUTPUTS = tuple(
    f"{CAMERA}/{name}"
    for name in (
        "depth/image_rect",
        "depth/camera_info",
        "depth/confidence",
        "depth/sky_mask",
        "depth/timing",
        "points",
        "relative/image",
        "relative/camera_info",
    )
)
TIMING = f"{CAMERA}/depth/timing"
_STOP = 20.0
_CLASSES = {kind.exit_code: kind for kind in (OptionError, ModelError, InputError, DeviceError)}


@dataclass(frozen=True)
class DemoRun:
    """One bag through one node."""

    bag: Path
    """Of a camera, as `camera_bag` writes it."""
    output: Path
    """Folder of the bag to record."""
    logs: Path
    parameters: dict[str, str | int | float | bool]
    """Of the node."""
    slowest: float
    """Seconds that one frame may take."""
    rate: float
    """Speed of playing; 1 is as recorded."""

    def run(self, stopping: Callable[[], bool], progress: Callable[[str], None]) -> None:
        """Play the bag from its first to its last frame. progress: takes the state of things in words, over and over.

        Raises the class of error that the exit code of a failed process stands for, with the end of its log.
        """
        domain = 1 + os.getpid() % 100
        with ExitStack() as stack:
            processes = _Processes(self.logs, domain)
            stack.callback(processes.stop)
            node = processes.start("node", _node_command(self.parameters, self.logs / "parameters.yaml"))
            recorder = processes.start("record", _verb("record", "--output", self.output, *INPUTS, *OUTPUTS))
            watch = stack.enter_context(_Watch(domain))
            while not watch.node_listens():
                progress("the node loads its model")
                self._go_on(processes, stopping)
                watch.look()
            # Two readers: the recorder and the node.
            player = processes.start("play", _verb("play", self.bag, "--rate", self.rate, "--wait-for", IMAGE, "--readers", 2))
            while not watch.finished(player.poll() is not None, self.slowest):
                progress(f"{watch.processed} frames have become depth")
                self._go_on(processes, stopping)
                watch.look()
            processes.end(recorder, node)

    def _go_on(self, processes: _Processes, stopping: Callable[[], bool]) -> None:
        processes.check()
        if stopping():
            raise KeyboardInterrupt


class _Processes:
    """Children of the demo with their logs, on a ROS domain of their own and reachable on this machine only."""

    def __init__(self, logs: Path, domain: int) -> None:
        self._logs = logs
        self._environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self._logs / f"{name}.log").open("wb") as log:
            # A session of their own: Ctrl-C reaches the demo, which ends them in order.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._environment, start_new_session=True
            )
        self._running[name] = process
        return process

    def check(self) -> None:
        """Raises when a process has failed."""
        for name, process in self._running.items():
            if process.poll():
                self._fail(name, process.returncode)

    def end(self, *processes: subprocess.Popen[bytes]) -> None:
        """Ask each to end, in the given order, and require that it ends well."""
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(_STOP)
        self.check()

    def stop(self) -> None:
        """End whatever still runs."""
        for process in self._running.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    def _fail(self, name: str, code: int) -> None:
        log = self._logs / f"{name}.log"
        end = log.read_text(errors="replace").strip().splitlines()[-5:]
        kind = _CLASSES.get(code, DepthAnythingError)
        raise kind("demo.process", f"The process {name!r} ended with code {code}; its log is {log} and ends with:\n" + "\n".join(end))


class _Watch:
    """Listens to depth/timing: one message per processed frame."""

    def __init__(self, domain: int) -> None:
        self.processed = 0
        self._context = rclpy.Context()
        rclpy.init(args=[], context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("demo", context=self._context)
        self._node.create_subscription(DiagnosticArray, TIMING, self._count, 100)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._news = time.monotonic()

    def look(self) -> None:
        """Wait a moment for news."""
        self._executor.spin_once(timeout_sec=0.1)

    def node_listens(self) -> bool:
        """The node subscribes to its camera once it is active and an output of it is listened to."""
        return any(reader.node_namespace == CAMERA for reader in self._node.get_subscriptions_info_by_topic(IMAGE))

    def finished(self, played: bool, slowest: float) -> bool:
        """Whether the last frame is through: no news for the time of several frames after the end of the bag."""
        if not played:
            self._news = time.monotonic()
        patience = max(2.0, 3.0 * slowest) if self.processed else max(30.0, 10.0 * slowest)
        return time.monotonic() - self._news >= patience

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    def _count(self, message: DiagnosticArray) -> None:
        self.processed += 1
        self._news = time.monotonic()


def _verb(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "depth_anything_ros", *map(str, arguments)]


def _node_command(parameters: dict[str, str | int | float | bool], file: Path) -> list[str]:
    """The executable depth_node. Parameters go through a file (JSON is YAML), where any path is safe.

    The node's reader is best effort, as it should be for a camera on a network; there pictures of 900 kB get lost on a busy machine. The
    bag's publisher is reliable and the player has time, so here the reader may be so too: then every loss is one of the node's own.
    """
    reliable = {f"qos_overrides.{IMAGE}.subscription.reliability": "reliable"}
    file.write_text(json.dumps({"/**": {"ros__parameters": {**parameters, **reliable}}}), encoding="utf-8")
    remappings = ["-r", f"__ns:={CAMERA}", "-r", f"image:={IMAGE}"]
    return [sys.executable, str(_executable()), "--ros-args", "--params-file", str(file), *remappings]


def _executable() -> Path:
    """Where pip, setup.py develop and colcon put depth_node."""
    folders = (Path(sys.prefix) / "bin", Path(sys.prefix) / "lib" / "depth_anything_ros", Path(sys.argv[0]).parent)
    for folder in folders:
        if (folder / "depth_node").is_file():
            return folder / "depth_node"
    raise DepthAnythingError("demo.node", f"The executable depth_node is in none of {', '.join(map(str, folders))}; install the package.")
