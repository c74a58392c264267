"""Messages of bags, made and read without ROS by the type store of `rosbags`."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys.store import Typestore

from depth_anything_ros.errors import InputError

# What rosbags lets through when the bytes do not hold what they promise.
_DAMAGE = (SerdeError, struct.error, ValueError, TypeError, IndexError, OverflowError, MemoryError, AssertionError)
_NUMBERS = {"bool": np.bool_, "byte": np.uint8, "char": np.uint8}


class BagMessages:
    """Makes, writes and reads messages of the types in a store."""

    def __init__(self, types: Typestore) -> None:
        self._types = types

    def make(self, type_name: str, /, **fields: Any) -> Any:
        """See `messages.MakeMessage`."""
        descriptions = self._types.fielddefs[type_name][1]
        return self._types.types[type_name](**{name: self._value(kind, fields.get(name)) for name, kind in descriptions})

    def bytes_of(self, message: Any) -> memoryview:
        """CDR with its header."""
        return memoryview(self._types.serialize_cdr(message, message.__msgtype__))

    def read(self, data: bytes, type_name: str) -> Any:
        """Raises InputError ``input.bag`` when the bytes are no such message."""
        try:
            return self._types.deserialize_cdr(data, type_name)
        except _DAMAGE as error:
            raise InputError("input.bag", f"{len(data)} bytes are no {type_name}: {error}.") from error

    def _value(self, description: Any, given: Any) -> Any:
        """A field as the store's classes hold it: arrays of numbers are ndarrays, a byte is an int; zero or empty where not given."""
        node, detail = description
        if node == Nodetype.NAME:
            return self.make(detail) if given is None else given
        if node == Nodetype.BASE:
            if detail[0] == "string":
                return given or ""
            return given[0] if isinstance(given, bytes) else given or _number(detail[0])(0).item()
        (inner_node, inner), length = detail
        if inner_node == Nodetype.BASE and inner[0] != "string":
            if isinstance(given, memoryview):
                return np.frombuffer(given, np.uint8)
            kind = _number(inner[0])
            return np.zeros(length if node == Nodetype.ARRAY else 0, kind) if given is None else np.asarray(given, kind)
        return [] if given is None else given


def _number(name: str) -> Any:
    return _NUMBERS.get(name) or np.dtype(name).type
