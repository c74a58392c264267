"""Metric depth from a plain camera: Depth Anything 3 in C++ on ggml, for ROS 2. Importing this imports neither rclpy nor torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depth_anything_ros.errors import (
    CancelledError,
    ConversionError,
    DepthAnythingError,
    DeviceError,
    InputError,
    ModelError,
    OptionError,
)
from depth_anything_ros.types import (
    DepthKind,
    Frame,
    Gaussians,
    Intrinsics,
    KnownCamera,
    ModelInfo,
    Prediction,
    Products,
    Timings,
    Wanted,
)

if TYPE_CHECKING:
    from depth_anything_ros.engine import Engine, EngineOptions

__version__ = "0.1.0"
__all__ = [
    "CancelledError",
    "ConversionError",
    "DepthAnythingError",
    "DepthKind",
    "DeviceError",
    "Engine",
    "EngineOptions",
    "Frame",
    "Gaussians",
    "InputError",
    "Intrinsics",
    "KnownCamera",
    "ModelError",
    "ModelInfo",
    "OptionError",
    "Prediction",
    "Products",
    "Timings",
    "Wanted",
]


def __getattr__(name: str) -> object:
    # The engine loads the extension; tools that need none of it (convert, play) work without.
    if name in ("Engine", "EngineOptions"):
        from depth_anything_ros import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
