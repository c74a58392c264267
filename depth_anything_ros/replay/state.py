"""What is carried from picture to picture, on disk: where a killed run goes on as if it had never ended."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.following import Following

STATE_FILE = "state.pickle"
"""Beside the bag of a segment, as it was after its last picture."""
_KNOWN = ("depth_anything_ros.scale.", "depth_anything_ros.types", "numpy", "collections")


def packed(states: Mapping[str, Following]) -> bytes:
    """By image topic."""
    return pickle.dumps({image: (None if one.tracker is None else one.tracker.memory(), one.steadier) for image, one in states.items()})


def recalled(states: Mapping[str, Following], folder: Path) -> dict[str, Following] | None:
    """`states` as the segment in `folder` left them, None where it left nothing. Raises InputError for a file that is not ours."""
    path = folder / STATE_FILE
    if not path.is_file():
        return None
    try:
        memories = _Reader(io.BytesIO(path.read_bytes())).load()
    except (OSError, EOFError, ValueError, AttributeError, ImportError, IndexError, pickle.UnpicklingError) as error:
        raise InputError(
            "input.file", f"{path} cannot be read: {error}. Remove it, and the pictures before are looked at again."
        ) from error
    found = {}
    for image, one in states.items():
        memory, steadier = memories[image]
        if one.tracker is not None:
            one.tracker.recall(memory)
        found[image] = Following(one.tracker, steadier)
    return found


class _Reader(pickle.Unpickler):
    """Makes nothing but our own states, whoever wrote the file."""

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith(_KNOWN):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in it")
        return super().find_class(module, name)
