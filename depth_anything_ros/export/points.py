"""Back-projection of all views into one cloud, and which points are good enough to be in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.export.views import View
from depth_anything_ros.types import Float32Array, UInt8Array

LEAST_SURE = 40.0
"""Percent of the pixels that are left out for their low confidence."""


@dataclass(frozen=True)
class Cloud:
    """n points in the order view, row, column."""

    xyz: NDArray[np.float64]
    """float64 [n, 3], world frame, unit of the depth."""
    rgb: UInt8Array
    """uint8 [n, 3]."""
    view: NDArray[np.intp]
    """[n], index of the view."""
    uv: NDArray[np.intp]
    """[n, 2], column and row of the pixel in the depth map."""


def gather(views: list[View], threshold: float | None) -> Cloud:
    """Every pixel of finite depth above 0 whose raw confidence, where there is one, is `threshold` or more (None keeps all)."""
    parts = [_view_points(view, index, threshold) for index, view in enumerate(views)]
    return Cloud(
        xyz=np.concatenate([part.xyz for part in parts]),
        rgb=np.concatenate([part.rgb for part in parts]),
        view=np.concatenate([part.view for part in parts]),
        uv=np.concatenate([part.uv for part in parts]),
    )


def confidence_percentile(views: list[View], percent: float) -> float | None:
    """Linearly interpolated percentile of the raw confidence over all pixels of all views; None where a view has no confidence."""
    maps: list[Float32Array] = [view.confidence for view in views if view.confidence is not None]
    if len(maps) < len(views):
        return None
    return float(np.percentile(np.concatenate([one.ravel() for one in maps]), percent))


def world_from_camera(view: View, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [n, 3] of the camera's frame, in the world's."""
    rotation, translation = view.camera_from_world[:, :3], view.camera_from_world[:, 3]
    return np.asarray(np.linalg.solve(rotation, (xyz - translation).T).T)


def rays(view: View, uv: NDArray[np.intp]) -> NDArray[np.float64]:
    """float64 [n, 3] in the camera's frame with z = 1, through integer pixel coordinates (no half pixel, as the official exports)."""
    k = view.intrinsics
    return np.column_stack([(uv[:, 0] - k.cx) / k.fx, (uv[:, 1] - k.cy) / k.fy, np.ones(len(uv))])


def _view_points(view: View, index: int, threshold: float | None) -> Cloud:
    good = np.isfinite(view.depth) & (view.depth > 0.0)
    if threshold is not None and view.confidence is not None:
        good &= view.confidence >= threshold
    rows, columns = np.nonzero(good)
    uv = np.column_stack([columns, rows])
    camera = rays(view, uv) * view.depth[good].astype(np.float64)[:, np.newaxis]
    return Cloud(world_from_camera(view, camera), view.pixels[good], np.full(len(uv), index), uv)
