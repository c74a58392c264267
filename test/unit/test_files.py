"""Files of pictures and maps, against OpenCV's own reading of them."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import find_pictures, grabbed_picture, read_picture, write_file, write_pfm, write_png


def test_pfm_is_read_back_by_opencv(tmp_path: Path) -> None:
    values = np.array([[1.5, np.nan, np.inf], [-2.0, 0.0, 3e30]], np.float32)
    write_pfm(tmp_path / "a.pfm", values)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "a.pfm"), cv2.IMREAD_UNCHANGED), values)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_png_keeps_every_value(tmp_path: Path, kind: type) -> None:
    values = np.arange(300, dtype=kind).reshape(12, 25)
    write_png(tmp_path / "a.png", values)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_UNCHANGED), values)


def test_colours_keep_their_order(tmp_path: Path) -> None:
    red = np.zeros((4, 5, 3), np.uint8)
    red[..., 0] = 255
    write_png(tmp_path / "a.png", red)
    assert cv2.imread(str(tmp_path / "a.png"))[0, 0].tolist() == [0, 0, 255]
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), red)


@pytest.mark.case(16)
def test_kinds_of_png_and_jpeg_become_three_channels(tmp_path: Path) -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    cv2.imwrite(str(tmp_path / "grey.png"), grey)
    cv2.imwrite(str(tmp_path / "deep.png"), grey.astype(np.uint16) * 257)
    cv2.imwrite(str(tmp_path / "alpha.png"), np.dstack([grey, grey, grey, 255 - grey]))
    for name in ("grey", "deep", "alpha"):
        np.testing.assert_array_equal(read_picture(tmp_path / f"{name}.png"), np.dstack([grey] * 3))


def test_infrared_of_ten_bits_is_not_black_and_deep_colours_are_not_stretched(tmp_path: Path) -> None:
    ramp = np.arange(1024, dtype=np.uint16).reshape(32, 32)
    cv2.imwrite(str(tmp_path / "infrared.png"), ramp)
    cv2.imwrite(str(tmp_path / "dark.png"), np.dstack([ramp, ramp // 2, ramp // 4]))
    np.testing.assert_allclose(read_picture(tmp_path / "infrared.png")[..., 0], ramp * (255 / 1023), atol=0.5)
    np.testing.assert_allclose(read_picture(tmp_path / "dark.png")[..., ::-1][..., 0], ramp / 257, atol=0.5)


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_a_picture_that_was_cut_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    cv2.imwrite(str(path), np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=f"cut{suffix}.*is cut"):
        read_picture(path)


def test_pictures_beyond_what_opencv_reads_are_refused(tmp_path: Path) -> None:
    header = b"BM" + (54).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    header += (1 << 21).to_bytes(4, "little") + (1 << 21).to_bytes(4, "little") + b"\1\0\x18\0" + bytes(24)
    (tmp_path / "vast.bmp").write_bytes(header)
    with pytest.raises(InputError, match=r"vast\.bmp"):
        read_picture(tmp_path / "vast.bmp")
    cv2.imwrite(str(tmp_path / "floats.tiff"), np.ones((4, 4), np.float32))
    with pytest.raises(InputError, match="float32"):
        read_picture(tmp_path / "floats.tiff")


def test_a_picture_stands_upright(tmp_path: Path) -> None:
    grey = np.zeros((40, 60), np.uint8)
    grey[:, :20] = 255
    plain = cv2.imencode(".jpg", grey)[1].tobytes()
    orientation = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"  # 6: turn clockwise
    (tmp_path / "turned.jpg").write_bytes(plain[:2] + b"\xff\xe1" + (len(orientation) + 2).to_bytes(2, "big") + orientation + plain[2:])
    found = read_picture(tmp_path / "turned.jpg")
    assert found.shape == (60, 40, 3) and found[:15].mean() > 250 and found[25:].mean() < 5


def test_folders_with_brackets_hidden_files_and_repeated_ones(tmp_path: Path) -> None:
    folder = tmp_path / "room [2024]"
    (folder / "folder.png").mkdir(parents=True)
    for name in ("a.jpg", "._a.jpg", "b.png"):
        (folder / name).touch()
    names = ["a.jpg", "b.png"]
    assert [path.name for path in find_pictures([str(folder)])] == names
    assert [path.name for path in find_pictures([f"{folder}/*.jpg"])] == names[:1]
    (folder / "folder.png").rmdir()
    assert [path.name for path in find_pictures([f"{folder}/**"])] == names


def test_a_name_that_no_file_can_have_is_an_error_of_the_input() -> None:
    for name in ("x" * 300, "~nobody-of-that-name/a.png"):
        with pytest.raises(InputError, match=name[:20]):
            find_pictures([name])


def test_files_are_whole_or_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("n" * 250 + ".bin")
    write_file(path, b"first")
    (tmp_path / "link").symlink_to(path)

    def fill_the_disk(self: Path, data: bytes) -> None:
        with self.open("wb") as stream:
            stream.write(data[:1])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill_the_disk)
        with pytest.raises(InputError, match="No space left"):
            write_file(path, b"second")
    assert path.read_bytes() == b"first"
    write_file(tmp_path / "link", b"third")
    assert path.read_bytes() == b"third" and (tmp_path / "link").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2
    os.mkfifo(tmp_path / "pipe")
    for special in (tmp_path / "pipe", tmp_path):
        with pytest.raises(InputError, match="cannot be written"):
            write_file(special, b"")
    assert (tmp_path / "pipe").is_fifo()


def test_a_picture_of_a_video_that_cannot_be_decoded_is_named() -> None:
    class Damaged:
        def retrieve(self) -> tuple[bool, None]:
            return False, None

    with pytest.raises(InputError, match=r"Picture 7 of the video walk\.mp4"):
        grabbed_picture(Damaged(), Path("walk.mp4"), 7)


def test_find_takes_files_folders_patterns(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.PNG", "c.txt", "[1].png"):
        (tmp_path / name).touch()
    assert [path.name for path in find_pictures([str(tmp_path)])] == ["[1].png", "a.PNG", "b.jpg"]
    assert [path.name for path in find_pictures([str(tmp_path / "*.jpg"), str(tmp_path / "[1].png")])] == ["b.jpg", "[1].png"]


@pytest.mark.parametrize("name", ["absent.png", "", "."])
def test_nothing_found_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=str(tmp_path)):
        find_pictures([str(tmp_path / name)])


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("no picture")
    for name in ("empty.png", "text.png", "absent.png"):
        with pytest.raises(InputError, match=name):
            read_picture(tmp_path / name)
    with pytest.raises(InputError, match="absent"):
        write_png(tmp_path / "absent" / "a.png", np.zeros((2, 2), np.uint8))
