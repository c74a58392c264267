"""The sample bag: the scene's documented calibration, carried exactly from picture to picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from skimage.data import stereo_motorcycle

from depth_anything_ros.cli import main
from depth_anything_ros.ros.bag_reader import BagReader


def read(bag: Path) -> dict[str, list[Any]]:
    """Messages per topic, by another reader than the product's."""
    found: dict[str, list[Any]] = {}
    with next(bag.glob("*.mcap")).open("rb") as file:
        for _, channel, _, message in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append(message)
    return found


def pixels(message: Any) -> np.ndarray:
    kind, channels = {"rgb8": (np.uint8, 3), "32FC1": (np.float32, 1)}[message.encoding]
    return np.frombuffer(message.data, kind).reshape(message.height, message.width, channels).squeeze()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("sample") / "bag"
    assert main(["sample", "--scene", "motorcycle", "-o", str(folder), "--frames", "4"]) == 0
    return read(folder)


def test_three_topics_with_one_stamp_per_frame(scene: dict[str, list[Any]]) -> None:
    assert set(scene) == {"/camera/image_rect", "/camera/camera_info", "/camera/truth/depth"}
    stamps = [[(m.header.stamp.sec, m.header.stamp.nanosec, m.header.frame_id) for m in messages] for messages in scene.values()]
    assert stamps[0] == stamps[1] == stamps[2]
    times = [sec + nanosec * 1e-9 for sec, nanosec, _ in stamps[0]]
    np.testing.assert_allclose(np.diff(times), 0.1, atol=1e-6)


def test_true_depth_is_that_of_the_documented_calibration(scene: dict[str, list[Any]]) -> None:
    # Range and median of the scene as the field notes give them, from the constants in scikit-image's documentation.
    depth = pixels(scene["/camera/truth/depth"][0])
    assert depth.shape == (480, 640)
    assert np.nanmin(depth) == pytest.approx(2.11, abs=0.02) and np.nanmax(depth) == pytest.approx(5.0, abs=0.05)
    _, _, disparity = stereo_motorcycle()
    assert np.isnan(depth).mean() == pytest.approx(1.0 - np.isfinite(disparity[10:490, :640]).mean())


def test_pictures_are_one_scene_through_shifted_pinholes(scene: dict[str, list[Any]]) -> None:
    """A point of the scene has the same place and colour in every frame, when each is seen through its own camera_info."""
    left, _, disparity = stereo_motorcycle()
    rows, columns = np.nonzero(np.isfinite(disparity))
    for image, info, truth in zip(scene["/camera/image_rect"], scene["/camera/camera_info"], scene["/camera/truth/depth"]):
        k, p = np.reshape(info.k, (3, 3)), np.reshape(info.p, (3, 4))
        np.testing.assert_array_equal(p[:, :3], k)
        assert (info.width, info.height) == (image.width, image.height) == (640, 480)
        z = 994.978 * 0.193001 / (disparity[rows, columns] + 31.086)
        world = np.stack([(columns - 311.193) / 994.978 * z, (rows - 254.877) / 994.978 * z, z])
        u, v, w = k @ world
        u, v = np.rint(u / w).astype(int), np.rint(v / w).astype(int)
        inside = (u >= 0) & (u < 640) & (v >= 0) & (v < 480)
        assert inside.sum() > 200_000
        np.testing.assert_array_equal(pixels(image)[v[inside], u[inside]], left[rows[inside], columns[inside]])
        np.testing.assert_allclose(pixels(truth)[v[inside], u[inside]], z[inside], rtol=1e-5)


def test_the_drive_has_true_depth_and_poses(tmp_path: Path) -> None:
    assert main(["sample", "-o", str(tmp_path / "bag"), "--frames", "3"]) == 0
    found = read(tmp_path / "bag")
    assert {topic: len(messages) for topic, messages in found.items()} == {
        "/camera/image_rect": 3,
        "/camera/camera_info": 3,
        "/camera/truth/depth": 3,
        "/tf": 3,
    }
    truth = pixels(found["/camera/truth/depth"][0])
    assert truth.shape == (168, 224) and np.isinf(truth).any() and 0.5 < truth.min() < 3.0


def test_pan_reaches_both_edges(scene: dict[str, list[Any]]) -> None:
    centres = [info.k[2] for info in scene["/camera/camera_info"]]
    assert centres == sorted(centres, reverse=True)
    assert (centres[0], centres[-1]) == pytest.approx((311.193, 311.193 - 101))


def test_own_pictures_are_upright_and_have_the_assumed_view(tmp_path: Path) -> None:
    picture = np.zeros((60, 200, 3), np.uint8)
    picture[:, 100:] = (0, 0, 255)  # BGR: the right half is red
    cv2.imwrite(str(tmp_path / "a.png"), picture)
    big = np.zeros((2000, 3000, 3), np.uint8)
    cv2.imwrite(str(tmp_path / "b.png"), big)
    assert main(["sample", "-o", str(tmp_path / "bag"), "--images", str(tmp_path / "*.png"), "--fov", "90", "--rate", "2"]) == 0
    found = read(tmp_path / "bag")
    first, second = found["/camera/image_rect"]
    assert (first.width, first.height) == (200, 60)
    np.testing.assert_array_equal(pixels(first), picture[..., ::-1])
    assert (second.width, second.height) == (1280, 853)
    infos = found["/camera/camera_info"]
    # tan(45 degrees) = 1: half the width.
    assert [info.k[0] for info in infos] == pytest.approx([100.0, 640.0])
    assert (infos[0].k[2], infos[0].k[5]) == (99.5, 29.5)
    with BagReader(tmp_path / "bag") as bag:
        assert set(bag.topics) == {"/camera/image_rect", "/camera/camera_info"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--frames", "0"], 2),
        (["--rate", "0"], 2),
        (["--rate", "inf"], 2),
        (["--rate", "1e-12"], 2),
        (["--fov", "180"], 2),
        (["--storage", "csv"], 2),
        (["--images", "none*.png"], 4),
    ],
)
def test_mistakes_are_named(tmp_path: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "-o", str(tmp_path / "bag"), *arguments]) == code
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "bag").exists()


def test_a_damaged_picture_leaves_no_bag_that_looks_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "abc":
        cv2.imwrite(str(tmp_path / f"{name}.png"), np.zeros((60, 80, 3), np.uint8))
    (tmp_path / "b.png").write_bytes(b"damaged")
    assert main(["sample", "-o", str(tmp_path / "bag"), "--images", str(tmp_path)]) == 4
    assert "b.png" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.png", "b.png", "c.png"]


@pytest.mark.parametrize("verb", ["sample", "demo"])
def test_a_scene_and_own_pictures_are_two_wishes(tmp_path: Path, verb: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "-o", str(tmp_path / "bag"), "--scene", "motorcycle", "--images", str(tmp_path)])
    assert ended.value.code == 2
