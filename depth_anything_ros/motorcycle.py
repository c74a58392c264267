"""A photograph with calibration and true depth: "Motorcycle" of the Middlebury 2014 stereo benchmark (Scharstein et al., GCPR 2014),
as scikit-image ships it."""

from __future__ import annotations

import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

# Calibration of the left picture, 741 x 500, from the docstring of skimage.data.stereo_motorcycle.
SCENE = Intrinsics(width=741, height=500, fx=994.978, fy=994.978, cx=311.193, cy=254.877)
BASELINE = 0.193001
"""Metres."""
DISPARITY_OFFSET = 31.086
"""Pixels between the two principal points."""


def read_motorcycle() -> tuple[UInt8Array, Float32Array]:
    """The left picture, uint8 RGB [500, 741, 3], and its depth, float32 [500, 741], metres, NaN where there is none.

    Raises InputError ``input.file`` when scikit-image, or its picture, is not there.
    """
    try:
        from skimage.data import stereo_motorcycle

        left, _, disparity = stereo_motorcycle()
    except (ImportError, OSError, ValueError) as error:
        raise InputError(
            "input.file", f"The sample scene comes with scikit-image 0.19 and later (pip install scikit-image): {error}"
        ) from error
    known = np.isfinite(disparity)
    depth = np.full(disparity.shape, np.nan, np.float32)
    depth[known] = SCENE.fx * BASELINE / (disparity[known] + DISPARITY_OFFSET)
    return left, depth
