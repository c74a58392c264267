"""Encodings beyond plain colours: 16 bits, Bayer, YUV. The pictures are put together here, by the definitions of the formats."""

from __future__ import annotations

import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.images import view_pixels


def rgb_of(data: np.ndarray, width: int, height: int, encoding: str, **more: object) -> np.ndarray:
    """Pixels in the order RGB; `data` is [rows, bytes per row]."""
    pixels, bgr = view_pixels(data.tobytes(), width=width, height=height, step=data.shape[1], encoding=encoding, **more)  # type: ignore[arg-type]
    return pixels[:, :, ::-1] if bgr else pixels


def colour_bars(width: int, height: int) -> np.ndarray:
    """uint8 RGB: the eight bars of a test picture at 75 %, each of an even number of columns."""
    colours = np.array([[r, g, b] for g in (191, 0) for r in (191, 0) for b in (191, 0)], np.uint8)
    return np.broadcast_to(colours[np.minimum(np.arange(width) // (width // 16 * 2), 7)], (height, width, 3))


def yuv_of(rgb: np.ndarray) -> np.ndarray:
    """uint8 Y, U, V of BT.601, limited range (ITU-R BT.601-7, 2.5)."""
    r, g, b = np.moveaxis(rgb.astype(np.float64) / 255.0, 2, 0)
    luma = 0.299 * r + 0.587 * g + 0.114 * b
    return np.rint(np.stack([16 + 219 * luma, 128 + 224 * (b - luma) / 1.772, 128 + 224 * (r - luma) / 1.402], axis=2)).astype(np.uint8)


def packed_422(rgb: np.ndarray, order: str) -> np.ndarray:
    """order: of the bytes of two pixels, such as ``YUYV``."""
    yuv = yuv_of(rgb)
    height, width = yuv.shape[:2]
    out = np.empty((height, width // 2, 4), np.uint8)
    firsts = iter((0, 1))
    for position, name in enumerate(order):
        out[:, :, position] = yuv[:, next(firsts) :: 2, 0] if name == "Y" else yuv[:, ::2, " UV".index(name)]
    return out.reshape(height, -1)


def planar_420(rgb: np.ndarray, order: str) -> np.ndarray:
    """Rows of Y, then half as many of U and V in turn."""
    yuv = yuv_of(rgb)
    colours = yuv[::2, ::2][:, :, [" UV".index(name) for name in order]]
    return np.vstack([yuv[:, :, 0], colours.reshape(yuv.shape[0] // 2, -1)])


@pytest.mark.case(1)
@pytest.mark.parametrize("width", [640, 642])
@pytest.mark.parametrize(("encoding", "order"), [("yuv422_yuy2", "YUYV"), ("yuyv", "YUYV"), ("yuv422", "UYVY"), ("uyvy", "UYVY")])
def test_colours_of_webcams(width: int, encoding: str, order: str) -> None:
    bars = colour_bars(width, 480)
    assert len(np.unique(bars.reshape(-1, 3), axis=0)) == 8
    seen = rgb_of(packed_422(bars, order), width, 480, encoding)
    assert np.abs(seen.astype(int) - bars).max() <= 3


@pytest.mark.case(1)
@pytest.mark.parametrize(("encoding", "order"), [("nv12", "UV"), ("nv21", "VU")])
@pytest.mark.parametrize("padding", [0, 24])
def test_colours_of_phones_and_accelerators(encoding: str, order: str, padding: int) -> None:
    bars = colour_bars(640, 480)
    rows = np.pad(planar_420(bars, order), ((0, 0), (0, padding)), constant_values=0xAA)
    assert np.abs(rgb_of(rows, 640, 480, encoding).astype(int) - bars).max() <= 3


@pytest.mark.case(1)
@pytest.mark.parametrize(
    ("encoding", "width", "height", "rows", "row"),
    [("yuv422_yuy2", 641, 480, 480, 1282), ("uyvy", 1, 1, 1, 2), ("nv12", 641, 480, 720, 641), ("nv21", 640, 481, 721, 640)],
)
def test_shared_colours_need_even_sides(encoding: str, width: int, height: int, rows: int, row: int) -> None:
    with pytest.raises(InputError, match=f"{width}x{height}.*{encoding}.*even") as caught:
        rgb_of(np.zeros((rows, row), np.uint8), width, height, encoding)
    assert caught.value.code == "input.shape"


@pytest.mark.case(4)
def test_a_plane_of_colours_that_is_missing() -> None:
    with pytest.raises(InputError, match="307200 bytes, but 720 rows"):
        rgb_of(np.zeros((480, 640), np.uint8), 640, 480, "nv12")


@pytest.mark.case(6)
@pytest.mark.parametrize("encoding", ["mono16", "16UC1"])
@pytest.mark.parametrize("padding", [0, 1])
def test_byte_order_of_wide_samples(encoding: str, padding: int) -> None:
    ramp = np.arange(64 * 32, dtype=np.uint16).reshape(32, 64) * 32
    little, big = (np.pad(ramp.astype(order).view(np.uint8).reshape(32, -1), ((0, 0), (0, padding))) for order in ("<u2", ">u2"))
    first = rgb_of(little, 64, 32, encoding)
    np.testing.assert_array_equal(first, rgb_of(big, 64, 32, encoding, big_endian=True))
    np.testing.assert_array_equal(first[:, :, 0], np.rint(ramp.astype(np.float64) / 65535 * 255))


@pytest.mark.case(9)
@pytest.mark.parametrize("encoding", ["mono16", "16UC1", "bayer_rggb16"])
@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_infrared_neither_wraps_nor_goes_black(encoding: str, bits: int) -> None:
    """A ramp over all values of the sensor stays a ramp from 0 to 255."""
    ramp = np.linspace(0, (1 << bits) - 1, 640 * 4).astype("<u2").reshape(640, 4).T.repeat(4, axis=0)
    grey = rgb_of(ramp.copy().view(np.uint8), 640, 16, encoding)[8].astype(int)
    assert grey.min() <= 1 and grey.max() >= 254
    assert (np.diff(grey[2:-2], axis=0) >= -1).all() and np.abs(np.diff(grey[2:-2], axis=0)).max() <= 2


@pytest.mark.case(9)
def test_dark_infrared_is_not_stretched_to_the_full_range() -> None:
    dark = np.full((4, 4), 40, "<u2")
    assert rgb_of(dark.view(np.uint8), 4, 4, "mono16").max() == round(40 / 1023 * 255)


@pytest.mark.parametrize(("encoding", "channels"), [("rgb16", "RGB"), ("bgr16", "BGR"), ("rgba16", "RGBA"), ("bgra16", "BGRA")])
@pytest.mark.parametrize("big_endian", [False, True])
def test_wide_colours_keep_their_order_and_scale(encoding: str, channels: str, big_endian: bool, photo: np.ndarray) -> None:
    planes = {"R": photo[:, :, 0], "G": photo[:, :, 1], "B": photo[:, :, 2], "A": np.full(photo.shape[:2], 9)}
    wide = np.stack([planes[name] for name in channels], axis=2).astype(">u2" if big_endian else "<u2") * 257
    rows = np.ascontiguousarray(wide.astype(">u2" if big_endian else "<u2")).view(np.uint8).reshape(photo.shape[0], -1)
    np.testing.assert_array_equal(rgb_of(rows, photo.shape[1], photo.shape[0], encoding, big_endian=big_endian), photo)


@pytest.mark.case(10)
@pytest.mark.parametrize("order", ["rggb", "bggr", "gbrg", "grbg"])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_bayer_order_gives_the_colours_back(order: str, bits: int) -> None:
    smooth = np.stack(
        [np.add.outer(np.arange(48) * a, np.arange(64) * b) + c for a, b, c in ((1, 2, 10), (2, 1, 60), (-1, 2, 100))], axis=2
    )
    rgb = smooth.clip(0, 255).astype(np.uint8)
    mosaic = np.empty((48, 64), np.uint8)
    for position, colour in enumerate(order):
        at = np.s_[position // 2 :: 2, position % 2 :: 2]
        mosaic[at] = rgb[at][:, :, "rgb".index(colour)]
    if bits == 16:
        mosaic = (mosaic.astype("<u2") * 257).view(np.uint8)
    seen = rgb_of(mosaic, 64, 48, f"bayer_{order}{bits}").astype(int)
    assert np.abs((seen - rgb).mean(axis=(0, 1))).max() < 1.0 and np.abs(seen - rgb)[2:-2, 2:-2].max() <= 3


def test_a_bayer_picture_too_small_for_its_pattern() -> None:
    with pytest.raises(InputError, match="3x2"):
        rgb_of(np.zeros((2, 3), np.uint8), 3, 2, "bayer_rggb8")
