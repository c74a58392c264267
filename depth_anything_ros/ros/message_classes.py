"""Python classes of message types by name. The live node needs them, so nothing here wants more than ROS does."""

from __future__ import annotations

import importlib
import re

TYPE_NAME = re.compile(r"[A-Za-z]\w*(/\w+)+")


def message_class(type_name: str) -> type | None:
    """The class of ``package/msg/Name``, or None when its package is not installed."""
    if not TYPE_NAME.fullmatch(type_name):
        return None
    package, _, name = type_name.partition("/")
    try:
        module = importlib.import_module(f"{package}.msg")
    except ImportError:
        return None
    found = getattr(module, name.rpartition("/")[2], None)
    return found if isinstance(found, type) else None
