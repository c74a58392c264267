"""Videos and folders of pictures as recordings, with the camera by numbers or by file."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from replay_tools import decoded, depth_values, pixels, read, run, stamps
from toy_model import metric_model

from depth_anything_ros.cli import main
from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.replay.calibration_file import read_calibration
from depth_anything_ros.ros.camera_bag import START_NS

INFO = "sensor_msgs/msg/CameraInfo"
CAMERA = """\
image_width: 32
image_height: 24
camera_name: narrow_stereo
camera_matrix:
  rows: 3
  cols: 3
  data: [30.5, 0.0, 15.5, 0.0, 31.0, 11.5, 0.0, 0.0, 1.0]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: {d}
rectification_matrix:
  rows: 3
  cols: 3
  data: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
projection_matrix:
  rows: 3
  cols: 4
  data: [29.0, 0.0, 15.0, 0.0, 0.0, 29.5, 11.0, 0.0, 0.0, 0.0, 1.0, 0.0]
"""


def folder(path: Path, count: int = 5) -> Path:
    path.mkdir()
    for index in range(count):
        cv2.imwrite(str(path / f"frame_{index:03d}.png"), pixels(index)[:, :, ::-1])
    return path


def video(path: Path, count: int = 40, rate: float = 12.5) -> Path:
    """Without loss, each picture another one."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"FFV1"), rate, (32, 24))
    assert writer.isOpened()
    for index in range(count):
        writer.write(np.ascontiguousarray(pixels(index)[:, :, ::-1]))
    writer.release()
    return path


def seen(path: Path, index: int) -> np.ndarray:
    """What OpenCV decodes of picture `index`, in another way than the code under test."""
    capture = cv2.VideoCapture(str(path))
    for _ in range(index + 1):
        done, bgr = capture.read()
    assert done
    capture.release()
    return bgr[:, :, ::-1]


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    summary = run(folder(tmp_path / "in"), tmp_path / "out", source={"k": (300.0, 300.0, 15.5, 11.5)}, segment=2)
    found = read(tmp_path / "out")
    assert summary.processed == 5
    assert stamps(found["/camera/depth/image_rect"]) == [START_NS + index * 100_000_000 for index in range(5)]
    for index, picture in enumerate(decoded(found["/camera/image_rect"])):
        np.testing.assert_array_equal(picture.data.reshape(24, 32, 3), pixels(index))
    (first, *_) = decoded(found["/camera/camera_info"], INFO)
    assert (first.width, first.height, first.k[0], first.k[2]) == (32, 24, 300.0, 15.5)
    depth = depth_values(decoded(found["/camera/depth/image_rect"])[3])
    solid = np.isfinite(depth)
    np.testing.assert_array_equal(depth[solid], (1.0 + pixels(3)[:, :, 0].astype(np.float32) / 255.0)[solid])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_video_in_segments(tmp_path: Path, jobs: int) -> None:
    clip = video(tmp_path / "clip.avi")
    summary = run(clip, tmp_path / "out", source={"k": (300.0, 300.0, 15.5, 11.5)}, segment=7, jobs=jobs)
    assert summary.processed == 40
    found = read(tmp_path / "out")
    assert stamps(found["/camera/depth/image_rect"]) == [START_NS + round(index * 1e9 / 12.5) for index in range(40)]
    for index in (0, 6, 7, 20, 39):
        picture = decoded(found["/camera/image_rect"][index : index + 1])[0]
        np.testing.assert_array_equal(picture.data.reshape(24, 32, 3), seen(clip, index))


def test_rate_range_and_every_of_a_video(tmp_path: Path) -> None:
    clip = video(tmp_path / "clip.avi", 20)
    run(clip, tmp_path / "out", source={"rate": 10.0, "k": (300.0, 300.0, 15.5, 11.5)}, start=0.5, stop=1.5, every=2, keep=("none",))
    found = read(tmp_path / "out")
    assert stamps(found["/camera/depth/image_rect"]) == [START_NS + index * 100_000_000 for index in range(5, 15, 2)]


def test_without_a_camera_depth_is_relative(tmp_path: Path) -> None:
    run(folder(tmp_path / "in"), tmp_path / "out")
    found = read(tmp_path / "out")
    assert "/camera/camera_info" not in found and "/camera/depth/image_rect" not in found
    assert len(found["/camera/relative/image"]) == 5


@pytest.mark.parametrize("content", [b"", b"rubbish", None])
def test_a_damaged_picture_does_not_cost_the_others_their_depth(tmp_path: Path, content: bytes | None) -> None:
    """The first one too, whose size --k is for."""
    pictures = folder(tmp_path / "in")
    for name in ("frame_000.png", "frame_002.png"):
        file = pictures / name
        file.write_bytes(file.read_bytes()[:-40] if content is None else content)
    summary = run(pictures, tmp_path / "out", source={"k": (300.0, 300.0, 15.5, 11.5)}, segment=2)
    assert (summary.pictures, summary.processed, summary.refused) == (5, 3, 2)
    assert "frame_000.png" in summary.refusals[0] and "frame_002.png" in summary.refusals[1]
    found = read(tmp_path / "out")
    good = [START_NS + index * 100_000_000 for index in (1, 3, 4)]
    assert stamps(found["/camera/image_rect"]) == stamps(found["/camera/depth/image_rect"]) == good
    for file in pictures.iterdir():
        file.write_bytes(b"")
    for number, source in enumerate(({}, {"k": (300.0, 300.0, 15.5, 11.5)})):
        with pytest.raises(InputError, match=r"holds no pictures|No picture of .*in can be read"):
            run(pictures, tmp_path / f"none{number}", source=source)


@pytest.mark.native
def test_the_command_says_what_metres_want(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = folder(tmp_path / "in", 2)
    for out, camera in (("relative", []), ("metres", ["--k", "300", "300", "15.5", "11.5"])):
        assert main(["replay", str(pictures), "-o", str(tmp_path / out), "--model", str(metric_model(tmp_path)), *camera]) == 0
        assert ("for want of a focal length" in capsys.readouterr().err) == (out == "relative")


def test_a_calibration_file_without_distortion(tmp_path: Path) -> None:
    (tmp_path / "camera.yaml").write_text(CAMERA.format(d="[0.0, 0.0, 0.0, 0.0, 0.0]"))
    run(folder(tmp_path / "in"), tmp_path / "out", source={"calibration": tmp_path / "camera.yaml"})
    info = decoded(read(tmp_path / "out")["/camera/camera_info"], INFO)[0]
    # The topic says that the picture is rectified, so P holds.
    assert list(info.k) == [30.5, 0.0, 15.5, 0.0, 31.0, 11.5, 0.0, 0.0, 1.0]
    depth_info = decoded(read(tmp_path / "out")["/camera/depth/camera_info"], INFO)[0]
    assert list(depth_info.k) == [29.0, 0.0, 15.0, 0.0, 29.5, 11.0, 0.0, 0.0, 1.0]


def test_another_calibration_in_the_same_file_is_another_camera(tmp_path: Path) -> None:
    """What was done with the one before does not pass for what this one gives."""
    camera = tmp_path / "camera.yaml"
    camera.write_text(CAMERA.format(d="[0.0, 0.0, 0.0, 0.0, 0.0]"))
    run(folder(tmp_path / "in"), tmp_path / "out", source={"calibration": camera})
    run(tmp_path / "in", tmp_path / "out", source={"calibration": camera})
    camera.write_text(camera.read_text().replace("29.5", "31.5"))
    with pytest.raises(OptionError, match=r"made with calibration .*camera\.yaml"):
        run(tmp_path / "in", tmp_path / "out", source={"calibration": camera})


def test_a_calibration_file_with_distortion(tmp_path: Path) -> None:
    (tmp_path / "camera.yaml").write_text(CAMERA.format(d="[-0.1, 0.01, 0.0, 0.0, 0.0]"))
    assert read_calibration(tmp_path / "camera.yaml") == Calibration(
        width=32,
        height=24,
        k=(30.5, 0.0, 15.5, 0.0, 31.0, 11.5, 0.0, 0.0, 1.0),
        p=(29.0, 0.0, 15.0, 0.0, 0.0, 29.5, 11.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        d=(-0.1, 0.01, 0.0, 0.0, 0.0),
        distortion_model="plumb_bob",
    )
    run(folder(tmp_path / "in"), tmp_path / "out", source={"calibration": tmp_path / "camera.yaml"})
    found = read(tmp_path / "out")
    assert len(found["/camera/image_raw"]) == 5 and "/camera/image_rect" not in found
    assert list(decoded(found["/camera/camera_info"], INFO)[0].d) == [-0.1, 0.01, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("camera_matrix", "matrix"), "camera_matrix"),
        (("image_width: 32", "image_width: wide"), "image_width"),
        (("[30.5, ", "["), "camera_matrix holds 8 numbers"),
        (("image_width: 32", "["), "cannot be read"),
    ],
)
def test_broken_calibration_files(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    (tmp_path / "camera.yaml").write_text(CAMERA.format(d="[0.0]").replace(*change))
    with pytest.raises(InputError, match=message):
        run(folder(tmp_path / "in"), tmp_path / "out", source={"calibration": tmp_path / "camera.yaml"})


def test_flags_that_do_not_fit(tmp_path: Path) -> None:
    pictures = folder(tmp_path / "in")
    with pytest.raises(OptionError, match="--k"):
        run(pictures, tmp_path / "out", source={"k": (0.0, 300.0, 15.5, 11.5)})
    with pytest.raises(OptionError, match="not both"):
        run(pictures, tmp_path / "out", source={"k": (1.0, 1.0, 0.0, 0.0), "calibration": tmp_path / "camera.yaml"})
    for rate in (-1.0, 0.0, float("nan"), 1e-9, 1e12):
        with pytest.raises(OptionError, match=r"Rate .*--rate"):
            run(pictures, tmp_path / "out", source={"rate": rate})
    run(pictures, tmp_path / "bag")
    with pytest.raises(OptionError, match=r"--k is for videos.*focal"):
        run(tmp_path / "bag", tmp_path / "out", source={"k": (1.0, 1.0, 0.0, 0.0)})


def test_a_file_that_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"nothing that moves" * 100)
    with pytest.raises(InputError, match=r"clip\.mp4 cannot be opened"):
        run(tmp_path / "clip.mp4", tmp_path / "out")


def test_the_result_is_an_ordinary_bag(tmp_path: Path) -> None:
    """It can be replayed itself, from its pictures."""
    run(folder(tmp_path / "in"), tmp_path / "out", source={"k": (300.0, 300.0, 15.5, 11.5)})
    run(tmp_path / "out", tmp_path / "again")
    assert read(tmp_path / "again")["/camera/depth/image_rect"] == read(tmp_path / "out")["/camera/depth/image_rect"]
