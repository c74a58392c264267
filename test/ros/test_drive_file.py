"""The drive in the package, and the file that holds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.camera_bag import Shot
from depth_anything_ros.ros.drive_file import DRIVE, read_drive, write_drive
from depth_anything_ros.types import Intrinsics


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows, columns = np.mgrid[0:30, 0:40].astype(np.float32)
    camera = Intrinsics(40, 30, 35.0, 35.0, 19.5, 14.5)
    shots = []
    for index in range(3):
        depth = (0.2 + 0.5 * rows + 3.0 * index).astype(np.float32)
        depth[:4] = np.inf
        pose = np.eye(4)
        pose[0, 3] = index
        rgb = np.stack([6 * columns, 8 * rows, 100 + 0 * rows], axis=-1).astype(np.uint8)
        shots.append(Shot(rgb, camera, depth, pose))
    write_drive(tmp_path / "drive.npz", shots)
    found = list(read_drive(tmp_path / "drive.npz"))
    assert len(found) == 3
    for shot, there in zip(shots, found):
        assert there.intrinsics == camera
        np.testing.assert_array_equal(there.pose, shot.pose)
        np.testing.assert_allclose(there.depth, shot.depth, rtol=5.1e-4)
        assert np.abs(there.rgb.astype(int) - shot.rgb).mean() < 4


def test_the_shipped_drive_goes_forward_over_flat_ground() -> None:
    """Ground that is put into the world by calibration, depth and pose lies at height zero."""
    assert DRIVE.stat().st_size < 500_000
    shots = list(read_drive())
    assert len(shots) == 24
    places = np.stack([shot.pose[:3, 3] for shot in shots])
    assert np.linalg.norm(places[-1] - places[0]) > 2.0 and np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 0.5
    for shot in (shots[0], shots[-1]):
        camera = shot.intrinsics
        v, u = np.mgrid[0 : camera.height, 0 : camera.width]
        z = np.where(np.isfinite(shot.depth), shot.depth, np.nan)
        points = np.stack([(u - camera.cx) / camera.fx * z, (v - camera.cy) / camera.fy * z, z], axis=-1)
        heights = (points @ shot.pose[:3, :3].T + shot.pose[:3, 3])[..., 2]
        assert np.nanmin(heights) == pytest.approx(0.0, abs=0.03)
        assert np.mean(np.abs(heights[-20:]) < 0.06) > 0.9
        assert np.isinf(shot.depth).mean() > 0.02


def test_a_drive_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.npz is part of the package"):
        next(read_drive(tmp_path / "none.npz"))
