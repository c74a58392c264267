"""Where files made of seeded true-size networks are kept: large, quick to make again, never checked in."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

from depth_anything_ros.convert import seeded
from depth_anything_ros.convert.hyper_parameters import HyperParameters

FOLDER = Path(".local/parity-models")


def cached_path(parameters: HyperParameters, suffix: str) -> Path:
    """Path of a file of this network; another one when the recipe of the seeded weights changes. Its folder is made."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    recipe = hashlib.sha256((inspect.getsource(seeded) + repr(parameters)).encode()).hexdigest()[:12]
    return FOLDER / f"{parameters.checkpoint_name}-{recipe}{suffix}"
