"""A test double for the engine: depth that a test can foresee, with the failures, delays and cancellation of the real one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.types import DepthKind, Intrinsics, ModelInfo, Prediction, Timings, UInt8Array, Wanted

METRIC = ModelInfo(
    path="fake.gguf",
    checkpoint="DA3METRIC-LARGE",
    architecture="mono",
    kind=DepthKind.METRIC,
    needs_focal=True,
    license="Apache-2.0",
    has_confidence=False,
    has_sky=True,
    has_pose=False,
    patch_size=14,
    parameters=1,
    file_bytes=1,
    device="cpu",
    instruction_set="avx2",
)
ANY_VIEW = replace(
    METRIC,
    checkpoint="DA3-SMALL",
    architecture="any_view",
    kind=DepthKind.RELATIVE_DEPTH,
    needs_focal=False,
    has_confidence=True,
    has_sky=False,
    has_pose=True,
)


def brightness(pixels: UInt8Array) -> np.ndarray:
    """Network depth of `FakeEngine`: 1 for black to 2 for white, by the first channel."""
    return 1.0 + pixels[:, :, 0].astype(np.float32) / 255.0


@dataclass
class FakeEngine:
    """`depth_of` gives the network depth of the pixels (RGB); the map keeps their size unless `depth_of` changes it."""

    info: ModelInfo = METRIC
    depth_of: Callable[[UInt8Array], np.ndarray] = brightness
    seconds: float = 0.0
    slow_from_call: int | None = None
    """Calls of `infer` from this one on (from 1) take a minute."""
    failures: dict[int, Exception] = field(default_factory=dict)
    """Number of the call of `infer` (from 1, the warm-up not counted) to the exception that it raises."""
    calls: deque[dict[str, object]] = field(default_factory=lambda: deque(maxlen=4))
    """The last calls of `infer`."""
    count: int = 0
    closed: bool = False

    def __post_init__(self) -> None:
        self._cancelled = threading.Event()

    def infer(
        self,
        pixels: UInt8Array,
        *,
        bgr: bool = False,
        intrinsics: Intrinsics | None = None,
        wanted: Wanted = Wanted(),
        fill_sky: bool = True,
    ) -> Prediction:
        self.count += 1
        self.calls.append({"pixels": pixels.copy(), "bgr": bgr, "intrinsics": intrinsics, "wanted": wanted, "fill_sky": fill_sky})
        self._cancelled.clear()
        slow = self.slow_from_call is not None and self.count >= self.slow_from_call
        if self._cancelled.wait(60.0 if slow else self.seconds):
            raise CancelledError("engine.cancelled", "The frame was cancelled.")
        failure = self.failures.get(self.count)
        if failure is not None:
            raise failure
        return self._prediction(pixels[:, :, ::-1] if bgr else pixels, intrinsics)

    def _prediction(self, pixels: UInt8Array, intrinsics: Intrinsics | None) -> Prediction:
        depth = self.depth_of(pixels).astype(np.float32)
        kind = self.info.kind
        if self.info.needs_focal:
            # The official rule: metres = focal / 300 at the processed size, which is the size of the pixels here.
            kind = DepthKind.RELATIVE_DEPTH if intrinsics is None else kind
            depth = depth if intrinsics is None else depth * np.float32((intrinsics.fx + intrinsics.fy) / 600.0)
        height, width = depth.shape
        pose = self.info.has_pose
        return Prediction(
            kind=kind,
            depth=depth,
            confidence=np.full_like(depth, 4.0) if self.info.has_confidence else None,
            sky=(depth * 0.0 + (pixels[:, :, 2] > 250)).astype(np.float32) if self.info.has_sky else None,
            intrinsics=Intrinsics(width, height, 0.8 * width, 0.8 * width, width / 2, height / 2) if pose else None,
            extrinsics=np.eye(3, 4, dtype=np.float32) if pose else None,
            timings=Timings(0.0, self.seconds, 0.0),
        )

    def warm_up(self, width: int, height: int) -> None:
        self._cancelled.clear()
        if self._cancelled.wait(self.seconds):
            raise CancelledError("engine.cancelled", "The warm-up was cancelled.")

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        self.closed = True
