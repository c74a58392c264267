"""Message types by name, against the definitions that ship with ROS and those that ship with rosbags."""

from __future__ import annotations

import pytest
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import CameraInfo

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.message_classes import message_class
from depth_anything_ros.ros.message_types import register_installed


def test_class_by_name() -> None:
    assert message_class("sensor_msgs/msg/CameraInfo") is CameraInfo


@pytest.mark.parametrize("name", ["", "/", "sensor_msgs", "sensor_msgs/msg/Nothing", "nothing_msgs/msg/Thing", "os/path", "../x"])
@pytest.mark.case(61)
def test_other_names_are_none(name: str) -> None:
    assert message_class(name) is None


@pytest.mark.parametrize("name", ["sensor_msgs/msg/CameraInfo", "diagnostic_msgs/msg/DiagnosticArray", "sensor_msgs/msg/PointCloud2"])
def test_definitions_of_installed_packages(name: str) -> None:
    types = get_typestore(Stores.EMPTY)
    register_installed(types, name)
    assert types.hash_rihs01(name) == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(name)


@pytest.mark.parametrize("name", ["", "nothing_msgs/msg/Thing", "sensor_msgs/msg/Nothing"])
def test_missing_definition_is_named(name: str) -> None:
    with pytest.raises(InputError, match=name or "message type"):
        register_installed(get_typestore(Stores.EMPTY), name)
