"""Paths on the command line."""

from __future__ import annotations

import os
from pathlib import Path


def user_path(text: str) -> Path:
    """With ``~`` expanded, which shells leave as it is in ``--output=~/depth``."""
    return Path(os.path.expanduser(text))
