"""PLY clouds, read back by trimesh, which shares no code with the writer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from wall import Wall, without_points

from depth_anything_ros.errors import OptionError
from depth_anything_ros.export.ply import write_ply
from depth_anything_ros.types import DepthKind


def test_the_sure_points_of_all_views_with_their_colours(tmp_path: Path, wall: Wall) -> None:
    write_ply(tmp_path / "wall.ply", wall.views)
    cloud = trimesh.load(tmp_path / "wall.ply")
    assert wall.off(cloud.vertices).max() < 1e-5
    confidence = np.stack([view.confidence for view in wall.views])
    sure = confidence >= np.percentile(confidence, 40)
    np.testing.assert_array_equal(cloud.visual.vertex_colors[:, :3], np.stack([view.pixels for view in wall.views])[sure])


@pytest.mark.parametrize(("kind", "unit"), [(DepthKind.METRIC, b"metre"), (DepthKind.RELATIVE_DEPTH, b"relative_depth")])
def test_the_header_says_the_unit(tmp_path: Path, wall: Wall, kind: DepthKind, unit: bytes) -> None:
    write_ply(tmp_path / "wall.ply", [replace(wall.views[0], kind=kind)])
    assert b"\ncomment unit: " + unit + b"\n" in (tmp_path / "wall.ply").read_bytes()[:300]


def test_no_points(tmp_path: Path, wall: Wall) -> None:
    write_ply(tmp_path / "none.ply", [without_points(wall.views[0])])
    assert b"\nelement vertex 0\n" in (tmp_path / "none.ply").read_bytes()


def test_a_missing_library_is_named(tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plyfile", None)
    with pytest.raises(OptionError, match="pip install plyfile"):
        write_ply(tmp_path / "wall.ply", wall.views)
