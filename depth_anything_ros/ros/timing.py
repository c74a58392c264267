"""`depth/timing`: a DiagnosticArray per frame. Live and in bags; imports no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from depth_anything_ros.ros.messages import MakeMessage
from depth_anything_ros.types import Products

TIMING_KEYS = ("preprocess", "compute", "postprocess", "infer", "maps", "points", "color", "total", "age")
"""Keys of `depth/timing` in milliseconds; `dropped` and `processed` (counts) follow."""


def timing_array(
    make: MakeMessage, header: Any, node_name: str, products: Products, total: float, age: float, counts: Mapping[str, int]
) -> Any:
    """`depth/timing` of one frame. total: seconds from taking the frame to its last image; age: seconds from its stamp until then."""
    seconds = {**products.timings, "total": total, "age": age}
    values = {f"{key}_ms": f"{1e3 * seconds[key]:.3f}" for key in TIMING_KEYS}
    values.update({key: str(count) for key, count in counts.items()})
    pairs = [make("diagnostic_msgs/msg/KeyValue", key=key, value=value) for key, value in values.items()]
    status = make(
        "diagnostic_msgs/msg/DiagnosticStatus", name=f"{node_name}: timing", hardware_id=products.frame.frame_id, level=b"\0", values=pairs
    )
    return make("diagnostic_msgs/msg/DiagnosticArray", header=header, status=[status])
