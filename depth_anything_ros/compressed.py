"""A compressed picture (sensor_msgs/CompressedImage) to pixels. What the bytes are decides, not the name that came with them.

Libraries turn a cut JPEG into a picture that is grey from some row on, without an error, so that its integrity is checked first.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.images import check_size, demosaic, is_mosaic, to_eight_bits
from depth_anything_ros.types import UInt8Array

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_END_OF_IMAGE = b"\xff\xd9"
_HUFFMAN, _START_OF_SCAN = 0xC4, 0xDA
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SEQUENTIAL = (0xC0, 0xC1)


def decode(data: bytes, encoding: str = "") -> UInt8Array:
    """uint8 BGR [H, W, 3] of a whole JPEG or PNG: grey is repeated, alpha dropped, 16 bits reduced as `images.to_eight_bits` says.

    An orientation in EXIF is ignored: the camera_info describes the pixels as the sensor gave them.
    encoding: of the picture before it was compressed. A grey one of a Bayer encoding is a mosaic, which image_transport compresses as it
    is; other names say nothing that the bytes do not know better.
    Raises InputError ``input.encoding`` (neither JPEG nor PNG) or ``input.shape`` (cut, damaged, no pixels or too many).
    """
    check_whole(data)
    if not data.startswith((_PNG, _JPEG)):
        raise InputError("input.encoding", f"Compressed image of {len(data)} bytes is neither JPEG nor PNG (it begins with {data[:4]!r}).")
    if is_mosaic(encoding) and (mosaic := _decoded(data, cv2.IMREAD_UNCHANGED)).ndim == 2:
        return np.ascontiguousarray(demosaic(mosaic, encoding)[:, :, ::-1])
    picture = _decoded(data, cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH | cv2.IMREAD_IGNORE_ORIENTATION)
    return to_eight_bits(picture) if picture.dtype == np.uint16 else np.asarray(picture, np.uint8)


def _decoded(data: bytes, flags: int) -> NDArray[Any]:
    try:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise _damaged("it cannot be decoded") from error
    if picture is None:
        raise _damaged("it cannot be decoded")
    return np.asarray(picture)


def check_whole(data: bytes) -> None:
    """Raises InputError ``input.shape`` for a JPEG or PNG that is cut, damaged, or has no pixels or too many; other data passes."""
    if data.startswith(_PNG):
        _check_png(data)
    elif data.startswith(_JPEG):
        _check_jpeg(data)


def _damaged(what: str) -> InputError:
    return InputError("input.shape", f"Compressed image is damaged: {what}.")


def _check_png(data: bytes) -> None:
    """Every chunk is whole and has its checksum, up to the last one (PNG specification, section 5.3)."""
    at = len(_PNG)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        body = data[at + 4 : at + 8 + length]
        if len(body) < 4 + length or data[at + 8 + length : at + 12 + length] != struct.pack(">I", zlib.crc32(body)):
            break
        if body[:4] == b"IHDR":
            check_size(*struct.unpack_from(">II", body, 4))
        if body[:4] == b"IEND":
            return
        at += 12 + length
    raise _damaged("the PNG is cut or a checksum is wrong")


def _check_jpeg(data: bytes) -> None:
    """Segments, code tables and the end of the picture (ITU-T T.81, annexes B and C)."""
    at, sequential = 2, True
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        (length,) = struct.unpack_from(">H", data, at + 2)
        segment = data[at + 4 : at + 2 + length]
        if len(segment) != length - 2:
            break
        if marker in _FRAMES:
            sequential = marker in _SEQUENTIAL
            height, width = struct.unpack_from(">HH", segment.ljust(5, b"\0"), 1)
            check_size(width, height)
        if marker == _HUFFMAN:
            _check_huffman(segment, sequential)
        if marker == _START_OF_SCAN:
            if data.find(_END_OF_IMAGE, at) < 0:
                break
            return
        at += 2 + length
    raise _damaged("the JPEG is cut")


def _check_huffman(segment: bytes, sequential: bool) -> None:
    """Code lengths that a prefix code can have, and symbols that differ and that an 8-bit picture can use."""
    at = 0
    while at + 17 <= len(segment):
        coefficients, counts = segment[at] >> 4, segment[at + 1 : at + 17]
        symbols = segment[at + 17 : at + 17 + sum(counts)]
        space = sum(count << (15 - length) for length, count in enumerate(counts))
        if len(symbols) != sum(counts) or space > 1 << 16 or len(set(symbols)) != len(symbols):
            break
        if sequential and not all(_possible(symbol, coefficients) for symbol in symbols):
            break
        at += 17 + len(symbols)
    if at != len(segment):
        raise _damaged("a Huffman table of the JPEG is wrong")


def _possible(symbol: int, coefficients: int) -> bool:
    """Whether a symbol of a DC (0) or AC (1) table occurs in a sequential 8-bit JPEG (T.81, tables F.1 and F.2)."""
    if coefficients == 0:
        return symbol <= 11
    return symbol in (0x00, 0xF0) or 1 <= symbol & 0x0F <= 10
