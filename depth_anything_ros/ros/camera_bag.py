"""Writes the bag of a camera from pictures: image, camera_info and, where they are known, the true depth and the pose as TF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.typesys.store import Typestore

from depth_anything_ros.errors import OptionError
from depth_anything_ros.geometry import quaternion_of
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.messages import camera_info_from, image_from
from depth_anything_ros.types import Float32Array, Intrinsics, UInt8Array

IMAGE, CAMERA_INFO, TRUTH, TF = "/camera/image_rect", "/camera/camera_info", "/camera/truth/depth", "/tf"
FRAME_ID, WORLD_FRAME = "camera_optical_frame", "odom"
START_NS = 1_700_000_000 * 1_000_000_000
"""Stamp of the first picture: fixed, so that the same pictures give the same bag."""
_SLOWEST, _FASTEST = 1e-3, 1e6
_FOREVER = QosTime(9223372036, 854775807)


def _reliable(depth: int) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        depth,
        QosReliability.RELIABLE,
        QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        avoid_ros_namespace_conventions=False,
    )


CAMERA_QOS = _reliable(10)
NODE_QOS = _reliable(5)
"""What the depth node offers, see `qos.output`."""
LATCHED_QOS = _reliable(1)._replace(durability=QosDurability.TRANSIENT_LOCAL)
"""The same for `depth/scale`."""


def check_rate(rate: float) -> None:
    """Raises OptionError for pictures per second whose stamps are not possible or do not differ."""
    if not _SLOWEST <= rate <= _FASTEST:
        raise OptionError("option.range", f"Rate {rate:g} must be {_SLOWEST:g} to {_FASTEST:g} pictures per second; give a --rate.")


@dataclass(frozen=True)
class Shot:
    """One picture of a rectified camera."""

    rgb: UInt8Array
    """uint8 [H, W, 3]."""
    intrinsics: Intrinsics
    depth: Float32Array | None = None
    """float32 [H, W], metres along z, NaN where it is not known; None for a camera without ground truth."""
    pose: NDArray[np.float64] | None = None
    """[4, 4], takes points of the camera (optical frame) to the world; None where it is not known."""


def write_camera_bag(folder: Path, shots: Iterable[Shot], rate: float, storage: str = "mcap") -> dict[str, int]:
    """Write a bag with one shot every 1/rate seconds; returns the number of messages per topic.

    Raises OptionError (folder exists, unknown storage, impossible rate), InputError (cannot be written), and what taking the shots raises;
    nothing is left at `folder` then.
    """
    check_rate(rate)
    with BagWriter(folder, storage, whole=True) as bag:
        messages = _Messages(bag.types)
        for name, kind in ((IMAGE, "Image"), (CAMERA_INFO, "CameraInfo")):
            bag.add_topic(name, f"sensor_msgs/msg/{kind}", [CAMERA_QOS])
        for index, shot in enumerate(shots):
            stamp_ns = START_NS + round(index * 1e9 / rate)
            if shot.pose is not None:
                if TF not in bag.counts:
                    bag.add_topic(TF, "tf2_msgs/msg/TFMessage", [CAMERA_QOS])
                bag.write(TF, stamp_ns, messages.transform(shot.pose, stamp_ns))
            bag.write(CAMERA_INFO, stamp_ns, messages.camera_info(shot.intrinsics, stamp_ns))
            bag.write(IMAGE, stamp_ns, messages.image(shot.rgb, "rgb8", stamp_ns))
            if shot.depth is not None:
                if TRUTH not in bag.counts:
                    bag.add_topic(TRUTH, "sensor_msgs/msg/Image", [CAMERA_QOS])
                bag.write(TRUTH, stamp_ns, messages.image(shot.depth, "32FC1", stamp_ns))
    return bag.counts


class _Messages:
    """Serialised messages, made without ROS."""

    def __init__(self, types: Typestore) -> None:
        self._messages = BagMessages(types)

    def image(self, values: NDArray[Any], encoding: str, stamp_ns: int) -> memoryview:
        return self._messages.bytes_of(image_from(self._messages.make, self._header(stamp_ns), values, encoding))

    def camera_info(self, camera: Intrinsics, stamp_ns: int) -> memoryview:
        header, size = self._header(stamp_ns), (camera.width, camera.height)
        return self._messages.bytes_of(camera_info_from(self._messages.make, header, camera, size, None))

    def transform(self, pose: NDArray[np.float64], stamp_ns: int) -> memoryview:
        make = self._messages.make
        x, y, z = map(float, pose[:3, 3])
        transform = make(
            "geometry_msgs/msg/Transform",
            translation=make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
            rotation=make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", quaternion_of(pose[:3, :3])))),
        )
        header = self._header(stamp_ns, WORLD_FRAME)
        stamped = make("geometry_msgs/msg/TransformStamped", header=header, child_frame_id=FRAME_ID, transform=transform)
        return self._messages.bytes_of(make("tf2_msgs/msg/TFMessage", transforms=[stamped]))

    def _header(self, stamp_ns: int, frame_id: str = FRAME_ID) -> Any:
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        stamp = self._messages.make("builtin_interfaces/msg/Time", sec=seconds, nanosec=nanoseconds)
        return self._messages.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id)
