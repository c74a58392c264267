"""Where models lie, in the package or fetched, and what a name or a path leads to. Nothing here reaches for the network."""

from __future__ import annotations

import os
from pathlib import Path

from depth_anything_ros.errors import ModelError
from depth_anything_ros.models.registry import Model, find_model
from depth_anything_ros.paths import user_path

SHIPPED_FOLDER = Path(__file__).parents[1] / "weights"
"""The model files in the package."""


def default_folder() -> Path:
    """``~/.cache/depth_anything_ros/models``: one folder per name, holding complete and checked files only.

    Raises ModelError (``model.missing``) where there is no home.
    """
    try:
        return Path.home() / ".cache" / "depth_anything_ros" / "models"
    except RuntimeError as error:  # a user that the system does not know, as in containers
        raise ModelError("model.missing", "This user has no home folder to keep models in; set HOME, or give models as files.") from error


def home(model: Model, folder: Path | None = None) -> Path:
    """The folder that the files of a model belong in: one of its own in `folder` (None: `default_folder`), or the one in the package.

    What is in the package is there for a user without a home too.
    """
    return SHIPPED_FOLDER if model.is_shipped else (folder or default_folder()) / model.name


def is_fetched(model: Model, folder: Path | None = None) -> bool:
    return all((home(model, folder) / file.name).is_file() for file in model.files)


def fetched(model: Model, folder: Path | None = None) -> Path:
    """Where a model lies: its file, or the folder of its files. Raises ModelError (``model.missing``) that says how to get it."""
    if not is_fetched(model, folder):
        if model.is_shipped:
            path = home(model, folder) / model.files[0].name
            raise ModelError("model.missing", f"Model {model.name} comes with the package, but {path} is not there; install it again.")
        raise ModelError(
            "model.missing", f"Model {model.name} is not on this machine; get it with: depth-anything-ros models fetch {model.name}"
        )
    return home(model, folder) / (model.files[0].name if len(model.files) == 1 else "")


def meant(model: str | os.PathLike[str]) -> Model | None:
    """The model that a text names; None where a file of that name is there, which wins, and where it is no name.

    A folder does not win: what is made of a model is often called like it.
    """
    known = find_model(os.fspath(model))
    return known if known is not None and not os.path.isfile(known.name) else None


def resolve_model(model: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """The GGUF file that a path or a registry name stands for: a name (see `meant`) in the package or fetched into `folder`, else a path.

    folder: None for `default_folder`. ``~`` is expanded. Nothing is downloaded.
    Raises ModelError: ``model.missing`` says what to do, ``model.unsupported`` names a checkpoint to convert first.
    """
    known = meant(model)
    if known is None:
        path = user_path(model)
        if os.path.exists(path):  # unlike Path.exists it takes any text
            return path
        name = path.name.removesuffix(".gguf")
        other = f"the name of the model is {name}" if find_model(name) else "nor is there a model of that name"
        raise ModelError("model.missing", f"Model file '{path}' {_why_not(path)}, {other} (`depth-anything-ros models list` shows them).")
    found = fetched(known, folder)
    if not known.is_gguf:
        raise ModelError(
            "model.unsupported",
            f"Model {known.name} is an official checkpoint; make a model file of it: "
            f"depth-anything-ros convert {known.name} {known.name.removesuffix('-official')}.gguf",
        )
    return found


def _why_not(path: Path) -> str:
    """What is wrong with a path that does not exist for us."""
    try:
        os.stat(path)
    except PermissionError as error:
        return f"cannot be reached ({error.strerror})"
    except (OSError, ValueError):  # a missing part, a part that is no folder, a text that is no path
        pass
    return "does not exist"
