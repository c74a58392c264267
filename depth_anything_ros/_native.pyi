"""Typed face of the extension built from native/. Users take `depth_anything_ros.Engine` instead."""

import numpy as np
from numpy.typing import NDArray

__version__: str
ggml_version: str

class EngineOptions:
    def __init__(
        self,
        *,
        threads: int = 0,
        device: str = "cpu",
        resolution: int = 0,
        cached_sizes: int = 4,
        memory_limit: int = 0,
        metric_model: str | bytes = "",
        exact: bool = False,
        instruction_set: str = "",
    ) -> None: ...

class KnownCamera:
    def __init__(self, extrinsics: list[float], fx: float, fy: float, cx: float, cy: float) -> None: ...

class InferOptions:
    def __init__(
        self,
        *,
        focal: tuple[float, float] | None,
        confidence: bool,
        sky: bool,
        pose: bool,
        ray_pose: bool,
        gaussians: bool,
        seed: int,
        fill_sky: bool,
        stages: list[str],
        cameras: list[KnownCamera],
    ) -> None: ...

class NativeEngine:
    def __init__(self, path: str | bytes, options: EngineOptions) -> None: ...
    def info(self) -> dict[str, object]: ...
    def processed_size(self, width: int, height: int) -> tuple[int, int]: ...
    def infer_views(self, pictures: list[NDArray[np.uint8]], bgr: bool, options: InferOptions) -> list[dict[str, object]]: ...
    def parts(self) -> list[tuple[str, float, float]]: ...
    def peak(self) -> float: ...
    def cancel(self) -> None: ...

def inspect(path: str | bytes) -> dict[str, object]: ...
def quantize_rows(values: NDArray[np.float32], type: str, importance: NDArray[np.float32] | None = None) -> NDArray[np.uint8]: ...
def dequantize_rows(rows: NDArray[np.uint8], type: str) -> NDArray[np.float32]: ...
def preprocess(pixels: NDArray[np.uint8], bgr: bool, resolution: int, patch: int) -> NDArray[np.uint8]: ...
