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
_OURS = ("depth_anything_ros.scale.", "depth_anything_ros.types")
_OTHERS = {
    "collections": {"deque", "OrderedDict"},
    "numpy": {"ndarray", "dtype"},
    **{f"numpy.{core}.multiarray": {"_reconstruct", "scalar"} for core in ("core", "_core")},
    **{f"numpy.{core}.numeric": {"_frombuffer"} for core in ("core", "_core")},
}
"""By module, what arrays and containers are made with."""


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
    """Makes nothing but our own states, whoever wrote the file: classes that stand in our modules, and the few others by name."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _OTHERS.get(module, ()):
            return super().find_class(module, name)
        # Not what a module has imported, nor what is inside of that (a name may have dots).
        found = super().find_class(module, name) if module.startswith(_OURS) and "." not in name else None
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in it")
        return found
