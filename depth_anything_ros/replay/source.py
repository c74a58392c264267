"""What can be replayed: bags, and pictures that look like the bag of a camera."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.files import PICTURE_SUFFIXES, VIDEO_SUFFIXES
from depth_anything_ros.paths import user_path
from depth_anything_ros.ros.bag_reader import FOREVER_NS, STORAGE_SUFFIXES, BagMessage, BagReader, BagTopic

STAMP_END = 12
"""Bytes of CDR up to the end of the header's stamp."""


class Head(NamedTuple):
    """A message before it is read: for pictures only its first `STAMP_END` bytes."""

    topic: str
    stamp_ns: int
    """When it was recorded."""
    data: bytes


class LostPicture(NamedTuple):
    """In the place of a message: a picture that cannot be read, of a video or a folder."""

    topic: str
    stamp_ns: int
    problem: InputError

    @property
    def data(self) -> bytes:
        """None of it is there."""
        return b""


@dataclass(frozen=True)
class SourceOptions:
    """What the recording is, and what pictures alone do not say. Raises OptionError for two cameras."""

    path: Path
    k: tuple[float, float, float, float] | None = None
    """fx, fy, cx, cy of rectified pictures, in pixels."""
    calibration: Path | None = None
    """File of ``camera_calibration``."""
    rate: float | None = None
    """Pictures per second; None takes the video's own, and 10 for a folder."""

    def __post_init__(self) -> None:
        if self.k is not None and self.calibration is not None:
            raise OptionError("option.range", "Give --k or --calibration, not both.")


class Source(Protocol):
    """A recording that is open. Also a context manager."""

    warnings: list[str]

    @property
    def topics(self) -> Mapping[str, BagTopic]: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def indexed(self) -> bool: ...
    def heads(self, images: Collection[str], infos: Collection[str]) -> Iterator[Head]: ...
    def messages(self, names: Collection[str], start_ns: int = 0, stop_ns: int = FOREVER_NS) -> Iterator[BagMessage | LostPicture]: ...
    def __enter__(self) -> Source: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class BagSource(BagReader):
    """A bag."""

    def heads(self, images: Collection[str], infos: Collection[str]) -> Iterator[Head]:
        for topic, stamp_ns, data in self.messages({*images, *infos}):
            yield Head(topic, stamp_ns, data[:STAMP_END] if topic in images else data)


def open_source(options: SourceOptions) -> Source:
    """Open a bag, a video or a folder of pictures. Raises InputError (cannot be read), OptionError (flags that do not fit)."""
    path = user_path(options.path)
    if is_video(path) or _is_picture_folder(path):
        from depth_anything_ros.replay.pictures import PictureSource

        return PictureSource(options)
    given = [name for name in ("k", "calibration", "rate") if getattr(options, name) is not None]
    if given:
        raise OptionError(
            "option.range",
            f"--{given[0]} is for videos and folders of pictures; for a bag without camera_info there is the parameter focal.",
        )
    return BagSource(path)


def is_video(path: Path) -> bool:
    return path.suffix.lower() in VIDEO_SUFFIXES and path.is_file()


def _is_picture_folder(path: Path) -> bool:
    """A folder that holds pictures and nothing of a bag."""
    if not path.is_dir() or (path / "metadata.yaml").exists():
        return False
    suffixes = {child.suffix.lower() for child in path.iterdir()}
    return bool(suffixes & PICTURE_SUFFIXES) and not suffixes & {*STORAGE_SUFFIXES, ".zstd"}
