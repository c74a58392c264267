"""Messages of the installed ROS packages, for the live graph."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField

CLASSES: dict[str, Any] = {
    "diagnostic_msgs/msg/DiagnosticArray": DiagnosticArray,
    "diagnostic_msgs/msg/DiagnosticStatus": DiagnosticStatus,
    "diagnostic_msgs/msg/KeyValue": KeyValue,
    "sensor_msgs/msg/CameraInfo": CameraInfo,
    "sensor_msgs/msg/CompressedImage": CompressedImage,
    "sensor_msgs/msg/Image": Image,
    "sensor_msgs/msg/PointCloud2": PointCloud2,
    "sensor_msgs/msg/PointField": PointField,
}
"""What the node publishes, and what that is made of."""


def make_live(type_name: str, /, **fields: Any) -> Any:
    """See `messages.MakeMessage`."""
    data = fields.pop("data", None)
    message = CLASSES[type_name](**fields)
    if data is not None:
        # The setter of `data` goes through the elements of an array or memoryview one by one (half a second for 720p); the fresh
        # message's own array takes the bytes in one copy.
        message.data.frombytes(data)
    return message
