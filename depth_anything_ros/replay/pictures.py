"""A video or a folder of pictures as the bag of a camera: an image topic and, where the camera is known, its camera_info."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import cv2
import numpy as np

from depth_anything_ros.errors import InputError
from depth_anything_ros.files import find_pictures, grabbed_picture, read_picture
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.paths import user_path
from depth_anything_ros.replay.calibration_file import calibration_of_k, read_calibration
from depth_anything_ros.replay.source import STAMP_END, Head, LostPicture, SourceOptions, is_video
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import FOREVER_NS, BagMessage, BagTopic
from depth_anything_ros.ros.camera_bag import CAMERA_INFO, CAMERA_QOS, FRAME_ID, IMAGE, START_NS, check_rate
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.messages import image_from
from depth_anything_ros.types import UInt8Array

IMAGE_RAW = "/camera/image_raw"
_IMAGE_TYPE, _INFO_TYPE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
_FOLDER_RATE = 10.0


class PictureSource:
    """See `source.Source`. Stamps are made up: the first picture has `camera_bag.START_NS`, the others follow by the rate."""

    def __init__(self, options: SourceOptions) -> None:
        path = user_path(options.path)
        self.warnings: list[str] = []
        self._pictures: _Pictures = _Video(path) if is_video(path) else _Folder(path)
        self._rate = self._pictures.rate if options.rate is None else options.rate
        check_rate(self._rate)
        self._messages = BagMessages(ros2_types())
        self._calibration = self._read_calibration(options)
        self._image = IMAGE_RAW if self._calibration is not None and self._calibration.distorted else IMAGE
        self.start_ns = START_NS
        self.indexed = True

    @cached_property
    def topics(self) -> dict[str, BagTopic]:
        kinds = {self._image: _IMAGE_TYPE, CAMERA_INFO: _INFO_TYPE}
        if self._calibration is None:
            del kinds[CAMERA_INFO]
        count = self._pictures.count()
        return {name: BagTopic(name, kind, (CAMERA_QOS,), count) for name, kind in kinds.items()}

    def heads(self, images: Collection[str], infos: Collection[str]) -> Iterator[Head]:
        info = None
        for index in range(self._pictures.count()):
            stamp = self._stamp(index)
            if self._calibration is not None:
                info = self._info(stamp) if info is None else info[:4] + self._time(stamp) + info[STAMP_END:]
                yield Head(CAMERA_INFO, stamp, info)
            yield Head(self._image, stamp, bytes(4) + self._time(stamp))

    def messages(self, names: Collection[str], start_ns: int = 0, stop_ns: int = FOREVER_NS) -> Iterator[BagMessage | LostPicture]:
        first = max(0, int((start_ns - START_NS) * 1e-9 * self._rate))
        while self._stamp(first) < start_ns:
            first += 1
        for index, rgb in self._pictures.read(first):
            stamp = self._stamp(index)
            if stamp >= stop_ns:
                return
            if CAMERA_INFO in names and self._calibration is not None:
                yield BagMessage(CAMERA_INFO, stamp, self._info(stamp))
            if self._image in names and isinstance(rgb, InputError):
                yield LostPicture(self._image, stamp, rgb)
            elif self._image in names:
                yield BagMessage(self._image, stamp, self._picture(rgb, stamp))

    def __enter__(self) -> PictureSource:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pictures.close()

    def _read_calibration(self, options: SourceOptions) -> Calibration | None:
        if options.calibration is not None:
            return read_calibration(options.calibration)
        if options.k is None:
            return None
        for _, rgb in self._pictures.read(0):
            if not isinstance(rgb, InputError):
                return calibration_of_k(options.k, rgb.shape[1], rgb.shape[0])
        raise InputError("input.file", f"No picture of {options.path} can be read.")

    def _stamp(self, index: int) -> int:
        return START_NS + round(index * 1e9 / self._rate)

    @staticmethod
    def _time(stamp: int) -> bytes:
        seconds, nanoseconds = divmod(stamp, 1_000_000_000)
        return seconds.to_bytes(4, "little") + nanoseconds.to_bytes(4, "little")

    def _header(self, stamp: int) -> Any:
        seconds, nanoseconds = divmod(stamp, 1_000_000_000)
        time = self._messages.make("builtin_interfaces/msg/Time", sec=seconds, nanosec=nanoseconds)
        return self._messages.make("std_msgs/msg/Header", stamp=time, frame_id=FRAME_ID)

    def _picture(self, rgb: UInt8Array, stamp: int) -> bytes:
        return bytes(self._messages.bytes_of(image_from(self._messages.make, self._header(stamp), rgb, "rgb8")))

    def _info(self, stamp: int) -> bytes:
        camera = self._calibration
        assert camera is not None
        message = self._messages.make(
            _INFO_TYPE,
            header=self._header(stamp),
            width=camera.width,
            height=camera.height,
            distortion_model=camera.distortion_model,
            d=list(camera.d),
            k=list(camera.k),
            r=np.eye(3).ravel().tolist(),
            p=list(camera.p),
        )
        return bytes(self._messages.bytes_of(message))


def _read(read: Callable[..., UInt8Array], *arguments: object) -> UInt8Array | InputError:
    """A picture, or why there is none: one that is damaged does not cost the others their depth."""
    try:
        return read(*arguments)
    except InputError as error:
        return error


class _Pictures(Protocol):
    rate: float

    def count(self) -> int: ...
    def read(self, first: int) -> Iterator[tuple[int, UInt8Array | InputError]]: ...
    def close(self) -> None: ...


class _Folder:
    def __init__(self, path: Path) -> None:
        self._paths = find_pictures([str(path)])
        self.rate = _FOLDER_RATE

    def count(self) -> int:
        return len(self._paths)

    def read(self, first: int) -> Iterator[tuple[int, UInt8Array | InputError]]:
        for index, path in enumerate(self._paths[first:], first):
            yield index, _read(read_picture, path)

    def close(self) -> None:
        pass


class _Video:
    """Read from the front, since seeking in a compressed video lands where it likes; going on from the last place needs no new start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._capture, self._next = self._open(), 0
        self.rate = self._capture.get(cv2.CAP_PROP_FPS)
        self._count: int | None = None

    def count(self) -> int:
        """Pictures that can really be decoded; what the file says of itself is an estimate."""
        if self._count is None:
            capture, self._count = self._open(), 0
            while capture.grab():
                self._count += 1
            capture.release()
        return self._count

    def read(self, first: int) -> Iterator[tuple[int, UInt8Array | InputError]]:
        if first < self._next:
            self._capture.release()
            self._capture, self._next = self._open(), 0
        while self._capture.grab():
            index = self._next
            self._next += 1
            if index >= first:
                yield index, _read(grabbed_picture, self._capture, self._path, index)

    def close(self) -> None:
        self._capture.release()

    def _open(self) -> Any:
        capture = cv2.VideoCapture(str(self._path))
        if not capture.isOpened():
            raise InputError("input.file", f"Video {self._path} cannot be opened by OpenCV.")
        return capture
