"""rclpy from init to shutdown, for the programs of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.signals import SignalHandlerOptions


@contextmanager
def middleware(args: list[str] | None = None) -> Iterator[None]:
    """The default context of rclpy. Signals stay the program's own: rclpy's handlers would end the context under a thread that publishes.

    args: command line with ``--ros-args``; None takes that of the process.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield
    finally:
        rclpy.shutdown()
