"""Pictures of noise for the double of the engine, and the depth that it gives for them."""

from __future__ import annotations

import numpy as np

MODEL = ("--ros-args", "-p", "model:=fake.gguf", "-p", "points.edge_filter:=0.0")  # pictures of noise are all edges


def picture(width: int = 64, height: int = 48, seed: int = 0) -> np.ndarray:
    """uint8 [H, W, 3] without sky for the double (blue at most 250)."""
    return np.random.default_rng(seed).integers(0, 250, (height, width, 3), np.uint8)


def expected_depth(pixels: np.ndarray, focal: float = 300.0) -> np.ndarray:
    """The double's depth in metres: 1 (black) to 2 (white) times focal / 300, by the red channel."""
    return (1.0 + pixels[:, :, 0].astype(np.float32) / 255.0) * np.float32(focal / 300.0)
