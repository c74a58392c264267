"""Bytes of a camera picture to the uint8 [H, W, 3] view that the engine takes: one table of encodings, sizes checked before a byte is read.

Names and meanings are those of ``sensor_msgs/image_encodings.hpp``, with `nv12` beside them. The generic names, which carry no channel
order there, are read as grey, BGR and BGRA as OpenCV does. YUV is BT.601 with the limited range, as V4L2 cameras send it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError
from depth_anything_ros.types import UInt8Array

LARGEST_SIDE = 32767
"""Longest side of a picture in pixels (OpenCV's own limit for remapping)."""

_BIT_DEPTHS = (10, 12, 14, 16)

Samples = NDArray[np.generic]
"""uint8 or native uint16 [rows, W, channels]."""


def to_eight_bits(samples: NDArray[np.uint16]) -> UInt8Array:
    """16-bit samples of one picture to uint8: the sensor's bits are taken to be the fewest of 10, 12, 14, 16 that hold the largest value.

    Full scale of that many bits becomes 255, so that 10-bit infrared is neither black (as with a fixed /256) nor wrapped.
    """
    largest = int(samples.max(initial=0))
    bits = next(bits for bits in _BIT_DEPTHS if largest < 1 << bits)
    return np.asarray(cv2.convertScaleAbs(samples, alpha=255.0 / ((1 << bits) - 1)), np.uint8).reshape(samples.shape)


def full_scale(samples: Samples) -> UInt8Array:
    """Colour of 16 bits, uint16 [H, W, 3 or 4], to uint8 [H, W, 3]: all bits are used."""
    colours = np.ascontiguousarray(samples[:, :, :3])
    return np.asarray(cv2.convertScaleAbs(colours, alpha=255.0 / 65535.0), np.uint8)


def _as_it_is(samples: Samples) -> UInt8Array:
    return samples.astype(np.uint8, copy=False)


def _without_alpha(samples: Samples) -> UInt8Array:
    return np.ascontiguousarray(samples[:, :, :3], np.uint8)


def _eight(samples: Samples) -> UInt8Array:
    packed = np.ascontiguousarray(samples)
    return to_eight_bits(packed.astype(np.uint16, copy=False)) if packed.dtype == np.uint16 else packed.astype(np.uint8, copy=False)


def _converted(code: int, samples: Samples) -> UInt8Array:
    return np.asarray(cv2.cvtColor(_eight(samples), code), np.uint8)


def _demosaiced(code: int, samples: Samples) -> UInt8Array:
    mosaic = _eight(samples)
    if min(mosaic.shape[:2]) < 4:
        raise InputError("input.shape", f"A Bayer picture of {mosaic.shape[1]}x{mosaic.shape[0]} pixels is too small; 4x4 are needed.")
    return np.asarray(cv2.cvtColor(mosaic, code), np.uint8)


@dataclass(frozen=True)
class _Encoding:
    """How one encoding is laid out and becomes three channels."""

    channels: int
    """Samples per pixel in a row of the message."""
    to_three: Callable[[Samples], UInt8Array]
    bgr: bool = False
    """Channel order after `to_three`."""
    wide: bool = False
    """Samples of two bytes."""
    even: tuple[int, int] = (1, 1)
    """What width and height must be multiples of."""
    planes: float = 1.0
    """Rows of the message per row of the picture."""


# OpenCV names a Bayer pattern by the second and third pixel of its second row, ROS by the first two of each row.
_BAYER = {"rggb": cv2.COLOR_BayerBG2RGB, "bggr": cv2.COLOR_BayerRG2RGB, "gbrg": cv2.COLOR_BayerGR2RGB, "grbg": cv2.COLOR_BayerGB2RGB}
_GREY = partial(_converted, cv2.COLOR_GRAY2RGB)
_UYVY = _Encoding(2, partial(_converted, cv2.COLOR_YUV2RGB_UYVY), even=(2, 1))
_YUYV = _Encoding(2, partial(_converted, cv2.COLOR_YUV2RGB_YUY2), even=(2, 1))

_ENCODINGS: dict[str, _Encoding] = {
    "rgb8": _Encoding(3, _as_it_is),
    "bgr8": _Encoding(3, _as_it_is, bgr=True),
    "rgba8": _Encoding(4, _without_alpha),
    "bgra8": _Encoding(4, _without_alpha, bgr=True),
    "rgb16": _Encoding(3, full_scale, wide=True),
    "bgr16": _Encoding(3, full_scale, bgr=True, wide=True),
    "rgba16": _Encoding(4, full_scale, wide=True),
    "bgra16": _Encoding(4, full_scale, bgr=True, wide=True),
    "mono8": _Encoding(1, _GREY),
    "mono16": _Encoding(1, _GREY, wide=True),
    "8UC1": _Encoding(1, _GREY),
    "8UC3": _Encoding(3, _as_it_is, bgr=True),
    "8UC4": _Encoding(4, _without_alpha, bgr=True),
    "16UC1": _Encoding(1, _GREY, wide=True),
    **{f"bayer_{order}8": _Encoding(1, partial(_demosaiced, code)) for order, code in _BAYER.items()},
    **{f"bayer_{order}16": _Encoding(1, partial(_demosaiced, code), wide=True) for order, code in _BAYER.items()},
    "yuv422": _UYVY,
    "uyvy": _UYVY,
    "yuv422_yuy2": _YUYV,
    "yuyv": _YUYV,
    "nv12": _Encoding(1, partial(_converted, cv2.COLOR_YUV2RGB_NV12), even=(2, 2), planes=1.5),
    "nv21": _Encoding(1, partial(_converted, cv2.COLOR_YUV2RGB_NV21), even=(2, 2), planes=1.5),
}

ACCEPTED_ENCODINGS = tuple(_ENCODINGS)


def view_pixels(data: object, *, width: int, height: int, step: int, encoding: str, big_endian: bool = False) -> tuple[UInt8Array, bool]:
    """Three-channel pixels of a picture and their order: (uint8 [H, W, 3], bgr).

    data: any contiguous buffer of bytes, `height` rows of `step` bytes each (nv12, nv21: half as many again with the colours); bytes
    after the pixels of a row are padding. big_endian: order of the bytes of 16-bit samples.
    With three channels of 8 bits the result is a read-only view of `data` with strides (step, 3, 1), else a packed copy.
    Raises InputError: ``input.encoding`` (name not in the table), ``input.shape`` (size of the picture or of the data),
    ``input.stride`` (`step` shorter than a row).
    """
    layout = _ENCODINGS.get(encoding)
    if layout is None:
        accepted = ", ".join(ACCEPTED_ENCODINGS)
        raise InputError("input.encoding", f"Image encoding {_shown(encoding)} is not supported; publish one of {accepted}.")
    check_size(width, height)
    if width % layout.even[0] or height % layout.even[1]:
        raise InputError("input.shape", f"Image of {width}x{height} pixels: {encoding} shares colours between pixels and needs even sides.")
    sample = 2 if layout.wide else 1
    row = width * layout.channels * sample
    if step < row:
        raise InputError("input.stride", f"Image step is {step} bytes, but {width} pixels of {encoding} need {row} or more.")
    raw = np.frombuffer(data, np.uint8)  # type: ignore[call-overload]
    rows = int(height * layout.planes)
    if raw.size != rows * step:
        raise InputError(
            "input.shape",
            f"Image data holds {raw.size} bytes, but {rows} rows (height {height}, {encoding}) times step {step} are {rows * step}.",
        )
    shape, strides = (rows, width, layout.channels), (step, layout.channels * sample, sample)
    if layout.wide:
        # A step may be odd, where NumPy has no view of wider type: the bytes of the rows are packed first.
        packed = np.ascontiguousarray(np.lib.stride_tricks.as_strided(raw, (rows, row), (step, 1), writeable=False))
        samples: Samples = packed.view(">u2" if big_endian else "<u2").reshape(shape).astype(np.uint16, copy=False)
    else:
        samples = np.lib.stride_tricks.as_strided(raw, shape, strides, writeable=False)
    return layout.to_three(samples), layout.bgr


def is_mosaic(encoding: str) -> bool:
    return encoding.startswith("bayer_") and encoding in _ENCODINGS


def demosaic(samples: Samples, encoding: str) -> UInt8Array:
    """uint8 RGB [H, W, 3] of a mosaic, uint8 or native uint16 [H, W], in the order that a Bayer encoding names; the type tells the bits."""
    return _ENCODINGS[encoding].to_three(samples[:, :, np.newaxis])


def check_size(width: int, height: int) -> None:
    """Raises InputError ``input.shape`` for a picture without pixels or too long for OpenCV."""
    if width < 1 or height < 1 or max(width, height) > LARGEST_SIDE:
        raise InputError("input.shape", f"Image of {width}x{height} pixels: each side must be 1 to {LARGEST_SIDE}.")


def _shown(name: str, longest: int = 32) -> str:
    """A name from the wire for a log line: quoted, ASCII, short."""
    return ascii(name if len(name) <= longest else name[:longest] + "...")
