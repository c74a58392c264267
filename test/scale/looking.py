"""Frames and predictions of the known room."""

from __future__ import annotations

import numpy as np
from box_room import CAMERA, look

from depth_anything_ros.scale.estimate import Estimate, Refusal
from depth_anything_ros.types import DepthKind, Frame, Intrinsics, Prediction, Timings


def frame_at(pose: np.ndarray, stamp: float = 0.0, camera: Intrinsics | None = CAMERA) -> Frame:
    return Frame(look(pose)[1], False, camera, round(stamp * 1e9), "camera_optical")


def prediction_of(
    depth: np.ndarray, kind: DepthKind = DepthKind.RELATIVE_DEPTH, pose: np.ndarray | None = None, confidence: np.ndarray | None = None
) -> Prediction:
    """pose: [4, 4] camera to world, as the network tells it (its unit is the depth's)."""
    height, width = depth.shape
    inverse = np.eye(4) if pose is None else np.linalg.inv(pose)
    return Prediction(
        kind=kind,
        depth=depth.astype(np.float32),
        confidence=np.full(depth.shape, 4.0, np.float32) if confidence is None else confidence,
        sky=None,
        intrinsics=Intrinsics(width, height, CAMERA.fx * width / CAMERA.width, CAMERA.fy * height / CAMERA.height, width / 2, height / 2),
        extrinsics=inverse[:3].astype(np.float32),
        timings=Timings(0.0, 0.0, 0.0),
    )


class Inbox(list):
    """What a source delivers."""

    @property
    def factors(self) -> list[float]:
        return [one.scale.factor for one in self if isinstance(one, Estimate)]

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self if isinstance(one, Refusal)]


def at_once(job) -> bool:
    """Runs a background job in the foreground."""
    job()
    return True
