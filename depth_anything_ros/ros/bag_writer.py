"""Writes a rosbag2 folder that appears under its name only when it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import StoragePlugin, Writer

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.ros.message_types import register_installed, ros2_types

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
_VERSION = 9
"""Of the metadata format: read by every distribution since Humble."""


class BagWriter:
    """Use as a context manager: the bag is finished at the end of the block.

    Until then everything lies in a hidden folder beside it, which stays there (and is named in the error) when the process is killed.
    folder: of the new bag; must not exist. storage: ``mcap`` or ``sqlite3``.
    """

    def __init__(self, folder: Path, storage: str = "mcap") -> None:
        if storage not in STORAGES:
            raise OptionError("option.range", f"Storage {storage!r} is unknown; known: {', '.join(STORAGES)}.")
        self.folder = Path(folder).expanduser().absolute()
        if self.folder.exists():
            raise OptionError("option.range", f"{self.folder} exists already; give another folder for the bag or remove it.")
        self.types = ros2_types()
        self.counts: dict[str, int] = {}
        self._work = self.folder.parent / f".{self.folder.name}.unfinished"
        self._connections: dict[str, Connection] = {}
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self._work, ignore_errors=True)
            self._writer = Writer(self._work / self.folder.name, version=_VERSION, storage_plugin=STORAGES[storage])
            self._writer.open()
        except OSError as error:
            raise InputError("input.file", f"Bag {self.folder} cannot be written: {error.strerror}.") from error

    def add_topic(self, name: str, type_name: str, qos: Sequence[Qos] = ()) -> None:
        """Declare a topic. Raises InputError when the definition of its type is found neither in ROS 2 nor among installed packages."""
        register_installed(self.types, type_name)
        self._connections[name] = self._writer.add_connection(name, type_name, typestore=self.types, offered_qos_profiles=tuple(qos))
        self.counts[name] = 0

    def write(self, topic: str, stamp_ns: int, data: bytes) -> None:
        """Add a message. data: CDR with its header."""
        self._writer.write(self._connections[topic], stamp_ns, data)
        self.counts[topic] += 1

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()
        (self._work / self.folder.name).rename(self.folder)
        self._work.rmdir()
