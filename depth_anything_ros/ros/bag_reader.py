"""Opens rosbag2 recordings, whole or damaged, without ROS: topics and raw CDR messages in order of time.

Whole bags are read by the library `rosbags`. What a power cut leaves behind is read too: a folder without a usable metadata.yaml, single
storage files, an MCAP file without its end, a write-ahead log beside a database. Each such repair is one sentence in `BagReader.warnings`.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple, Protocol

import apsw
from rosbags.interfaces import Qos
from rosbags.rosbag2 import Reader, ReaderError

from depth_anything_ros.errors import InputError
from depth_anything_ros.paths import user_path
from depth_anything_ros.ros.mcap_salvage import McapSalvage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORAGE_SUFFIXES = (".mcap", ".db3")
FOREVER_NS = 2**63 - 1
# What rosbags lets through when a file does not hold what it promises.
_DAMAGE = (ReaderError, EOFError, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError, RuntimeError, struct.error)
_DAMAGE_OF_STORAGE = (*_DAMAGE, apsw.Error, zstd.ZstdError)


@dataclass(frozen=True)
class BagTopic:
    """A topic of a bag. `qos`: what its publishers offered, empty when the bag does not say."""

    name: str
    type: str
    """For example ``sensor_msgs/msg/Image``."""
    qos: tuple[Qos, ...]
    count: int
    definition: str = ""
    """Text of the type's definition as the bag holds it; empty when it does not."""
    digest: str = ""
    """Hash of the type (``RIHS01_...``), empty when the bag does not say."""


class BagMessage(NamedTuple):
    topic: str
    stamp_ns: int
    """When it was recorded, nanoseconds since 1970."""
    data: bytes
    """CDR with its header, as it went over the wire."""


class Source(Protocol):
    """One storage file, or a folder with metadata."""

    topics: Collection[BagTopic]
    start_ns: int

    def messages(self, names: Collection[str], start_ns: int, stop_ns: int) -> Iterator[BagMessage]: ...


class BagReader:
    """A recording: a folder, or one ``.mcap`` or ``.db3`` file (also ``.zstd``). Use as a context manager.

    Raises InputError (``input.bag``) when nothing can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = user_path(path)
        self.warnings: list[str] = []
        self._stack = ExitStack()
        try:
            self._sources = self._open()
        except BaseException:
            self._stack.close()
            raise
        self.topics = _merged(topic for source in self._sources for topic in source.topics)

    @property
    def start_ns(self) -> int:
        """When the first message was recorded."""
        return min(source.start_ns for source in self._sources)

    @property
    def indexed(self) -> bool:
        """Whether a range of time can be read without reading all that lies before it."""
        return not any(isinstance(source, _Salvaged) for source in self._sources)

    def messages(self, names: Collection[str], start_ns: int = 0, stop_ns: int = FOREVER_NS) -> Iterator[BagMessage]:
        """Messages of the named topics recorded from `start_ns` to before `stop_ns`, part after part.

        Ends with a warning where a part is damaged.
        """
        for source in self._sources:
            try:
                yield from source.messages(names, start_ns, stop_ns)
            except _DAMAGE_OF_STORAGE as error:
                warning = f"{self.path} is damaged and ends early: {error}"
                if warning not in self.warnings:  # it is read more than once
                    self.warnings.append(warning)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> BagReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self) -> list[Source]:
        if not self.path.exists():
            raise InputError("input.bag", f"Bag {self.path} does not exist.")
        if self.path.is_file():
            return [self._open_file(self.path)]
        try:
            return [self._stack.enter_context(_WholeBag(self.path))]
        except FileNotFoundError:
            reason = "metadata.yaml is missing"
        except _DAMAGE_OF_STORAGE as error:
            reason = str(error)
        files = sorted(file for file in self.path.iterdir() if _storage_suffix(file))
        if not files:
            raise InputError("input.bag", f"{self.path} is no bag: {reason}, and it holds no .mcap or .db3 file.")
        self.warnings.append(f"{self.path}: {reason}; reading its storage files themselves (ros2 bag reindex repairs the folder).")
        return sorted((self._open_file(file) for file in files), key=lambda source: source.start_ns)

    def _open_file(self, path: Path) -> Source:
        suffix = _storage_suffix(path)
        if not suffix:
            raise InputError("input.bag", f"{path} is no bag: expected a folder, an .mcap or a .db3 file.")
        file = self._decompressed(path) if path.suffix == ".zstd" else path
        if suffix == ".db3":
            file = self._with_log(file)
        elif not _ends_like_mcap(file):
            return self._salvage(file)
        try:
            return self._stack.enter_context(_WholeBag(file))
        except PermissionError as error:
            raise InputError("input.bag", f"{path} cannot be read: {error.strerror}.") from error
        except _DAMAGE_OF_STORAGE as error:
            if suffix == ".mcap":
                return self._salvage(file)
            raise InputError("input.bag", f"{path} cannot be read: {error}. The sqlite3 program's .recover may save a part.") from error

    def _salvage(self, file: Path) -> Source:
        source = McapSalvage(file)
        topics = [BagTopic(topic.name, topic.type, tuple(topic.qos), topic.count, topic.definition) for topic in source.topics]
        if source.damage:
            self.warnings.append(f"{file} {source.damage}; {source.count} whole messages before that are read.")
        return _Salvaged(source, topics)

    def _decompressed(self, path: Path) -> Path:
        """A temporary copy without the zstd layer of compression mode "file"."""
        decompressor = zstd.ZstdDecompressor()
        with _copying(path):
            copy = self._temporary_folder() / path.stem
            with path.open("rb") as packed, copy.open("wb") as plain:
                try:
                    while piece := packed.read(1 << 20):
                        plain.write(decompressor.decompress(piece))
                except (zstd.ZstdError, EOFError) as error:
                    raise InputError("input.bag", f"{path} cannot be decompressed (zstd): {error}.") from error
        if not decompressor.eof:
            self.warnings.append(f"{path} (zstd) is cut.")
        return copy

    def _with_log(self, path: Path) -> Path:
        """The database itself or, when a write-ahead log was left beside it, a temporary copy that holds the log's messages too."""
        log = path.with_name(f"{path.name}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return path
        with _copying(path):
            copy = self._temporary_folder() / path.name
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(log.name))
        connection = sqlite3.connect(copy)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.DatabaseError as error:
            raise InputError("input.bag", f"{path} cannot be read: {error}.") from error
        finally:
            connection.close()
        self.warnings.append(f"{path} was not closed; the messages in its write-ahead log are read too.")
        return copy

    def _temporary_folder(self) -> Path:
        return Path(self._stack.enter_context(TemporaryDirectory()))


@contextmanager
def _copying(path: Path) -> Iterator[None]:
    """Raises InputError ``input.file`` when there is no room for a temporary copy."""
    try:
        yield
    except OSError as error:
        raise InputError(
            "input.file", f"{path} is read from a temporary copy, which cannot be made: {error.strerror}. TMPDIR names a folder with room."
        ) from error


class _WholeBag:
    """A bag, or one storage file, in good order."""

    def __init__(self, path: Path) -> None:
        self._reader = Reader(path)
        self._reader.open()
        self.start_ns = self._reader.start_time
        self.topics = [
            BagTopic(c.topic, c.msgtype, tuple(c.ext.offered_qos_profiles), c.msgcount, c.msgdef.data, c.digest)
            for c in self._reader.connections
        ]

    def messages(self, names: Collection[str], start_ns: int, stop_ns: int) -> Iterator[BagMessage]:
        chosen = [connection for connection in self._reader.connections if connection.topic in names]
        if chosen:
            for connection, stamp_ns, data in self._reader.messages(chosen, start_ns, stop_ns):
                yield BagMessage(connection.topic, stamp_ns, _unpacked(data))

    def __enter__(self) -> _WholeBag:
        return self

    def __exit__(self, *error: object) -> None:
        self._reader.close()


@dataclass(frozen=True)
class _Salvaged:
    source: McapSalvage
    topics: list[BagTopic]

    @property
    def start_ns(self) -> int:
        return self.source.start_ns

    def messages(self, names: Collection[str], start_ns: int, stop_ns: int) -> Iterator[BagMessage]:
        for name, stamp_ns, data in self.source.messages():
            if name in names and start_ns <= stamp_ns < stop_ns:
                yield BagMessage(name, stamp_ns, _unpacked(data))


def _unpacked(data: bytes) -> bytes:
    """Plain CDR. In compression mode "message" only metadata.yaml tells; a storage file alone still shows zstd's magic number."""
    return zstd.decompress(data) if data[:4] == b"\x28\xb5\x2f\xfd" else bytes(data)


def _storage_suffix(path: Path) -> str:
    suffix = Path(path.stem).suffix if path.suffix == ".zstd" else path.suffix
    return suffix if suffix in STORAGE_SUFFIXES else ""


def _ends_like_mcap(path: Path) -> bool:
    magic = b"\x89MCAP0\r\n"
    with path.open("rb") as file:
        if file.seek(0, 2) < 2 * len(magic):
            return False
        file.seek(-len(magic), 2)
        return file.read() == magic


def _merged(topics: Iterable[BagTopic]) -> dict[str, BagTopic]:
    """One entry per name: the parts of a split bag, and several publishers on one topic, are counted together."""
    merged: dict[str, BagTopic] = {}
    for topic in topics:
        known = merged.get(topic.name, replace(topic, qos=(), count=0))
        merged[topic.name] = replace(known, qos=(*known.qos, *topic.qos), count=known.count + topic.count)
    return merged
