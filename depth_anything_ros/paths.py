"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path


def user_path(text: str | os.PathLike[str]) -> Path:
    """With ``~`` expanded, which shells leave as it is in ``--output=~/depth``.

    That of a user who is not there stays, as in a shell, so that whoever opens the path names it; pathlib's own raises RuntimeError.
    """
    return Path(os.path.expanduser(text))
