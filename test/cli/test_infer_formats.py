"""Formats of `infer`: which a model can have, millimetres, and exports of points and cameras, read back by other readers."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pycolmap
import pytest
import trimesh
from infer_verb import infer
from toy_model import any_view_model, metric_model, mono_model, v2_model

from depth_anything_ros import Engine, Intrinsics
from depth_anything_ros.cli import formats, main
from depth_anything_ros.cli.exports import EXPORTS
from depth_anything_ros.cli.results import WRITERS

pytestmark = pytest.mark.native


@pytest.mark.parametrize(
    ("make", "names", "code", "text"),
    [
        (any_view_model, ["mm"], 2, "--metric-model"),
        (metric_model, ["mm"], 2, "--focal"),
        (metric_model, ["pose"], 2, "no camera"),
        (mono_model, ["glb"], 4, "--focal"),
        (v2_model, ["ply"], 2, "inverse depth"),
    ],
)
def test_formats_that_a_model_cannot_have_are_refused_before_any_work(
    tmp_path: Path, make: object, names: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cut.png").write_bytes(b"not read")
    model = make(tmp_path)
    assert infer(tmp_path / "cut.png", "--model", model, "-o", tmp_path / "out", "--formats", "npz", *names) == code
    assert text in capsys.readouterr().err


def test_a_package_that_a_format_needs_is_missed_before_any_work(
    tmp_path: Path, picture: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    for verb in ("infer", "reconstruct"):
        assert main([verb, str(picture), "--model", "absent", "-o", str(tmp_path / "out"), "--formats", "glb", "ply"]) == 2
        assert "pip install plyfile" in capsys.readouterr().err


def test_every_format_has_a_writer() -> None:
    assert set(formats.PICTURE_FILES) == {*WRITERS, *EXPORTS}
    assert set(formats.SCENE_FILES) == {*EXPORTS, "cameras", "gaussians"}


@pytest.mark.case(27)
def test_millimetres_follow_the_focal_length(tmp_path: Path, picture: Path, photo: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    model = metric_model(tmp_path)
    assert infer(picture, "--model", model, "-o", tmp_path / "relative") == 0
    assert "without --focal its depth is relative" in capsys.readouterr().out
    for focal in (300.0, 600.0):
        out = tmp_path / f"{focal}"
        assert infer(picture, "--model", model, "-o", out, "--focal", focal, "--formats", "mm", "npz") == 0
        assert "without --focal" not in capsys.readouterr().out
        assert str(np.load(out / "photo.npz")["unit"]) == "metre"
    near, far = (cv2.imread(str(tmp_path / f"{focal}" / "photo_mm.png"), cv2.IMREAD_UNCHANGED) for focal in (300.0, 600.0))
    assert near.dtype == np.uint16 and near.shape == photo.shape[:2]
    valid = (near > 0) & (far > 0)
    assert valid.mean() > 0.2
    np.testing.assert_allclose(far[valid], 2.0 * near[valid], atol=2.0)


@pytest.mark.case(28)
@pytest.mark.parametrize("make", [any_view_model, mono_model, metric_model])
def test_relative_depth_never_becomes_millimetres(tmp_path: Path, picture: Path, make: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert infer(picture, "--model", make(tmp_path), "-o", tmp_path / "out", "--formats", "mm") == 2
    assert "mm needs metres" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_exports_of_one_picture(tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = any_view_model(tmp_path), tmp_path / "out"
    assert infer(picture, "--model", model, "-o", out, "--formats", "glb", "ply", "colmap", "colmap-text") == 0
    assert "relative_depth" in capsys.readouterr().out
    assert sorted(file.name for file in out.iterdir()) == ["photo.glb", "photo.ply", "photo_colmap", "photo_colmap_text"]
    with Engine.load(model) as engine:
        expected = engine.infer(cv2.imread(str(picture))[..., ::-1].copy())
    sure = np.count_nonzero(expected.confidence >= np.percentile(expected.confidence, 40))
    for folder in ("photo_colmap", "photo_colmap_text"):
        scene = pycolmap.Reconstruction(str(out / folder))
        assert (scene.images[1].name, scene.cameras[1].width, scene.cameras[1].height) == ("photo.png", 64, 48)
        assert len(scene.points3D) == sure > 0
    assert len(trimesh.load(out / "photo.ply").vertices) == sure
    assert (out / "photo.glb").read_bytes()[:4] == b"glTF"


def test_metric_exports_are_metres_of_the_given_focal_length(tmp_path: Path, picture: Path, photo: np.ndarray) -> None:
    model, out = metric_model(tmp_path), tmp_path / "out"
    assert infer(picture, "--model", model, "-o", out, "--focal", 80, "--formats", "ply") == 0
    with Engine.load(model) as engine:
        expected = engine.infer(photo, intrinsics=Intrinsics(64, 48, 80.0, 80.0, 31.5, 23.5), fill_sky=False)
    seen = (expected.sky < 0.3) & (expected.depth > 0.0)
    cloud = trimesh.load(out / "photo.ply")
    np.testing.assert_array_equal(np.asarray(cloud.vertices[:, 2], np.float32), expected.depth[seen])
    assert b"unit: metre" in (out / "photo.ply").read_bytes()[:300]


@pytest.mark.case(28)
@pytest.mark.parametrize("name", ["glb", "ply", "colmap", "colmap-text"])
def test_inverse_depth_is_not_exported(tmp_path: Path, picture: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert infer(picture, "--model", v2_model(tmp_path), "-o", tmp_path / "out", "--focal", 80, "--formats", name) == 2
    assert "inverse depth" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
