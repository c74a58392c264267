"""Intrinsics of a frame's picture and of its depth map."""

from __future__ import annotations

from depth_anything_ros import geometry
from depth_anything_ros.types import Frame, Intrinsics, Prediction


def of_picture(frame: Frame, prediction: Prediction) -> Intrinsics | None:
    """From its calibration, else the network's own estimate, as in the nested model; None without either."""
    if frame.intrinsics is not None or prediction.intrinsics is None:
        return frame.intrinsics
    height, width = frame.pixels.shape[:2]
    return geometry.network_intrinsics(prediction.intrinsics, width, height)


def of_map(frame: Frame, prediction: Prediction) -> Intrinsics | None:
    """The same at the size of the prediction."""
    own = of_picture(frame, prediction)
    return None if own is None else geometry.scale_intrinsics(own, prediction.width, prediction.height)
