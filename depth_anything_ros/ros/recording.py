"""Messages of a recorded bag as arrays, for reports. For bags that this package wrote: packed rows, little endian."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

_PIXELS = {"rgb8": (np.uint8, 3), "mono8": (np.uint8, 1), "32FC1": (np.float32, 1)}


class Recording:
    """A bag, opened anew for every question."""

    def __init__(self, bag: Path) -> None:
        self.path = bag
        self._types = ros2_types()
        with BagReader(bag) as reader:
            self._kinds = {name: topic.type for name, topic in reader.topics.items() if topic.count}

    def __contains__(self, topic: str) -> bool:
        return topic in self._kinds

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that have messages."""
        return tuple(self._kinds)

    def messages(self, topic: str) -> Iterator[tuple[int, Any]]:
        """(time of arrival in nanoseconds, message)."""
        with BagReader(self.path) as reader:
            for message in reader.messages([topic]):
                yield message.stamp_ns, self._types.deserialize_cdr(message.data, self._kinds[topic])

    def images(self, topic: str) -> Iterator[tuple[int, Any]]:
        """(stamp of the header in nanoseconds, array) of an Image topic."""
        for _, message in self.messages(topic):
            yield stamp_of(message), pixels(message)

    def cameras(self, topic: str) -> Iterator[tuple[int, Intrinsics]]:
        """(stamp of the header in nanoseconds, K) of a CameraInfo topic."""
        for _, info in self.messages(topic):
            yield stamp_of(info), Intrinsics(info.width, info.height, *(float(info.k[index]) for index in (0, 4, 2, 5)))


def stamp_of(message: Any) -> int:
    return stamp_ns(message.header.stamp)


def pixels(image: Any) -> Any:
    """Array of an Image message: [H, W, 3] or [H, W]."""
    kind, channels = _PIXELS[image.encoding]
    array = image.data.view(kind).reshape(image.height, image.width, channels)
    return array if channels > 1 else array[..., 0]


def points(cloud: Any) -> tuple[Float32Array, UInt8Array]:
    """xyz [N, 3] and rgb [N, 3] of a PointCloud2 whose fields are float32."""
    names = [field.name for field in cloud.fields]
    layout = np.dtype(
        {
            "names": names,
            "formats": ["<f4"] * len(names),
            "offsets": [field.offset for field in cloud.fields],
            "itemsize": cloud.point_step,
        }
    )
    values = cloud.data.view(layout)
    xyz = np.stack([values[name] for name in ("x", "y", "z")], axis=1)
    bgr = np.ascontiguousarray(values["rgb"]).view(np.uint8).reshape(-1, 4)[:, :3]
    return xyz, bgr[:, ::-1]
