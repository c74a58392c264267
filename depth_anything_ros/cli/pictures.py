"""The pictures of a run of `infer`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import count_pictures, read_pictures
from depth_anything_ros.types import UInt8Array

_NEARLY_ALL = 0.9
"""Part of the pictures that a video says it has; what it says is an estimate."""


def pictures_of(paths: list[Path]) -> Iterator[tuple[str, Path, UInt8Array]]:
    """A name, the file and the pixels (uint8 RGB [H, W, 3]) of every picture; equal names are numbered.

    Of several files those that cannot be read are named on stderr, and an InputError comes at the end.
    """
    taken: set[str] = set()
    refused: list[InputError] = []
    for path in paths:
        try:
            for wanted, pixels in _read(path):
                name, number = wanted, 1
                while name in taken:
                    number += 1
                    name = f"{wanted}_{number}"
                taken.add(name)
                yield name, path, pixels
        except InputError as error:  # one damaged file does not cost the others their depth
            if len(paths) == 1:
                raise
            print(f"refused: {error}", file=sys.stderr, flush=True)
            refused.append(error)
    if refused:
        raise InputError(refused[0].code, f"{len(refused)} of {len(paths)} files could not be read (see above); the others are done.")


def _read(path: Path) -> Iterator[tuple[str, UInt8Array]]:
    """See `read_pictures`; a video that ends early is told."""
    count = 0
    for wanted, pixels in read_pictures(path):
        count += 1
        yield wanted, pixels
    if count < _NEARLY_ALL * (said := count_pictures(path)):
        print(f"{path}: {count} pictures could be read, of about {said} that it says it has; it may be cut", file=sys.stderr)
