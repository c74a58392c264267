"""JPEG and PNG from the wire. Pictures are written by OpenCV and, where OpenCV cannot, by Pillow; damage is done to their bytes."""

from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image as PillowImage

from depth_anything_ros.compressed import decode
from depth_anything_ros.errors import InputError


def smooth_photo() -> np.ndarray:
    """uint8 RGB [96, 128, 3] that survives JPEG well; red on the whole."""
    rows, columns = np.mgrid[0:96, 0:128]
    return np.stack([160 + columns // 2, 40 + rows // 2, 30 + (rows + columns) // 8], axis=2).astype(np.uint8)


def written(format: str, picture: PillowImage.Image | None = None, **options: object) -> bytes:
    out = io.BytesIO()
    (picture or PillowImage.fromarray(smooth_photo())).save(out, format, **options)
    return out.getvalue()


def rgb(data: bytes) -> np.ndarray:
    return decode(data)[:, :, ::-1].astype(int)


@pytest.mark.case(15)
@pytest.mark.case(16)
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"optimize": True}, {"quality": 30}, {"subsampling": 0}])
def test_jpeg_of_every_kind(options: dict[str, object]) -> None:
    seen = rgb(written("JPEG", **options))
    assert np.abs(seen - smooth_photo()).mean() < 3.0, "red stays red"


@pytest.mark.case(16)
def test_grey_and_cmyk_jpeg() -> None:
    photo = PillowImage.fromarray(smooth_photo())
    grey = rgb(written("JPEG", photo.convert("L")))
    assert (grey[:, :, 0] == grey[:, :, 1]).all() and np.abs(grey[:, :, 0] - np.asarray(photo.convert("L"), int)).mean() < 3
    cmyk = rgb(written("JPEG", photo.convert("CMYK"), quality=95))
    assert np.abs(cmyk - smooth_photo()).mean() < 12, "of a print format the colours are near, not exact"


@pytest.mark.case(10)
@pytest.mark.case(15)
@pytest.mark.parametrize("order", ["rggb", "bggr", "gbrg", "grbg"])
def test_a_mosaic_is_compressed_as_it_is(order: str) -> None:
    """image_transport calls it by its encoding, and the bytes hold one channel."""
    photo = smooth_photo()
    mosaic = np.empty(photo.shape[:2], np.uint8)
    for position, colour in enumerate(order):
        at = np.s_[position // 2 :: 2, position % 2 :: 2]
        mosaic[at] = photo[at][:, :, "rgb".index(colour)]
    eight, wide = PillowImage.fromarray(mosaic), PillowImage.fromarray(mosaic.astype(np.uint16) * 257)
    for picture, encoding in ((eight, f"bayer_{order}8"), (wide, f"bayer_{order}16")):
        seen = decode(written("PNG", picture), encoding)[:, :, ::-1].astype(int)
        assert np.abs(seen - photo)[2:-2, 2:-2].max() <= 3
    coloured = written("PNG")
    np.testing.assert_array_equal(decode(coloured, f"bayer_{order}8"), decode(coloured))
    with pytest.raises(InputError, match="too small"):
        decode(written("PNG", PillowImage.fromarray(mosaic[:2])), f"bayer_{order}8")


@pytest.mark.case(16)
def test_an_orientation_in_exif_is_not_applied() -> None:
    exif = PillowImage.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees
    assert decode(written("JPEG", exif=exif)).shape == (96, 128, 3)


@pytest.mark.case(16)
def test_png_of_every_kind() -> None:
    photo = PillowImage.fromarray(smooth_photo())
    np.testing.assert_array_equal(rgb(written("PNG")), smooth_photo())
    few = photo.quantize(200)
    np.testing.assert_array_equal(rgb(written("PNG", few)), np.asarray(few.convert("RGB"), int))
    np.testing.assert_array_equal(rgb(written("PNG", photo.convert("RGBA"))), smooth_photo())
    ramp = np.arange(96 * 128, dtype=np.uint16).reshape(96, 128) * 5
    ok, wide = cv2.imencode(".png", ramp)
    assert ok
    expected = np.rint(ramp / 65535 * 255)
    for channel in range(3):
        np.testing.assert_array_equal(rgb(wide.tobytes())[:, :, channel], expected)
    ok, dark = cv2.imencode(".png", ramp % 1024)
    assert ok and rgb(dark.tobytes()).max() == 255, "10-bit infrared is not black"


JPEG = written("JPEG")
PNG = written("PNG")


@pytest.mark.case(16)
@pytest.mark.parametrize("whole", [JPEG, PNG, written("JPEG", progressive=True)], ids=["jpeg", "png", "progressive"])
def test_cut_pictures_are_refused(whole: bytes) -> None:
    for size in (0, 1, 2, 3, 4, 20, 100, len(whole) // 2, len(whole) - 20, len(whole) - 2, len(whole) - 1):
        with pytest.raises(InputError):
            decode(whole[:size])


@pytest.mark.case(16)
def test_a_flipped_bit_in_a_huffman_table_is_noticed() -> None:
    """Nearly always: a few flips turn a table into another valid one."""
    start = JPEG.index(b"\xff\xc4")
    (length,) = struct.unpack_from(">H", JPEG, start + 2)
    accepted = 0
    for at in range(start + 4, start + 2 + length):
        for bit in range(8):
            damaged = bytearray(JPEG)
            damaged[at] ^= 1 << bit
            try:
                decode(bytes(damaged))
            except InputError:
                continue
            accepted += 1
    assert accepted <= 0.02 * 8 * (length - 2)


@pytest.mark.case(16)
def test_damage_anywhere_is_survived() -> None:
    random = np.random.default_rng(16)
    for whole in (JPEG, PNG):
        for _ in range(300):
            damaged = bytearray(whole)
            damaged[random.integers(len(whole))] = random.integers(256)
            try:
                assert decode(bytes(damaged)).dtype == np.uint8
            except InputError:
                continue


@pytest.mark.case(16)
@pytest.mark.parametrize("head", [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_random_bytes_are_refused(head: bytes) -> None:
    random = np.random.default_rng(1)
    for size in (0, 3, 50, 5000):
        with pytest.raises(InputError):
            decode(head + random.bytes(size))


@pytest.mark.case(16)
def test_a_picture_that_claims_to_be_huge_is_refused_before_it_is_decoded() -> None:
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    with pytest.raises(InputError, match="60000x60000"):
        decode(b"\x89PNG\r\n\x1a\n" + chunk)


def test_bytes_after_the_end_are_padding() -> None:
    np.testing.assert_array_equal(decode(JPEG + bytes(100)), decode(JPEG))
