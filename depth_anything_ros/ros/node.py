"""Process of the executable `depth_node`: signals, executor, exit code. The node itself is `depth_node.DepthNode`.

Exit codes: 0 after SIGINT or SIGTERM at any time, else that of the error (2 option, 3 model, 5 device, 1 unexpected).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from depth_anything_ros.process import prepare_process

if TYPE_CHECKING:
    from depth_anything_ros.ros.depth_node import DepthNode
    from depth_anything_ros.ros.engine_switch import LoadEngine
    from depth_anything_ros.ros.parameters import NodeOptions
    from depth_anything_ros.ros.stream import NodeEngine


def main(args: list[str] | None = None) -> int:
    """Entry point: the node with the native engine."""
    return run(load_native, check_native, args)


def run(load_engine: LoadEngine, check_model: Callable[[str], object], args: list[str] | None = None) -> int:
    """Run the node until a signal comes or it fails; returns the exit code. To be called on the main thread.

    check_model: raises ModelError for a name that leads to no file.

    Our own handlers only take a note: rclpy's would shut the context down under a publishing worker, and Python's would raise
    KeyboardInterrupt anywhere. They are set before rclpy is imported, which takes a while; until it is there they end the process at once.
    """
    requests: list[int] = []
    begun = threading.Event()

    def take_note(received: int, _: object) -> None:
        requests.append(received)
        if not begun.is_set():
            os._exit(0)  # there is nothing yet to be given back

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, take_note)
    prepare_process()
    code = _run(load_engine, check_model, args, begun, lambda: bool(requests))
    for number in (signal.SIGINT, signal.SIGTERM):
        # The interpreter gives up our handlers before it is gone; a second Ctrl-C must not turn a clean end into a kill.
        signal.signal(number, signal.SIG_IGN)
    if threading.active_count() > 1:
        # A load that cannot be interrupted is still in native code; waiting for it or tearing down under it would be worse.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def load_native(options: NodeOptions) -> NodeEngine:
    """The engine of the node's parameters. Raises ModelError, DeviceError, OptionError."""
    from depth_anything_ros.engine import Engine, EngineOptions

    return Engine.load(
        options.model,
        EngineOptions(threads=options.threads, device=options.device, resolution=options.resolution, metric_model=options.pair),
    )


def check_native(model: str) -> None:
    """Raises ModelError for a name or path that leads to no file."""
    from depth_anything_ros.models.cache import resolve_model

    resolve_model(model)


def _run(
    load_engine: LoadEngine,
    check_model: Callable[[str], object],
    args: list[str] | None,
    begun: threading.Event,
    stopping: Callable[[], bool],
) -> int:
    """begun: to be set when something is there that has to be given back."""
    from rclpy.exceptions import ParameterException
    from rclpy.logging import get_logger

    from depth_anything_ros.errors import DepthAnythingError, OptionError
    from depth_anything_ros.ros.depth_node import NODE_NAME, DepthNode
    from depth_anything_ros.ros.middleware import middleware

    begun.set()
    with middleware(args):
        try:
            node = DepthNode(load_engine, check_model, stopping)
        except (OptionError, ParameterException) as error:
            get_logger(NODE_NAME).fatal(f"Cannot start: {error}")
            return OptionError.exit_code
        try:
            return _spin(node, stopping)
        except DepthAnythingError as error:
            get_logger(NODE_NAME).fatal(f"Cannot go on: {error}")
            return error.exit_code
        finally:
            node.release()
            node.destroy_node()


def _spin(node: DepthNode, stopping: Callable[[], bool]) -> int:
    from rclpy.executors import SingleThreadedExecutor

    autostart = bool(node.get_parameter("autostart").value)
    if autostart:
        node.start()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stopping() and not (autostart and node.failure):
        executor.spin_once()  # without a limit, which costs a timer each time: the node's own ends it a few times a second
        if node.waiting:
            time.sleep(0.01)
    executor.shutdown()
    return 0 if stopping() else getattr(node.failure, "exit_code", 1)
