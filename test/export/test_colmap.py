"""COLMAP models in both forms, read back by pycolmap, COLMAP's own reader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from wall import Wall, pose, without_points

from depth_anything_ros.errors import InputError
from depth_anything_ros.export.colmap import write_colmap

both_forms = pytest.mark.parametrize("text", [False, True], ids=["binary", "text"])


def read(folder: Path) -> pycolmap.Reconstruction:
    return pycolmap.Reconstruction(str(folder))


@both_forms
def test_cameras_at_the_size_of_the_picture(tmp_path: Path, wall: Wall, text: bool) -> None:
    write_colmap(tmp_path / "model", wall.views, text=text)
    cameras = read(tmp_path / "model").cameras
    assert sorted(cameras) == [1, 2]
    for camera in cameras.values():
        assert (camera.model.name, camera.width, camera.height) == ("PINHOLE", 112, 70)
        assert camera.params.tolist() == [30.0 * 4, 28.0 * 5, 13.0 * 4, 7.5 * 5]


@both_forms
def test_images_have_name_and_pose(tmp_path: Path, wall: Wall, text: bool) -> None:
    write_colmap(tmp_path / "model", wall.views, text=text)
    images = read(tmp_path / "model").images
    assert sorted(images) == [1, 2]
    for number, image in images.items():
        view = wall.views[number - 1]
        assert (image.name, image.camera_id) == (view.name, number)
        np.testing.assert_allclose(image.cam_from_world().matrix(), view.camera_from_world, atol=1e-12)


@both_forms
def test_points_lie_on_the_wall_where_their_picture_shows_them(tmp_path: Path, wall: Wall, text: bool) -> None:
    write_colmap(tmp_path / "model", wall.views, text=text)
    model = read(tmp_path / "model")
    confidence = np.stack([view.confidence for view in wall.views])
    assert sorted(model.points3D) == list(range(1, np.count_nonzero(confidence >= np.percentile(confidence, 40)) + 1))
    for number, point in model.points3D.items():
        assert wall.off(point.xyz) < 1e-5
        (track,) = point.track.elements
        image = model.images[track.image_id]
        seen = image.points2D[track.point2D_idx]
        assert seen.point3D_id == number
        np.testing.assert_allclose(model.cameras[image.camera_id].img_from_cam(image.cam_from_world() * point.xyz), seen.xy, atol=1e-3)
        column, row = int(seen.xy[0]) // 4, int(seen.xy[1]) // 5
        np.testing.assert_array_equal(point.color, wall.views[track.image_id - 1].pixels[row, column])


def test_places_in_the_picture_are_cut_to_whole_pixels(tmp_path: Path, wall: Wall) -> None:
    write_colmap(tmp_path / "model", [replace(wall.views[0], picture_size=(70, 35), confidence=None)])
    xy = np.array([point.xy for point in read(tmp_path / "model").images[1].points2D])
    # 70 / 28 = 35 / 14 = 2.5 pixels each.
    assert xy[:4, 0].tolist() == [0.0, 2.0, 5.0, 7.0]
    assert xy[::28, 1].tolist()[:4] == [0.0, 2.0, 5.0, 7.0]


@both_forms
@pytest.mark.parametrize("turn", [(np.pi, 0.0, 0.0), (0.0, np.pi, 0.0), (0.0, 0.0, np.pi), (0.0, 0.0, 0.0), (-2.0, 2.0, 1.0)])
def test_half_turns_keep_their_pose(tmp_path: Path, wall: Wall, turn: tuple[float, ...], text: bool) -> None:
    view = replace(wall.views[0], camera_from_world=pose(turn, (1.0, -2.0, 3.0)))
    write_colmap(tmp_path / "model", [view], text=text)
    image = read(tmp_path / "model").images[1]
    np.testing.assert_allclose(image.cam_from_world().matrix(), view.camera_from_world, atol=1e-12)


def test_quaternions_have_no_negative_w(tmp_path: Path, wall: Wall) -> None:
    write_colmap(tmp_path / "model", [replace(wall.views[0], camera_from_world=pose((0.0, 0.0, 3.5), (0.0, 0.0, 0.0)))], text=True)
    row = (tmp_path / "model/images.txt").read_text().splitlines()[1].split()
    assert float(row[1]) == pytest.approx(abs(np.cos(3.5 / 2)))


@both_forms
def test_no_points(tmp_path: Path, wall: Wall, text: bool) -> None:
    write_colmap(tmp_path / "model", [without_points(view) for view in wall.views], text=text)
    model = read(tmp_path / "model")
    assert (len(model.images), len(model.points3D)) == (2, 0)


def test_the_text_says_the_unit(tmp_path: Path, wall: Wall) -> None:
    write_colmap(tmp_path / "model", wall.views, text=True)
    assert (tmp_path / "model/points3D.txt").read_text().splitlines()[0].endswith("unit: metre")


@pytest.mark.case(70)
@pytest.mark.parametrize(
    ("name", "text"), [("with space.jpg", False), ("a\nb.png", False), ("мир 📷.png", False), ("мир📷.png", True), ("100%.png", True)]
)
def test_names_in_any_script(tmp_path: Path, wall: Wall, text: bool, name: str) -> None:
    write_colmap(tmp_path / "model", [replace(wall.views[0], name=name)], text=text)
    assert read(tmp_path / "model").images[1].name == name


@pytest.mark.case(70)
def test_the_text_form_refuses_what_its_readers_would_cut_off(tmp_path: Path, wall: Wall) -> None:
    with pytest.raises(InputError, match="has a space"):
        write_colmap(tmp_path / "model", [replace(wall.views[0], name="with space.jpg")], text=True)
    assert not (tmp_path / "model").exists()
