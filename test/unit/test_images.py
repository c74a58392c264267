"""Encodings and sizes of pictures. The oracle for colours is OpenCV, for layouts plain bytes put together here."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.images import ACCEPTED_ENCODINGS, view_pixels


def message_bytes(pixels: np.ndarray, padding: int = 0) -> tuple[bytes, int]:
    """Rows of a picture one after the other, each followed by `padding` bytes of 0xAA; and the step."""
    rows = pixels.reshape(pixels.shape[0], -1)
    padded = np.hstack([rows, np.full((rows.shape[0], padding), 0xAA, np.uint8)])
    return padded.tobytes(), padded.shape[1]


def view(data: bytes, step: int, shape: tuple[int, ...], encoding: str) -> tuple[np.ndarray, bool]:
    return view_pixels(data, width=shape[1], height=shape[0], step=step, encoding=encoding)


COLOURS = {
    "rgb8": None,
    "bgr8": cv2.COLOR_RGB2BGR,
    "8UC3": cv2.COLOR_RGB2BGR,
    "rgba8": cv2.COLOR_RGB2RGBA,
    "bgra8": cv2.COLOR_RGB2BGRA,
    "8UC4": cv2.COLOR_RGB2BGRA,
}


@pytest.mark.case(3)
@pytest.mark.case(8)
@pytest.mark.parametrize("padding", [0, 1, 7, 512])
@pytest.mark.parametrize("encoding", sorted(COLOURS))
def test_colour_encodings_give_the_picture_back(photo: np.ndarray, encoding: str, padding: int) -> None:
    code = COLOURS[encoding]
    sent = photo if code is None else cv2.cvtColor(photo, code)
    pixels, bgr = view(*message_bytes(sent, padding), photo.shape, encoding)
    assert pixels.shape == photo.shape and pixels.dtype == np.uint8
    np.testing.assert_array_equal(pixels[:, :, ::-1] if bgr else pixels, photo)


@pytest.mark.case(3)
@pytest.mark.case(8)
@pytest.mark.parametrize("encoding", ["mono8", "8UC1"])
def test_grey_becomes_three_equal_channels(encoding: str) -> None:
    grey = np.random.default_rng(1).integers(0, 256, (480, 637), np.uint8)
    pixels, _ = view(*message_bytes(grey, 3), grey.shape, encoding)
    assert pixels.shape == (480, 637, 3)
    for channel in range(3):
        np.testing.assert_array_equal(pixels[:, :, channel], grey)


@pytest.mark.case(3)
@pytest.mark.parametrize("encoding", ["rgb8", "bgr8"])
def test_padded_rows_are_viewed_without_a_copy(photo: np.ndarray, encoding: str) -> None:
    data, step = message_bytes(photo, 1)
    pixels, bgr = view(data, step, photo.shape, encoding)
    assert np.shares_memory(pixels, np.frombuffer(data, np.uint8))
    assert pixels.strides == (step, 3, 1)
    assert bgr == (encoding == "bgr8")


def test_step_need_not_be_a_multiple_of_the_pixel() -> None:
    picture = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(2, 5, 3)
    pixels, _ = view(*message_bytes(picture, 1), picture.shape, "rgb8")
    np.testing.assert_array_equal(pixels, picture)


def test_one_pixel() -> None:
    pixels, _ = view_pixels(bytes([1, 2, 3]), width=1, height=1, step=3, encoding="rgb8")
    np.testing.assert_array_equal(pixels, [[[1, 2, 3]]])


@pytest.mark.case(12)
@pytest.mark.parametrize("name", ["", "foo", "RGB8", "32FC3", "x" * 4096, "\ufffd\ufffd\x00\n\x1b[31m", "rgb8 "])
def test_unknown_encodings_are_named_and_the_accepted_ones_listed(name: str) -> None:
    with pytest.raises(InputError) as caught:
        view_pixels(bytes(12), width=2, height=2, step=6, encoding=name)
    text = str(caught.value)
    assert caught.value.code == "input.encoding"
    assert all(accepted in text for accepted in ACCEPTED_ENCODINGS)
    assert len(text) < 350 and text.isascii() and text.isprintable()
    assert name[:3].isprintable() is False or name[:3] in text


@pytest.mark.case(4)
@pytest.mark.parametrize(
    ("width", "height", "step", "size", "code"),
    [
        (64, 48, 192, 0, "input.shape"),
        (64, 48, 192, 64 * 48 * 3 - 1, "input.shape"),
        (64, 48, 192, 64 * 48 * 3 // 2, "input.shape"),
        (64, 48, 192, 64 * 48 * 3 + 10_000_000, "input.shape"),
        (65536, 65536, 65536 * 3, 100, "input.shape"),
        (4, 65536, 65536, 0, "input.shape"),
        (0, 48, 192, 48 * 192, "input.shape"),
        (64, 0, 192, 0, "input.shape"),
        (2**32 - 1, 1, 2**32 - 1, 10, "input.shape"),
        (64, 48, 191, 48 * 191, "input.stride"),
        (64, 48, 0, 0, "input.stride"),
    ],
)
def test_sizes_that_do_not_describe_the_data_are_refused(width: int, height: int, step: int, size: int, code: str) -> None:
    with pytest.raises(InputError) as caught:
        view_pixels(bytes(size), width=width, height=height, step=step, encoding="rgb8")
    assert caught.value.code == code
