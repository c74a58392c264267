"""Bytes of a camera picture to the uint8 [H, W, 3] view that the engine takes: one table of encodings, sizes checked before a byte is read.

Names and meanings are those of ``sensor_msgs/image_encodings.hpp``; the generic ``8UC*`` names, which carry no channel order there, are
read as grey, BGR and BGRA as OpenCV does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.types import UInt8Array

LARGEST_SIDE = 32767
"""Longest side of a picture in pixels (OpenCV's own limit for remapping)."""


def _as_it_is(pixels: UInt8Array) -> UInt8Array:
    return pixels


def _without_alpha(pixels: UInt8Array) -> UInt8Array:
    return np.ascontiguousarray(pixels[:, :, :3])


def _grey_to_three(pixels: UInt8Array) -> UInt8Array:
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_GRAY2RGB), np.uint8)


@dataclass(frozen=True)
class _Encoding:
    """How one encoding is laid out and becomes three channels."""

    channels: int
    """uint8 values per pixel in the message."""
    bgr: bool
    """Channel order after `to_three`."""
    to_three: Callable[[UInt8Array], UInt8Array]


_ENCODINGS: dict[str, _Encoding] = {
    "rgb8": _Encoding(3, False, _as_it_is),
    "bgr8": _Encoding(3, True, _as_it_is),
    "rgba8": _Encoding(4, False, _without_alpha),
    "bgra8": _Encoding(4, True, _without_alpha),
    "mono8": _Encoding(1, False, _grey_to_three),
    "8UC1": _Encoding(1, False, _grey_to_three),
    "8UC3": _Encoding(3, True, _as_it_is),
    "8UC4": _Encoding(4, True, _without_alpha),
}

ACCEPTED_ENCODINGS = tuple(_ENCODINGS)


def view_pixels(data: object, *, width: int, height: int, step: int, encoding: str) -> tuple[UInt8Array, bool]:
    """Three-channel pixels of a picture and their order: (uint8 [H, W, 3], bgr).

    data: any contiguous buffer of bytes, `height` rows of `step` bytes each; bytes after the pixels of a row are padding.
    With three channels in the encoding the result is a read-only view of `data` with strides (step, 3, 1), else a packed copy.
    Raises InputError: ``input.encoding`` (name not in the table), ``input.shape`` (size of the picture or of the data),
    ``input.stride`` (`step` shorter than a row).
    """
    layout = _ENCODINGS.get(encoding)
    if layout is None:
        accepted = ", ".join(ACCEPTED_ENCODINGS)
        raise InputError("input.encoding", f"Image encoding {_shown(encoding)} is not supported; publish one of {accepted}.")
    if width < 1 or height < 1 or max(width, height) > LARGEST_SIDE:
        raise InputError("input.shape", f"Image of {width}x{height} pixels: each side must be 1 to {LARGEST_SIDE}.")
    if step < width * layout.channels:
        raise InputError(
            "input.stride",
            f"Image step is {step} bytes, but {width} pixels of {encoding} need {width * layout.channels} or more.",
        )
    raw = np.frombuffer(data, np.uint8)  # type: ignore[call-overload]
    if raw.size != height * step:
        raise InputError(
            "input.shape",
            f"Image data holds {raw.size} bytes, but height {height} times step {step} is {height * step}.",
        )
    pixels = np.lib.stride_tricks.as_strided(raw, (height, width, layout.channels), (step, layout.channels, 1), writeable=False)
    return layout.to_three(pixels), layout.bgr


def _shown(name: str, longest: int = 32) -> str:
    """A name from the wire for a log line: quoted, ASCII, short."""
    return ascii(name if len(name) <= longest else name[:longest] + "...")
