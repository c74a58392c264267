"""Writes a rosbag2 folder that appears under its name only when it is complete."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import apsw
from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.paths import user_path
from depth_anything_ros.ros.bag_reader import STORAGE_SUFFIXES, BagTopic
from depth_anything_ros.ros.message_types import digest_of, is_known, register_installed, ros2_types

WRITE_ERRORS = (OSError, sqlite3.Error, apsw.Error, WriterError)
"""What a full disk, a missing right or a vanished folder shows as."""
STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
_VERSION = 9
"""Of the metadata format: read by every distribution since Humble."""
_PIECE = 2 << 20
"""Bytes after which the system is asked to bring them onto the disk."""
_LONGEST_NAME = 200
"""Bytes; file systems take 255."""


class BagWriter:
    """Use as a context manager: the bag is finished at the end of the block.

    Until then everything lies in a hidden folder beside it, which stays there (and is named in the error) when the process is killed.
    folder: of the new bag; must not exist. storage: ``mcap`` or ``sqlite3``. whole: after an error in the block nothing is left, while
    otherwise the bag holds what came until then, if anything did.
    """

    def __init__(self, folder: Path, storage: str = "mcap", *, whole: bool = False) -> None:
        if storage not in STORAGES:
            raise OptionError("option.range", f"Storage {storage!r} is unknown; known: {', '.join(STORAGES)}.")
        self.folder = user_path(folder).absolute()
        if self.folder.exists():
            raise OptionError("option.range", f"{self.folder} exists already; give another folder for the bag or remove it.")
        self.types = ros2_types()
        self.counts: dict[str, int] = {}
        self._whole = whole
        self._work = hidden_beside(self.folder, ".unfinished")
        self._connections: dict[str, Connection] = {}
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self._work, ignore_errors=True)
            self._writer = Writer(self._work / self.folder.name, version=_VERSION, storage_plugin=STORAGES[storage])
            self._writer.open()
            self._disk = _EarlyDisk(self._work / self.folder.name)
        except OSError as error:
            raise InputError("input.file", f"Bag {self.folder} cannot be written: {error.strerror}.") from error

    def add_topic(self, name: str, type_name: str, qos: Sequence[Qos] = ()) -> None:
        """Declare a topic. Raises InputError when the definition of its type is found neither in ROS 2 nor among installed packages."""
        register_installed(self.types, type_name)
        self._connections[name] = self._writer.add_connection(name, type_name, typestore=self.types, offered_qos_profiles=tuple(qos))
        self.counts[name] = 0

    def add_recorded_topic(self, topic: BagTopic) -> None:
        """Declare a topic as another bag has it, its type as that bag defines it, else as it is installed, else without definition."""
        definition, digest = topic.definition, topic.digest
        if not definition and is_known(self.types, topic.type):
            definition = self.types.generate_msgdef(topic.type, ros_version=2)[0]
            digest = digest or self.types.hash_rihs01(topic.type)
        digest = digest or digest_of(topic.type, definition)
        self._connections[topic.name] = self._writer.add_connection(
            topic.name, topic.type, msgdef=definition, rihs01=digest, offered_qos_profiles=topic.qos
        )
        self.counts[topic.name] = 0

    def note(self, key: str, value: str) -> None:
        """Put a text into the metadata (`custom_data`)."""
        self._writer.set_custom_data(key, value)

    def attach(self, name: str, data: bytes) -> None:
        """Put a file into the folder. Raises InputError ``input.file``."""
        try:
            (self._work / self.folder.name / name).write_bytes(data)
        except OSError as failure:
            raise self.unwritable(failure) from failure

    def write(self, topic: str, stamp_ns: int, data: bytes | memoryview) -> None:
        """Add a message. data: CDR with its header. Raises InputError ``input.file`` when it cannot be written."""
        try:
            self._writer.write(self._connections[topic], stamp_ns, data)
        except WRITE_ERRORS as failure:
            raise self.unwritable(failure) from failure
        self.counts[topic] += 1
        self._disk.grown(len(data))

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._disk.close()
        if error is None or (not self._whole and any(self.counts.values())):
            try:
                self._writer.close()
                _flush(self._work / self.folder.name)
                (self._work / self.folder.name).rename(self.folder)
                self._work.rmdir()
                return
            except WRITE_ERRORS as failure:
                self._discard()
                raise self.unwritable(failure) from failure
        self._discard()

    def unwritable(self, failure: Exception) -> InputError:
        """What to raise for one of `WRITE_ERRORS`."""
        reason = getattr(failure, "strerror", None) or failure
        return InputError("input.file", f"Bag {self.folder} cannot be written: {reason}.")

    def _discard(self) -> None:
        with suppress(*WRITE_ERRORS):  # the error that led here is the one to tell
            self._writer.abort()
        shutil.rmtree(self._work, ignore_errors=True)


class _EarlyDisk:
    """Has the system write a file while it grows, so that little is left to wait for at the end."""

    def __init__(self, folder: Path) -> None:
        """folder: of the bag."""
        path = next(file for file in folder.iterdir() if file.suffix in STORAGE_SUFFIXES)
        self._file = os.open(path, os.O_RDONLY)
        self._grown = 0

    def grown(self, size: int) -> None:
        self._grown += size
        if self._grown > _PIECE and hasattr(os, "posix_fadvise"):
            self._grown = 0
            # On Linux this begins to write what has changed, and does not wait for it.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        os.close(self._file)


def _flush(folder: Path) -> None:
    """Bring the files onto the disk before they get their name, so that a power cut leaves none that is half there."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def hidden_beside(path: Path, suffix: str) -> Path:
    """A hidden name in the same folder for what is not finished yet; also for names as long as a file system takes."""
    name = path.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}{suffix}")
