"""`depth/timing`: a DiagnosticArray per frame. Live and in bags; imports no ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from depth_anything_ros.ros.messages import MakeMessage

TIMING_KEYS = ("wait", "prepare", "preprocess", "compute", "postprocess", "infer", "maps", "points", "color", "total", "age")
"""Keys of `depth/timing` in milliseconds; counts such as `dropped` and `processed` follow.

wait: from the arrival of the message until the engine is free for it, the preparation apart. prepare: decoding, rectifying. infer: the
three stages of the engine together. total: from the arrival until the last message is out. age: from the stamp until then,
NaN while simulated time has not begun.
"""


def timing_array(make: MakeMessage, header: Any, node_name: str, seconds: Mapping[str, float], counts: Mapping[str, int]) -> Any:
    """`depth/timing` of one frame. seconds: by `TIMING_KEYS`; those that are not there do not apply, and are NaN."""
    values = {f"{key}_ms": f"{1e3 * seconds.get(key, math.nan):.3f}" for key in TIMING_KEYS}
    values.update({key: str(count) for key, count in counts.items()})
    pairs = [make("diagnostic_msgs/msg/KeyValue", key=key, value=value) for key, value in values.items()]
    status = make(
        "diagnostic_msgs/msg/DiagnosticStatus", name=f"{node_name}: timing", hardware_id=header.frame_id, level=b"\0", values=pairs
    )
    return make("diagnostic_msgs/msg/DiagnosticArray", header=header, status=[status])
