"""GLB scenes, read back by trimesh (points and lines) and pygltflib (layout)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pygltflib
import pytest
import trimesh
from glb_reader import arrays
from wall import Wall, without_points

from depth_anything_ros.errors import InputError
from depth_anything_ros.export import glb
from depth_anything_ros.export.glb import write_glb
from depth_anything_ros.types import DepthKind


def in_first_camera(wall: Wall, xyz: np.ndarray) -> np.ndarray:
    """Homogeneous, step by step, as the format is written down: diag(1, -1, -1, 1) . camera_from_world of view 0."""
    matrix = np.diag([1.0, -1.0, -1.0, 1.0]) @ np.vstack([wall.views[0].camera_from_world, [0, 0, 0, 1]])
    return (np.column_stack([xyz, np.ones(len(xyz))]) @ matrix.T)[:, :3]


def sure_points(wall: Wall) -> tuple[np.ndarray, np.ndarray]:
    """World points and colours that belong into the file, one pixel at a time."""
    confidence = np.stack([view.confidence for view in wall.views])
    threshold = min(max(1.05, np.percentile(confidence, 40)), np.percentile(confidence, 90))
    points, colours = [], []
    for view in wall.views:
        k = np.array([[30.0, 0.0, 13.0], [0.0, 28.0, 7.5], [0.0, 0.0, 1.0]])
        for v, u in np.ndindex(view.depth.shape):
            if view.confidence[v, u] >= threshold:
                camera = np.linalg.inv(k) @ (u, v, 1.0) * view.depth[v, u]
                points.append(view.camera_from_world[:, :3].T @ (camera - view.camera_from_world[:, 3]))
                colours.append(view.pixels[v, u])
    return np.array(points), np.array(colours)


def test_points_stand_before_the_first_camera_around_their_median(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "wall.glb", wall.views)
    mode, points, colours = arrays(tmp_path / "wall.glb")[0]
    world, rgb = sure_points(wall)
    expected = in_first_camera(wall, world)
    assert mode == 0
    np.testing.assert_allclose(points, expected - np.median(expected, axis=0), atol=1e-5)
    np.testing.assert_array_equal(colours, np.column_stack([rgb, np.full(len(rgb), 255)]))


def test_a_frustum_per_view_starts_at_its_camera(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "wall.glb", wall.views)
    (_, points, _), *cameras = arrays(tmp_path / "wall.glb")
    centre = np.median(in_first_camera(wall, sure_points(wall)[0]), axis=0)
    diagonal = np.linalg.norm(np.subtract(*np.percentile(points, (95, 5), axis=0)))
    assert len(cameras) == 2
    for view, (mode, lines, _) in zip(wall.views, cameras):
        rotation, translation = view.camera_from_world[:, :3], view.camera_from_world[:, 3]
        eye = -rotation.T @ translation
        # The top left pixel's ray, then the bottom right one's, at z = 3 percent of the diagonal.
        corners = [
            rotation.T @ (np.array([(u - 13.0) / 30.0, (v - 7.5) / 28.0, 1.0]) * 0.03 * diagonal) + eye for u, v in [(0, 0), (27, 13)]
        ]
        expected = in_first_camera(wall, np.array([eye, corners[0], eye, corners[1]])) - centre
        assert (mode, lines.shape) == (1, (16, 3))
        np.testing.assert_allclose(lines[[0, 1, 4, 5]], expected, atol=1e-5)
        rectangle = lines[8:].reshape(4, 2, 3)
        np.testing.assert_array_equal(rectangle[:, 0], lines[1:8:2])
        np.testing.assert_array_equal(rectangle[:, 1], np.roll(lines[1:8:2], -1, axis=0))


def test_cameras_have_colours_of_their_own(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "wall.glb", wall.views)
    first, second = (colours for _, _, colours in arrays(tmp_path / "wall.glb")[1:])
    # HSV (0.25 and 0.75, 0.85, 0.95): by hand, 0.95 * (1 - 0.85) = 0.1425 and 0.95 * (1 - 0.85 / 2) = 0.54625.
    assert np.unique(first, axis=0).tolist() == [[139, 242, 36, 255]]
    assert np.unique(second, axis=0).tolist() == [[139, 36, 242, 255]]


def test_layout_is_valid_and_says_the_unit(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "wall.glb", [replace(view, kind=DepthKind.RELATIVE_DEPTH) for view in wall.views])
    file = pygltflib.GLTF2().load(str(tmp_path / "wall.glb"))
    assert (len(file.nodes), len(file.meshes), file.scenes[0].nodes) == (1, 1, [0])
    assert file.asset.extras == {"unit": "relative_depth"}
    assert {view.target for view in file.bufferViews} == {34962}
    assert all(view.byteOffset % 4 == 0 for view in file.bufferViews)
    assert file.buffers[0].byteLength == len(file.binary_blob()) == sum(view.byteLength for view in file.bufferViews)
    for one in file.meshes[0].primitives:
        position, colour = file.accessors[one.attributes.POSITION], file.accessors[one.attributes.COLOR_0]
        assert (position.componentType, position.type) == (5126, "VEC3")
        assert (colour.componentType, colour.type, colour.normalized) == (5121, "VEC4", True)
    bounds = file.accessors[0]
    points = arrays(tmp_path / "wall.glb")[0][1]
    np.testing.assert_array_equal([bounds.min, bounds.max], [points.min(axis=0), points.max(axis=0)])


def test_trimesh_reads_the_scene(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "wall.glb", wall.views)
    scene = trimesh.load(tmp_path / "wall.glb")
    kinds = sorted(type(geometry).__name__ for geometry in scene.geometry.values())
    assert kinds == ["Path3D", "Path3D", "PointCloud"]
    cloud = next(geometry for geometry in scene.geometry.values() if isinstance(geometry, trimesh.PointCloud))
    np.testing.assert_array_equal(np.asarray(cloud.vertices, np.float32), arrays(tmp_path / "wall.glb")[0][1])


@pytest.mark.parametrize(("spread", "kept"), [((1.0, 1.02), 0.1), ((2.0, 4.0), 0.6)])
def test_threshold_between_its_bounds(tmp_path: Path, wall: Wall, spread: tuple[float, float], kept: float) -> None:
    """All below 1.05: the 90th percentile holds; all above: the 40th."""
    view = wall.views[0]
    confidence = np.linspace(*spread, view.depth.size, dtype=np.float32).reshape(view.depth.shape)
    write_glb(tmp_path / "wall.glb", [replace(view, confidence=confidence)])
    assert len(arrays(tmp_path / "wall.glb")[0][1]) == pytest.approx(kept * view.depth.size, abs=1)


def test_no_points_make_a_scene_without_buffers(tmp_path: Path, wall: Wall) -> None:
    write_glb(tmp_path / "none.glb", [without_points(view) for view in wall.views])
    file = pygltflib.GLTF2().load(str(tmp_path / "none.glb"))
    assert (file.buffers, file.meshes, len(file.scenes)) == ([], [], 1)
    assert int.from_bytes((tmp_path / "none.glb").read_bytes()[8:12], "little") == (tmp_path / "none.glb").stat().st_size


def test_a_scene_beyond_the_32_bits_of_the_length_is_refused(tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    assert glb._MOST_BYTES.bit_length() == 32
    write_glb(tmp_path / "wall.glb", wall.views)
    size = (tmp_path / "wall.glb").stat().st_size
    monkeypatch.setattr(glb, "_MOST_BYTES", size)
    write_glb(tmp_path / "same.glb", wall.views)
    monkeypatch.setattr(glb, "_MOST_BYTES", size - 1)
    with pytest.raises(InputError, match=f"{size} bytes.*PLY"):
        write_glb(tmp_path / "larger.glb", wall.views)
    assert not (tmp_path / "larger.glb").exists()
