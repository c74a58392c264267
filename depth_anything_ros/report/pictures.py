"""Pictures of one camera at chosen times, as the replay saw them."""

from __future__ import annotations

from collections.abc import Collection

from depth_anything_ros.errors import InputError
from depth_anything_ros.replay.cameras import Camera
from depth_anything_ros.replay.index import read_index
from depth_anything_ros.replay.source import SourceOptions, open_source
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.calibration import Match
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.picture import PictureMaker
from depth_anything_ros.ros.topics import CAMERA_INFO
from depth_anything_ros.types import UInt8Array


def pictures_at(recording: SourceOptions, camera: Camera, stamps: Collection[int], rectify: str) -> dict[int, UInt8Array]:
    """uint8 RGB [H, W, 3] by stamp (of the header, nanoseconds). rectify: the node's parameter."""
    messages, maker, found = BagMessages(ros2_types()), PictureMaker(camera.base, rectify), {}
    with open_source(recording) as reader:
        index = read_index(reader, [camera])
        infos = [messages.read(data, CAMERA_INFO) for data in index.calibrations]
        for number, one in enumerate(reader.messages([camera.image])):
            if index.cameras[camera.image].stamps[number] not in stamps:
                continue
            calibration, exact = index.cameras[camera.image].calibration(number)
            try:
                message = messages.read(one.data, camera.type)
                frame = maker.picture(message, Match(infos[calibration], exact) if calibration >= 0 else None, 0.0).frame
            except InputError:
                continue  # the replay has counted and named it
            found[stamp_ns(message.header.stamp)] = frame.pixels[:, :, ::-1] if frame.bgr else frame.pixels
    return found
