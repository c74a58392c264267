"""Reads an MCAP file from the front, without its index: all whole messages before the place where it is cut or damaged.

The layout is the MCAP specification's (https://mcap.dev/spec): a magic number, then records of an opcode byte, a length (uint64) and a
body; a chunk holds further records, plain, lz4 or zstd. Lengths are believed only as far as bytes are there, so memory stays bounded.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import lz4.frame
from rosbags.interfaces import Qos
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import parse_qos

from depth_anything_ros.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x89MCAP0\r\n"
LARGEST_RECORD = 1 << 28
"""Bytes; a longer message or schema is taken as damage."""
_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
_PIECE = 1 << 16


class _Damage(Exception):
    """The bytes end, or stop making sense, here."""


@dataclass
class SalvagedTopic:
    name: str
    type: str
    qos: list[Qos]
    definition: str
    count: int = 0


class McapSalvage:
    """One pass over the file at construction finds the topics, the number of whole messages and the damage.

    damage: why the rest cannot be read, or "" when the data section is whole. Raises InputError when the file is no MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._channels: dict[int, SalvagedTopic] = {}
        self._schemas: dict[int, tuple[str, str]] = {}
        """Number to name and definition of a type."""
        self.damage = ""
        self.start_ns = 2**63 - 1
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError("input.bag", f"{path} is no MCAP file: it does not start with MCAP's magic number.")
        for name, stamp_ns, _ in self.messages():
            self._topic(name).count += 1
            self.start_ns = min(self.start_ns, stamp_ns)

    @property
    def topics(self) -> list[SalvagedTopic]:
        return list(self._channels.values())

    @property
    def count(self) -> int:
        return sum(topic.count for topic in self._channels.values())

    def messages(self) -> Iterator[tuple[str, int, bytes]]:
        """(topic, log time in nanoseconds, CDR bytes) in the order of the file."""
        with self._path.open("rb") as file:
            file.seek(len(MAGIC))
            try:
                yield from self._records(_FileBytes(file))
            except _Damage as damage:
                self.damage = str(damage)

    def _topic(self, name: str) -> SalvagedTopic:
        return next(topic for topic in self._channels.values() if topic.name == name)

    def _records(self, source: _FileBytes | _ChunkBytes) -> Iterator[tuple[str, int, bytes]]:
        """Messages of the file, or of a chunk inside it."""
        while not source.ended():
            opcode, length = struct.unpack("<BQ", source.read(9))
            if opcode in (_DATA_END, _FOOTER):
                return
            if opcode == _CHUNK and isinstance(source, _FileBytes):
                yield from self._chunk(source, length)
                continue
            body = source.read(length)
            if opcode == _MESSAGE:
                channel = self._channels.get(_field("<H", body, 0))
                if channel is None:
                    raise _Damage("holds a message of an undeclared channel")
                yield channel.name, _field("<Q", body, 6), body[22:]
            elif opcode == _SCHEMA:
                self._schemas[_field("<H", body, 0)] = _schema(body)
            elif opcode == _CHANNEL:
                self._declare(body)
        if isinstance(source, _FileBytes):
            raise _Damage("ends without MCAP's closing records")

    def _chunk(self, file: _FileBytes, length: int) -> Iterator[tuple[str, int, bytes]]:
        (name_length,) = struct.unpack("<28xI", file.read(32))
        compression = file.read(name_length).decode(errors="replace")
        (packed,) = struct.unpack("<Q", file.read(8))
        if packed + 40 + name_length != length:
            raise _Damage("holds a chunk whose lengths contradict each other")
        end = file.position() + packed
        yield from self._records(_ChunkBytes(file.pieces(packed), compression))
        file.go_to(end)

    def _declare(self, body: bytes) -> None:
        number, schema = _field("<H", body, 0), _field("<H", body, 2)
        name, at = _text(body, 4)
        _, at = _text(body, at)
        end = at + 4 + _field("<I", body, at)
        at += 4
        qos: list[Qos] = []
        while at < end:
            key, at = _text(body, at)
            value, at = _text(body, at)
            if key == "offered_qos_profiles":
                qos = _profiles(value)
        type_name, definition = self._schemas.get(schema, ("", ""))
        self._channels.setdefault(number, SalvagedTopic(name, type_name, qos, definition))


class _FileBytes:
    """The file behind the current position, bounded by its true size."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        at = file.tell()
        self._size = file.seek(0, 2)
        file.seek(at)

    def position(self) -> int:
        return self._file.tell()

    def go_to(self, position: int) -> None:
        if position > self._size:
            raise _Damage("is cut in the middle of a chunk")
        self._file.seek(position)

    def ended(self) -> bool:
        return self._file.tell() == self._size

    def read(self, count: int) -> bytes:
        if count > min(self._size - self._file.tell(), LARGEST_RECORD):
            raise _Damage("is cut in the middle of a record, or holds a senseless length")
        return self._file.read(count)

    def pieces(self, count: int) -> Iterator[bytes]:
        """The next `count` bytes, or those of them that are there."""
        while count > 0 and (piece := self._file.read(min(count, _PIECE))):
            count -= len(piece)
            yield piece


class _ChunkBytes:
    """The decompressed bytes of a chunk, as far as they can be had; a damaged end shows as the end."""

    def __init__(self, pieces: Iterator[bytes], compression: str) -> None:
        self._pieces = _decompressed(pieces, compression)
        self._held = bytearray()

    def ended(self) -> bool:
        self._fill(1)
        return not self._held

    def read(self, count: int) -> bytes:
        if count > LARGEST_RECORD:
            raise _Damage("holds a senseless length")
        self._fill(count)
        if len(self._held) < count:
            raise _Damage("is cut in the middle of a chunk")
        data = bytes(self._held[:count])
        del self._held[:count]
        return data

    def _fill(self, count: int) -> None:
        while len(self._held) < count:
            piece = next(self._pieces, None)
            if piece is None:
                return
            self._held += piece


def _decompressed(pieces: Iterator[bytes], compression: str) -> Iterator[bytes]:
    if compression == "":
        yield from pieces
        return
    if compression not in ("lz4", "zstd"):
        raise _Damage(f"holds a chunk compressed with {compression!r}; known are lz4 and zstd")
    decompressor = lz4.frame.LZ4FrameDecompressor() if compression == "lz4" else zstd.ZstdDecompressor()
    try:
        for piece in pieces:
            yield decompressor.decompress(piece, _PIECE)
            while not (decompressor.needs_input or decompressor.eof):
                yield decompressor.decompress(b"", _PIECE)
    except (zstd.ZstdError, RuntimeError, EOFError) as error:
        raise _Damage(f"holds a damaged {compression} chunk ({error})") from error


def _field(layout: str, body: bytes, at: int) -> int:
    if at + struct.calcsize(layout) > len(body):
        raise _Damage("holds a record that is too short")
    return int(struct.unpack_from(layout, body, at)[0])


def _schema(body: bytes) -> tuple[str, str]:
    name, at = _text(body, 2)
    _, at = _text(body, at)
    return name, _text(body, at)[0]


def _text(body: bytes, at: int) -> tuple[str, int]:
    """A string with its length in front, and where it ends."""
    end = at + 4 + _field("<I", body, at)
    if end > len(body):
        raise _Damage("holds a record that is too short")
    return body[at + 4 : end].decode(errors="replace"), end


def _profiles(text: str) -> list[Qos]:
    try:
        return parse_qos(text)
    except (ReaderError, KeyError, TypeError) as error:
        raise _Damage(f"holds unreadable QoS profiles ({error})") from error
