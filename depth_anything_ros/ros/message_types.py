"""Definitions of message types by name, for bags."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.message_classes import TYPE_NAME

NO_DIGEST = "INVALID"
"""How ROS 2 shows the hash of a type that has none."""


def ros2_types() -> Typestore:
    """Definitions of the message types that come with ROS 2."""
    return get_typestore(Stores.ROS2_JAZZY)


def register_installed(types: Typestore, type_name: str) -> None:
    """Add a type, and those it is made of, from the .msg files of installed packages; known types stay as they are.

    Raises InputError ``input.bag`` when a definition is missing or cannot be parsed.
    """
    if type_name in types.fielddefs:
        return
    try:
        definitions = get_types_from_msg(_definition_file(type_name).read_text(encoding="utf-8"), type_name)
    except TypesysError as error:
        raise InputError("input.bag", f"The definition of {type_name} cannot be parsed: {error}.") from error
    for _, fields in definitions.values():
        for _, description in fields:
            for needed in _parts(description):
                register_installed(types, needed)
    types.register(definitions)


def is_known(types: Typestore, type_name: str) -> bool:
    """Whether a definition is found, in the store or among installed packages; it is in the store then."""
    try:
        register_installed(types, type_name)
    except InputError:
        return False
    return True


def digest_of(type_name: str, definition: str) -> str:
    """Hash of a type (``RIHS01_...``) by the text of its definition, with the types in it; `NO_DIGEST` where that cannot be told."""
    if not definition:
        return NO_DIGEST
    store = get_typestore(Stores.EMPTY)
    try:
        store.register(get_types_from_msg(definition, type_name))
        return str(store.hash_rihs01(type_name))
    except (TypesysError, KeyError):
        return NO_DIGEST


def _definition_file(type_name: str) -> Path:
    """share/<package>/msg/<Name>.msg below the prefix where the Python package is installed."""
    package, _, name = type_name.partition("/")
    specification = importlib.util.find_spec(package) if TYPE_NAME.fullmatch(type_name) else None
    for prefix in Path((specification.origin if specification else None) or "").parents:
        candidate = prefix / "share" / package / f"{name}.msg"
        if candidate.is_file():
            return candidate
    raise InputError("input.bag", f"No definition of message type {type_name} is installed; source the workspace that holds {package}.")


def _parts(description: Any) -> Iterator[str]:
    """Names of the message types in a field's description."""
    kind, value = description
    if kind == Nodetype.NAME:
        yield value
    elif kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        yield from _parts(value[0])
