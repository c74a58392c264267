"""Held-out scenes for the tests of the nano models: pictures, true depth and cameras, rendered on the spot."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from training import dataset


@lru_cache(maxsize=2)
def held_out_rows(count: int) -> np.ndarray:
    """The first `count` scenes of the test split, as `dataset.RECORD`."""
    seed, held_out = dataset.SPLITS["test"]
    rows = []
    while len(rows) < count:
        row = dataset.record(seed, held_out)
        seed += 1
        if row is not None:
            rows.append(row)
    return np.stack(rows)


def true_depth(row: np.ndarray) -> np.ndarray:
    """float32 [H, W] of the first view, inf is sky."""
    return np.asarray(row["depth"][0], np.float32)


def ground_of(row: np.ndarray, reach: float) -> np.ndarray:
    """bool [H, W]: pixels of the first view whose true point lies on the ground, within `reach` metres along the optical axis."""
    depth = true_depth(row)
    height, width = depth.shape
    rays = cv2.undistortPoints(
        np.mgrid[0:width, 0:height].T.reshape(-1, 1, 2).astype(np.float64),
        np.array([[row["focal"], 0, (width - 1) / 2], [0, row["focal"], (height - 1) / 2], [0, 0, 1]], np.float64),
        None,
    ).reshape(height, width, 2)
    points = np.concatenate([rays, np.ones((height, width, 1))], axis=-1) * np.where(np.isfinite(depth), depth, 1e3)[..., None]
    pose = row["pose"][0].astype(np.float64)
    return (np.abs((points @ pose[:3, :3].T + pose[:3, 3])[..., 2]) < 0.03) & (depth < reach)
