"""Intrinsics of a frame's picture and of its depth map."""

from __future__ import annotations

from depth_anything_ros import geometry
from depth_anything_ros.types import Frame, Intrinsics, Prediction


def estimated(frame: Frame, prediction: Prediction) -> Intrinsics | None:
    """Of the picture, as the network tells them; None where it does not."""
    if prediction.intrinsics is None:
        return None
    height, width = frame.pixels.shape[:2]
    return geometry.network_intrinsics(prediction.intrinsics, width, height)


def of_picture(frame: Frame, prediction: Prediction) -> Intrinsics | None:
    """From its calibration, else the network's own estimate; None without either."""
    return frame.intrinsics or estimated(frame, prediction)


def of_map(frame: Frame, prediction: Prediction) -> Intrinsics | None:
    """The same at the size of the prediction."""
    own = of_picture(frame, prediction)
    return None if own is None else geometry.scale_intrinsics(own, prediction.width, prediction.height)
