"""Rays, known cameras and Gaussians as the engine gives them, in the arrays of `official_family.inference`, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from comparison import BOUND, RMS_BOUND, rms_error, worst_error
from numpy.typing import NDArray

from depth_anything_ros import Intrinsics, KnownCamera, Prediction

Arrays = dict[str, NDArray[np.floating]]
GAUSSIANS = ("means", "scales", "rotations", "harmonics", "opacities")
GAUSSIAN_BOUND = 1e-3
OWN_ROUNDING_FACTOR = 2.0
"""Largest errors may be so many times those of PyTorch's own float32 where that is known, and more than the bound."""
ILL_CONDITIONED_RMS = 1e-4
"""The seeded rays hardly fit a camera; PyTorch's float32 decomposition of them alone is this far from its float64."""


def engine_cameras(extrinsics: NDArray[np.floating], intrinsics: NDArray[np.floating], pictures: Sequence[NDArray]) -> list[KnownCamera]:
    """Cameras [n, 3, 4] and [n, 3, 3] of the official code, which counts cx and cy from the corner; ours from the first pixel's centre."""
    return [
        KnownCamera(Intrinsics(picture.shape[1], picture.shape[0], k[0, 0], k[1, 1], k[0, 2] - 0.5, k[1, 2] - 0.5), pose)
        for picture, k, pose in zip(pictures, intrinsics, extrinsics, strict=True)
    ]


def arrays_of(predictions: Sequence[Prediction]) -> Arrays:
    """Depth [n, h, w], extrinsics [n, 3, 4], intrinsics [n, 3, 3] of all views, and their Gaussians one after the other."""
    cameras = [(p.extrinsics, p.intrinsics) for p in predictions if p.extrinsics is not None and p.intrinsics is not None]
    found: Arrays = {
        "depth": np.stack([prediction.depth for prediction in predictions]),
        "extrinsics": np.stack([extrinsics for extrinsics, _ in cameras]),
        "intrinsics": np.array([[[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]] for _, k in cameras]),
    }
    gaussians = [prediction.gaussians for prediction in predictions if prediction.gaussians is not None]
    if gaussians:
        found |= {name: np.concatenate([getattr(one, name) for one in gaussians]) for name in GAUSSIANS}
    return found


def errors_of(name: str, found: NDArray[np.floating], expected: NDArray[np.floating]) -> tuple[float, float]:
    """Largest relative error and relative rms (`comparison`); q and -q are one rotation."""
    if name == "rotations":
        found = np.where((found * expected).sum(axis=1, keepdims=True) < 0.0, -found, found)
    return worst_error(name, found, expected), rms_error(name, found, expected)


def bounds_of(name: str, rays: bool, rounding: float = 0.0) -> tuple[float, float]:
    """Bounds of `errors_of`. rays: whether the cameras were fitted to rays. rounding: largest error of PyTorch's float32."""
    own = OWN_ROUNDING_FACTOR * rounding
    if name in GAUSSIANS:
        return max(GAUSSIAN_BOUND, own), ILL_CONDITIONED_RMS if rays else RMS_BOUND
    return max(BOUND, own), BOUND if name in ("extrinsics", "intrinsics") else RMS_BOUND
