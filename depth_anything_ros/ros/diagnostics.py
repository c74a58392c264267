"""Counters of the running node and their statuses on `/diagnostics` (health, 1 Hz)."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from depth_anything_ros.models.checkpoint_facts import doubt_of
from depth_anything_ros.types import ModelInfo

OUTDATED = 5.0
"""Seconds after which a rejected or failed frame no longer colours the health, and without a picture after which that does."""


@dataclass
class Health:
    """What happened since activation, reset or the last change of the model.

    Written by the executor's and the worker's thread, hence the lock.
    """

    received: int = 0
    processed: int = 0
    rejected: int = 0
    failed: int = 0
    unheard: int = 0
    """Frames whose turn came when nobody listened any more."""
    calibration: str = "none"
    calibration_problem: str = ""
    trouble: str = ""
    """Text of the last rejected or failed frame."""
    _trouble_at: float = -1e9
    _heard_at: float = field(default_factory=time.monotonic)
    """When a picture came the last time, or none could, since the camera was not subscribed."""
    _trouble_level: bytes = DiagnosticStatus.OK
    _done_at: float = field(default_factory=time.monotonic)
    """When a frame was processed the last time, or none could be."""
    _expired: int = 0
    _infer_seconds: deque[float] = field(default_factory=lambda: deque(maxlen=256))
    _ages: deque[float] = field(default_factory=lambda: deque(maxlen=256))
    _reported: tuple[float, int] = field(default_factory=lambda: (time.monotonic(), 0))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count_received(self) -> None:
        with self._lock:
            self.received += 1
            self._heard_at = time.monotonic()

    def count_unheard(self) -> None:
        with self._lock:
            self.unheard += 1

    def count_processed(self, infer_seconds: float, age: float) -> None:
        """age: seconds, NaN where it is not known."""
        with self._lock:
            self.processed += 1
            self._done_at = time.monotonic()
            self._infer_seconds.append(infer_seconds)
            if math.isfinite(age):
                self._ages.append(age)

    def count_trouble(self, text: str, *, rejected: bool) -> None:
        """rejected: the frame was at fault (WARN), else the engine or the node (ERROR)."""
        with self._lock:
            self.rejected += rejected
            self.failed += not rejected
            self.trouble, self._trouble_at = text, time.monotonic()
            self._trouble_level = DiagnosticStatus.WARN if rejected else DiagnosticStatus.ERROR

    def note_calibration(self, source: str, problem: str) -> None:
        with self._lock:
            self.calibration, self.calibration_problem = source, problem

    def silence(self) -> float:
        """Seconds without a picture, as far as the camera is subscribed."""
        with self._lock:
            return time.monotonic() - self._heard_at

    def counts(self) -> dict[str, int]:
        """Of frames, by what became of them; with those that the engine room dropped they add up to `received`."""
        with self._lock:
            return self._counts()

    def _counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("received", "processed", "rejected", "failed", "unheard")}

    def status(self, name: str, hardware: str, subscribed: bool, facts: Mapping[str, str], expired: int = 0) -> DiagnosticStatus:
        """Status of one camera: rate since the last call, counts, calibration, times.

        facts: what others know about it. expired: frames that were too old when their turn came.
        """
        with self._lock:
            now = time.monotonic()
            since, before = self._reported
            self._reported = (now, self.received)
            rate = (self.received - before) / max(now - since, 1e-3)
            level, message = self._judged(now, subscribed, expired > self._expired)
            self._expired = expired
            values = {
                "subscribed": str(subscribed),
                "input_hz": f"{rate:.1f}",
                **{key: str(count) for key, count in self._counts().items()},
                **facts,
                "calibration": self.calibration,
                "inference_p50_ms": _percentile_ms(self._infer_seconds, 50),
                "inference_p95_ms": _percentile_ms(self._infer_seconds, 95),
                "age_p95_ms": _percentile_ms(self._ages, 95),
            }
        return _status(name, hardware, level, message, values)

    def _judged(self, now: float, subscribed: bool, expiring: bool) -> tuple[bytes, str]:
        if now - self._trouble_at < OUTDATED:
            return self._trouble_level, self.trouble
        if not subscribed:
            self._heard_at = self._done_at = now
            return DiagnosticStatus.OK, "idle: no output has a subscriber, or the node is disabled"
        if not self.received:
            return DiagnosticStatus.WARN, "no picture has come yet"
        if now - self._heard_at > OUTDATED:
            return DiagnosticStatus.WARN, f"no picture has come for {now - self._heard_at:.0f} s"
        if expiring and now - self._done_at > OUTDATED:
            return DiagnosticStatus.WARN, "every picture is older than max_age when its turn comes; compare the clocks of camera and node"
        if self.processed and self.calibration_problem:
            return DiagnosticStatus.WARN, self.calibration_problem
        return DiagnosticStatus.OK, "running"


def engine_status(node_name: str, state: str, info: ModelInfo | None, problem: str, remark: str = "") -> DiagnosticStatus:
    """Status of the model side. Random weights and unknown checkpoints keep it at WARN.

    problem: why nothing works. remark: why it does not work as it was asked to, such as with another model.
    """
    if info is None:
        level = DiagnosticStatus.ERROR if problem else DiagnosticStatus.WARN
        return _status(f"{node_name}: engine", "", level, problem or "no model is loaded", {"state": state})
    values = {
        "state": state,
        "model": info.path,
        "checkpoint": info.checkpoint,
        "depth_kind": info.kind.value,
        "license": info.license,
        "device": info.device,
        "parameters": str(info.parameters),
        "model_mb": f"{info.file_bytes / 1e6:.0f}",
        "memory_mb": f"{resident_bytes() / 1e6:.0f}",
    }
    doubt = doubt_of(info.checkpoint, info.license)
    level = DiagnosticStatus.ERROR if problem else DiagnosticStatus.WARN if remark or doubt else DiagnosticStatus.OK
    return _status(f"{node_name}: engine", info.device, level, problem or remark or doubt or state, values)


def resident_bytes() -> int:
    """Memory of this process that lies in RAM (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _status(name: str, hardware: str, level: bytes, message: str, values: Mapping[str, str]) -> DiagnosticStatus:
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(name=name, hardware_id=hardware, level=level, message=message, values=pairs)


def _percentile_ms(seconds: deque[float], percent: float) -> str:
    return f"{1e3 * float(np.percentile(list(seconds), percent)):.1f}" if seconds else ""
