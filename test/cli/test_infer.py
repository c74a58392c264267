"""`infer` with the native engine on tiny models: the files hold the engine's numbers, in the unit that they claim."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pycolmap
import pytest
from infer_verb import infer
from toy_model import any_view_model, metric_model

from depth_anything_ros import Engine, Intrinsics
from depth_anything_ros.cli import main

pytestmark = pytest.mark.native


def test_all_formats_hold_the_engines_depth(tmp_path: Path, picture: Path, photo: np.ndarray) -> None:
    model, out = any_view_model(tmp_path), tmp_path / "out"
    names = ["color", "npz", "pfm", "pose"]
    assert infer(picture, "--model", model, "-o", out, "--size", "network", "--formats", *names) == 0
    assert sorted(file.name for file in out.iterdir()) == ["photo.npz", "photo.pfm", "photo_depth.png", "photo_pose.json"]
    with Engine.load(model) as engine:
        expected = engine.infer(photo)
    maps = np.load(out / "photo.npz")
    assert str(maps["unit"]) == "relative_depth"
    np.testing.assert_array_equal(maps["depth"], expected.depth)
    np.testing.assert_array_equal(cv2.imread(str(out / "photo.pfm"), cv2.IMREAD_UNCHANGED), expected.depth)
    assert cv2.imread(str(out / "photo_depth.png")).shape == (*expected.depth.shape, 3)
    pose = json.loads((out / "photo_pose.json").read_text())
    assert pose["camera_from_world"] == expected.extrinsics.tolist()
    assert pose["intrinsics"]["fx"] == expected.intrinsics.fx


def test_the_pose_file_belongs_to_the_maps(tmp_path: Path, picture: Path, photo: np.ndarray) -> None:
    model, out = any_view_model(tmp_path), tmp_path / "out"
    assert infer(picture, "--model", model, "-o", out, "--formats", "pose", "npz") == 0
    pose = json.loads((out / "photo_pose.json").read_text())
    k, (height, width) = pose["intrinsics"], np.load(out / "photo.npz")["depth"].shape
    assert (k["width"], k["height"], pose["unit"]) == (width, height, "relative_depth") and (width, height) == (64, 48)
    with Engine.load(model) as engine:
        own = engine.infer(photo).intrinsics
    assert k["fx"] == pytest.approx(own.fx * width / own.width)
    # The network's principal point is the middle of the picture, which OpenCV counts from the centre of the first pixel.
    assert (k["cx"], k["cy"]) == (31.5, 23.5)


def test_results_never_replace_a_picture(tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("room.png", "room_depth.png"):
        (folder / name).write_bytes(picture.read_bytes())
    assert infer(folder, "--model", any_view_model(tmp_path), "-o", folder / ".." / "pictures") == 2
    assert "room_depth.png would replace" in capsys.readouterr().err
    assert (folder / "room_depth.png").read_bytes() == picture.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["room.png", "room_depth.png"]


def test_what_cannot_be_written_is_an_error_of_the_input(tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out" / "photo.npz").mkdir(parents=True)
    assert infer(picture, "--model", any_view_model(tmp_path), "-o", tmp_path / "out", "--formats", "npz") == 4
    assert "photo.npz cannot be written" in capsys.readouterr().err


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["with space", "שלום", "мир 📷", "it's", "100%"])
def test_names_in_any_script(tmp_path: Path, picture: Path, name: str) -> None:
    model = any_view_model(tmp_path).rename(tmp_path / f"{name}.gguf")
    own = picture.rename(tmp_path / f"{name}.png")
    assert infer(own, "--model", model, "-o", tmp_path / f"{name} out") == 0
    assert (tmp_path / f"{name} out" / f"{name}.npz").is_file()


def test_folder_and_equal_names(tmp_path: Path, picture: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "photo.png").write_bytes(picture.read_bytes())
    (folder / "notes.txt").write_text("no picture")
    assert infer(folder, picture, "--model", any_view_model(tmp_path), "-o", tmp_path / "out", "--formats", "npz") == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["photo.npz", "photo_2.npz"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing.png"], 4),
        (["{picture}", "--formats", "gif"], 2),
        (["{picture}", "--focal", "-1"], 2),
        (["{picture}", "--size", "huge"], 2),
        (["{picture}", "--threads", "-1"], 2),
    ],
)
def test_mistakes_are_named(tmp_path: Path, picture: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    filled = [argument.format(picture=picture) for argument in arguments]
    assert infer(*filled, "--model", any_view_model(tmp_path), "-o", tmp_path / "out") == code
    assert capsys.readouterr().err.count("\n") == 1


def test_the_device_is_chosen_and_told(tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = any_view_model(tmp_path)
    for device, said in {"cpu": "on cpu, kernels ", "ggml": "on ggml\n", "abacus,cpu": "on cpu, kernels "}.items():
        for verb in ("infer", "reconstruct"):
            assert main([verb, str(picture), "--model", str(model), "-o", str(tmp_path / "out"), "--device", device, "--threads", "1"]) == 0
            assert f"seeded-any-view {said}" in capsys.readouterr().out
    assert infer(picture, "--model", model, "-o", tmp_path / "out", "--device", "abacus") == 5
    assert "abacus" in capsys.readouterr().err


def test_damaged_picture_and_missing_model(tmp_path: Path, picture: Path) -> None:
    (tmp_path / "cut.png").write_bytes(picture.read_bytes()[:30])
    assert infer(tmp_path / "cut.png", "--model", any_view_model(tmp_path), "-o", tmp_path / "out") == 4
    assert infer(picture, "--model", tmp_path / "none.gguf", "-o", tmp_path / "out") == 3


def test_one_damaged_picture_does_not_cost_the_others_their_depth(
    tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("a.png", "b.png", "c.png"):
        (folder / name).write_bytes(picture.read_bytes()[: 60 if name == "b.png" else None])
    assert infer(folder, "--model", any_view_model(tmp_path), "-o", tmp_path / "out", "--formats", "pfm") == 4
    refused, summary = capsys.readouterr().err.splitlines()
    assert refused.startswith("refused: ") and "b.png" in refused and "1 of 3 files" in summary
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.pfm", "c.pfm"]


def test_focal_means_the_pictures_own_pixels(tmp_path: Path, picture: Path, photo: np.ndarray) -> None:
    model = metric_model(tmp_path)
    assert infer(picture, "--model", model, "-o", tmp_path / "out", "--focal", 80, "--size", "network", "--formats", "pfm") == 0
    with Engine.load(model) as engine:
        expected = engine.infer(photo, intrinsics=Intrinsics(64, 48, 80.0, 80.0, 31.5, 23.5), fill_sky=False)
    found = cv2.imread(str(tmp_path / "out" / "photo.pfm"), cv2.IMREAD_UNCHANGED)
    valid = np.isfinite(found)
    assert valid.any()
    np.testing.assert_array_equal(found[valid], expected.depth[valid])


def test_every_picture_of_a_video(tmp_path: Path, photo: np.ndarray) -> None:
    model, clip = any_view_model(tmp_path), tmp_path / "clip.avi"
    frames = [np.roll(photo, 8 * number, axis=1) for number in range(3)]
    writer = cv2.VideoWriter(str(clip), cv2.VideoWriter_fourcc(*"FFV1"), 10.0, (64, 48))
    for frame in frames:
        writer.write(frame[..., ::-1])
    writer.release()
    assert infer(clip, "--model", model, "-o", tmp_path / "out", "--size", "network", "--formats", "pfm", "--threads", "1") == 0
    names = [f"clip_{number:06d}.pfm" for number in range(3)]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names
    with Engine.load(model, threads=1) as engine:
        for name, frame in zip(names, frames, strict=True):
            found = cv2.imread(str(tmp_path / "out" / name), cv2.IMREAD_UNCHANGED)
            np.testing.assert_allclose(found, engine.infer(frame).depth, rtol=0.05)  # the codec's own colours are near
    assert infer(clip, "--model", model, "-o", tmp_path / "scene", "--formats", "colmap", "--threads", "1") == 0
    assert pycolmap.Reconstruction(str(tmp_path / "scene" / "clip_000002_colmap")).images[1].name == "clip_000002.png"
    clip.write_bytes(clip.read_bytes()[:200])
    assert infer(clip, "--model", model, "-o", tmp_path / "out") == 4


def test_a_video_that_was_cut_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    clip, noise = tmp_path / "clip.avi", np.random.default_rng(0)
    writer = cv2.VideoWriter(str(clip), cv2.VideoWriter_fourcc(*"MJPG"), 10.0, (64, 48))
    for _ in range(8):
        writer.write(noise.integers(0, 256, (48, 64, 3), dtype=np.uint8))
    writer.release()
    arguments = [clip, "--model", any_view_model(tmp_path), "-o", tmp_path / "out", "--formats", "pfm", "--threads", "1"]
    assert infer(*arguments) == 0
    assert "could be read" not in capfd.readouterr().err
    clip.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
    assert infer(*arguments) == 0
    assert "pictures could be read, of about 8" in capfd.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_many_pictures_show_a_bar_on_a_terminal_alone(
    tmp_path: Path, picture: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", any_view_model(tmp_path), "-o", tmp_path / "out", "--formats", "pfm", "--threads", "1"]
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        assert infer(picture, *arguments) == 0
        assert terminal.getvalue() == ""
        assert infer(picture, picture, picture, *arguments) == 0
        lines = terminal.getvalue().split("\r")
        (tmp_path / "cut.png").write_bytes(picture.read_bytes()[:60])
        assert infer(picture, tmp_path / "cut.png", *arguments) == 4
    assert "\ndepth-anything-ros infer: 1 of 2 files" in terminal.getvalue(), "below the bar, not behind it"
    assert lines[-1].startswith("[########################] 3/3 frames") and lines[-1].endswith("\n")
    assert capsys.readouterr().out.count(" -> ") == 5  # a line for each picture, which the bar leaves alone
    assert infer(picture, picture, *arguments) == 0
    assert capsys.readouterr().err == ""


def test_a_metric_network_gives_another_its_metres(
    tmp_path: Path, picture: Path, photo: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    model, metric, out = any_view_model(tmp_path), metric_model(tmp_path), tmp_path / "out"
    arguments = ["--model", model, "--metric-model", metric, "-o", out, "--size", "network", "--formats", "npz", "mm", "--threads", "1"]
    assert infer(picture, *arguments) == 0
    assert "metres" in capsys.readouterr().out
    with Engine.load(model, metric_model=metric, threads=1) as engine:
        expected = engine.infer(photo, fill_sky=False).depth
    found = np.load(out / "photo.npz")
    valid = np.isfinite(found["depth"])
    assert str(found["unit"]) == "metre" and valid.any()
    np.testing.assert_array_equal(found["depth"][valid], expected[valid])
