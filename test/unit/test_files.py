"""Files of pictures and maps, against OpenCV's own reading of them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import find_pictures, read_picture, write_pfm, write_png


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
