"""`reconstruct` with the native engine on tiny models: files of one world, in the unit that they claim."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pycolmap
import pytest
import trimesh
from toy_model import any_view_model, complete_model, metric_model, mono_model, v2_model

from depth_anything_ros import Engine, Prediction
from depth_anything_ros.cli import main
from depth_anything_ros.scenes import read_video

pytestmark = pytest.mark.native
ALL = ["cameras", "glb", "ply", "colmap", "colmap-text", "gaussians"]


def reconstruct(*arguments: object) -> int:
    return main(["reconstruct", *map(str, arguments), "--resolution", "56", "--threads", "1"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return complete_model(tmp_path_factory.mktemp("complete"), 7)


@pytest.fixture
def pictures(tmp_path: Path, photo: np.ndarray) -> Path:
    """A folder of three shifted pictures of 56 x 42."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(3):
        cv2.imwrite(str(folder / f"{number}.png"), np.roll(photo, -4 * number, axis=1)[:42, :56, ::-1])
    return folder


def test_every_format_is_of_the_same_world(tmp_path: Path, model: Path, pictures: Path) -> None:
    out = tmp_path / "out"
    assert reconstruct(pictures, "--model", model, "-o", out, "--formats", *ALL) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "cameras.json",
        "colmap",
        "colmap_text",
        "gaussians.ply",
        "scene.glb",
        "scene.ply",
    ]
    found = json.loads((out / "cameras.json").read_text())
    images = [cv2.imread(str(pictures / f"{number}.png"))[..., ::-1] for number in range(3)]
    with Engine.load(model, threads=1, resolution=56) as engine:
        expected = engine.infer_views([np.ascontiguousarray(image) for image in images])
    assert found["unit"] == "relative_depth" and [camera["picture"] for camera in found["cameras"]] == ["0.png", "1.png", "2.png"]
    scene = pycolmap.Reconstruction(str(out / "colmap"))
    for number, (camera, prediction) in enumerate(zip(found["cameras"], expected), start=1):
        np.testing.assert_array_equal(np.asarray(camera["camera_from_world"], np.float32), prediction.extrinsics)
        assert camera["intrinsics"]["fx"] == pytest.approx(prediction.intrinsics.fx)  # the pictures have the network's size here
        assert camera["intrinsics"]["cx"] == pytest.approx(prediction.intrinsics.cx - 0.5)
        np.testing.assert_allclose(scene.images[number].cam_from_world().matrix(), prediction.extrinsics, atol=1e-4)
    points = trimesh.load(out / "scene.ply")
    assert len(points.vertices) == len(scene.points3D) > 1000
    assert len(trimesh.load(out / "gaussians.ply").vertices) > 1000


def test_metres_by_a_metric_model(tmp_path: Path, model: Path, pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = metric_model(tmp_path, 7)
    for name, options in {"relative": [], "metric": ["--metric-model", metric]}.items():
        assert reconstruct(pictures, "--model", model, *options, "-o", tmp_path / name, "--formats", "cameras", "gaussians") == 0
    assert capsys.readouterr().out.rstrip().endswith("unit: metre")
    relative, metric_scene = (json.loads((tmp_path / name / "cameras.json").read_text()) for name in ("relative", "metric"))
    assert (relative["unit"], metric_scene["unit"]) == ("relative_depth", "metre")
    before, after = (np.array([c["camera_from_world"] for c in scene["cameras"]])[:, :, 3] for scene in (relative, metric_scene))
    factor = after[0, 0] / before[0, 0]
    np.testing.assert_allclose(after, factor * before, rtol=1e-4, atol=1e-7)
    assert b"comment unit: metre\n" in (tmp_path / "metric" / "gaussians.ply").read_bytes()[:300]


def test_cameras_that_are_given_come_back_in_metres(tmp_path: Path, model: Path, pictures: Path) -> None:
    known = {"unit": "metre", "cameras": []}
    for number, centre in enumerate([(0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.4, 0.3, 0.1)]):
        pose = np.column_stack([np.eye(3), -np.array(centre)])
        k = {"width": 56, "height": 42, "fx": 50.0, "fy": 51.0, "cx": 27.0, "cy": 20.0}
        known["cameras"].append({"picture": f"{number}.png", "intrinsics": k, "camera_from_world": pose.tolist()})
    (tmp_path / "known.json").write_text(json.dumps(known))
    out = tmp_path / "out"
    assert reconstruct(pictures, "--model", model, "-o", out, "--cameras", tmp_path / "known.json", "--formats", *ALL) == 0
    found = json.loads((out / "cameras.json").read_text())
    assert found["unit"] == "metre"
    for given, came in zip(known["cameras"], found["cameras"], strict=True):
        np.testing.assert_allclose(came["camera_from_world"], given["camera_from_world"], atol=1e-6)
        assert came["intrinsics"] == pytest.approx(given["intrinsics"], abs=1e-4)
    assert b"comment unit: relative_depth\n" in (out / "gaussians.ply").read_bytes()[:300]  # in a world of their own


def test_poses_by_rays_are_others(tmp_path: Path, model: Path, pictures: Path) -> None:
    poses = []
    for name, options in {"decoder": [], "rays": ["--ray-pose"], "again": ["--ray-pose"]}.items():
        assert reconstruct(pictures, "--model", model, "-o", tmp_path / name, *options) == 0
        poses.append((tmp_path / name / "cameras.json").read_text())
    assert poses[0] != poses[1] == poses[2]


def test_a_video(tmp_path: Path, model: Path, photo: np.ndarray) -> None:
    path = tmp_path / "walk.avi"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10.0, (56, 42))
    for number in range(21):
        video.write(np.full((42, 56, 3), 10 * number, np.uint8))
    video.release()
    pictures = read_video(path, 3)
    assert list(pictures) == ["frame_000000.png", "frame_000010.png", "frame_000020.png"]
    np.testing.assert_allclose([picture.mean() for picture in pictures.values()], [0.0, 100.0, 200.0], atol=3.0)
    assert len(read_video(path, 100)) == 21
    assert reconstruct(path, "--frames", 2, "--model", model, "-o", tmp_path / "out") == 0
    assert len(json.loads((tmp_path / "out" / "cameras.json").read_text())["cameras"]) == 2
    assert not (tmp_path / "out" / "images").exists()
    assert reconstruct(path, "--frames", 2, "--model", model, "-o", tmp_path / "out", "--formats", "colmap") == 0
    scene = pycolmap.Reconstruction(str(tmp_path / "out" / "colmap"))
    assert len(scene.images) == 2
    for image in scene.images.values():  # trainers look for the pictures by these names
        assert cv2.imread(str(tmp_path / "out" / "images" / image.name)).shape == (42, 56, 3)


def test_models_without_poses_or_gaussians_are_named(tmp_path: Path, pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for write in (mono_model, v2_model):
        assert reconstruct(pictures, "--model", write(tmp_path), "-o", tmp_path / "out") == 2
        assert "any-view model" in capsys.readouterr().err
    plain = any_view_model(tmp_path)
    assert reconstruct(pictures, "--model", plain, "-o", tmp_path / "out", "--formats", "gaussians") == 2
    assert "DA3-GIANT" in capsys.readouterr().err
    assert reconstruct(pictures, "--model", plain, "-o", tmp_path / "out", "--ray-pose") == 3
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["nothing.png"], 4, "nothing.png"),
        (["walk.mp4"], 4, "No picture found"),
        (["{text}", "{pictures}"], 4, "scene of its own"),
        (["{pictures}", "{pictures}"], 4, "Two pictures"),
        (["{pictures}", "--formats", "obj"], 2, "obj is unknown"),
        (["{pictures}", "--frames", "0"], 2, "--frames"),
        (["{pictures}", "--seed", "-1"], 2, "seed is -1"),
        (["{pictures}", "{tall}"], 4, "one shape"),
        (["{pictures}", "--cameras", "{broken}"], 4, "no file of cameras"),
        (["{pictures}", "--cameras", "{tall}"], 4, "no file of cameras"),
        (["{pictures}", "--cameras", "{relative}"], 4, "must be in metres"),
        (["{pictures}", "--cameras", "{empty}"], 4, "no camera for 0.png"),
        (["{pictures}", "--cameras", "{endless}"], 4, "no file of cameras"),
        (["{spaced}", "--formats", "glb", "colmap-text"], 4, "has a space"),
        (["{text}"], 4, "no video"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, model: Path, pictures: Path, arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {
        name: tmp_path / file
        for name, file in {"broken": "b.json", "relative": "r.json", "empty": "e.json", "endless": "i.json", "spaced": "a b.png"}.items()
    }
    paths |= {"pictures": pictures, "tall": tmp_path / "tall.png", "text": tmp_path / "text.mp4"}
    cv2.imwrite(str(paths["tall"]), np.zeros((56, 42, 3), np.uint8))
    paths["broken"].write_text('{"unit": "metre", "cameras": [{"picture": "0.png"}]}')
    paths["relative"].write_text('{"unit": "relative_depth", "cameras": []}')
    paths["endless"].write_text('{"unit": "metre", "cameras": [{"picture": "0.png", "intrinsics": {"width": Infinity, "height": 1}}]}')
    cv2.imwrite(str(paths["spaced"]), np.zeros((42, 56, 3), np.uint8))
    paths["empty"].write_text('{"unit": "metre", "cameras": []}')
    paths["text"].write_text("no video at all")
    filled = [argument.format(**paths) for argument in arguments]
    assert reconstruct(*filled, "--model", model, "-o", tmp_path / "out") == code
    captured = capsys.readouterr()
    error = captured.err
    assert "pictures ..." not in captured.out or "seed" in text, "known before the network runs"
    last = error.splitlines()[-1]
    assert text in error and last.startswith("depth-anything-ros reconstruct: ") and len(last) < 500


def test_cameras_that_were_given_are_not_replaced(tmp_path: Path, model: Path, pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cameras = tmp_path / "out" / "cameras.json"
    cameras.parent.mkdir()
    cameras.write_text("of this scene and of others")
    assert reconstruct(pictures, "--model", model, "-o", tmp_path / "out", "--cameras", cameras) == 2
    assert "cameras.json would replace a file that was given" in capsys.readouterr().err
    assert cameras.read_text() == "of this scene and of others"


def test_a_folder_that_cannot_be_made_is_known_before_the_network_runs(
    tmp_path: Path, model: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("a file")
    assert reconstruct(pictures, "--model", model, "-o", tmp_path / "out") == 4
    captured = capsys.readouterr()
    assert "cannot be made" in captured.err and "pictures ..." not in captured.out


def test_a_picture_whose_rays_fit_no_camera_is_named(
    tmp_path: Path, model: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Engine.infer_views

    def lose_the_second(self: Engine, *arguments: object, **options: object) -> list[Prediction]:
        first, second, third = real(self, *arguments, **options)
        return [first, replace(second, intrinsics=None, extrinsics=None), third]

    monkeypatch.setattr(Engine, "infer_views", lose_the_second)
    assert reconstruct(pictures, "--model", model, "-o", tmp_path / "out", "--ray-pose") == 4
    assert "rays of 1.png fit no camera" in capsys.readouterr().err
    assert not list((tmp_path / "out").iterdir())


def test_the_help_shows_examples_and_formats(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["reconstruct", "--help"])
    text = capsys.readouterr().out
    assert "depth-anything-ros reconstruct room/*.jpg" in text and all(name in text for name in ALL)
