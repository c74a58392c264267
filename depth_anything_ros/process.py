"""Settings of a whole process that does nothing but depth: the node, a replay. To be made before the network is loaded."""

from __future__ import annotations

import ctypes
import os
import signal

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_PR_SET_PDEATHSIG = 1


def prepare_process() -> None:
    """Keep buffers, and the cores for the network."""
    import cv2  # takes a while; the node's signal handlers come first

    _keep_freed_memory()
    cv2.setNumThreads(1)  # its workers wake and wait for tasks that are smaller than that, beside the network's


def end_with(parent: int) -> None:
    """Have the system end this process together with the one that started it, however that ends (Linux, prctl(2))."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:  # not in other C libraries
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was faster
        os.kill(os.getpid(), signal.SIGKILL)


def _keep_freed_memory() -> None:
    """Have glibc keep buffers of a picture's size for the next frame (mallopt(3)).

    By default it gives them back to the system and takes fresh pages, which costs a frame more time than the arithmetic on them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # not in other C libraries
        for name, value in ((_M_MMAP_THRESHOLD, 32 << 20), (_M_TRIM_THRESHOLD, 128 << 20)):
            mallopt(name, value)
