"""Where fetched models lie, and what a name or a path leads to. Nothing here reaches for the network."""

from __future__ import annotations

import os
from pathlib import Path

from depth_anything_ros.errors import ModelError
from depth_anything_ros.models.registry import Model, find_model


def default_folder() -> Path:
    """``~/.cache/depth_anything_ros/models``: one folder per name, holding complete and checked files only."""
    return Path.home() / ".cache" / "depth_anything_ros" / "models"


def is_fetched(model: Model, folder: Path) -> bool:
    return all((folder / model.name / file.name).is_file() for file in model.files)


def fetched(model: Model, folder: Path) -> Path:
    """Where a fetched model lies: its file, or the folder of its files. Raises ModelError (``model.missing``) that says how to get it."""
    if not is_fetched(model, folder):
        raise ModelError(
            "model.missing", f"Model {model.name} is not on this machine; get it with: depth-anything-ros models fetch {model.name}"
        )
    return folder / model.name / (model.files[0].name if len(model.files) == 1 else "")


def resolve_model(model: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """The GGUF file that a path or a registry name stands for.

    A path that exists wins (``~`` is expanded), then a name that was fetched into `folder` (None for `default_folder`).
    Nothing is downloaded. Raises ModelError: ``model.missing`` says what to do, ``model.unsupported`` names a checkpoint to convert first.
    """
    path = Path(os.path.expanduser(os.fspath(model)))
    known = find_model(os.fspath(model))
    if os.path.exists(path):  # unlike Path.exists it takes any text
        return path
    if known is None:
        raise ModelError(
            "model.missing",
            f"Model file '{path}' does not exist, nor is there a model of that name (`depth-anything-ros models list` shows them).",
        )
    found = fetched(known, folder or default_folder())
    if not known.is_gguf:
        raise ModelError(
            "model.unsupported",
            f"Model {known.name} is an official checkpoint; make a model file of it: "
            f"depth-anything-ros convert {found} {known.checkpoint.lower()}.gguf",
        )
    return found
