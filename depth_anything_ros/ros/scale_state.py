"""How well the scale is known, as a DiagnosticStatus with fixed keys: on `depth/scale` and in `/diagnostics`. Imports no ROS."""

from __future__ import annotations

from typing import Any

from depth_anything_ros.pipeline import ProcessingOptions
from depth_anything_ros.ros.messages import MakeMessage
from depth_anything_ros.scale.tracker import ScaleState
from depth_anything_ros.types import DepthKind, Products, Scale

SCALE_KEYS = ("known", "source", "value", "shift", "age_s", "spread", "accepted", "rejected", "jumps", "reason")
_OK, _WARN = b"\0", b"\1"


def state_of_frame(products: Products, options: ProcessingOptions, *, watched: bool) -> ScaleState | None:
    """What a frame says of its own metres, or lack of them; None where they are those of a source that is watched over time.

    watched: whether `scale.source` is such a source. It is not asked about frames that are in metres already.
    """
    source, factor, reason = options.scale_source, None, ""
    if products.prediction.kind is DepthKind.METRIC:
        factor = products.prediction.scale_factor or 1.0
        if source != "model":
            source, reason = "model", f"scale.source {source} is not used: the model gives metres itself"
    elif watched:
        return None
    elif products.metric:
        factor = options.scale_value
    else:
        kind = products.prediction.kind.value
        reason = f"the model gives {kind}; a metric model wants camera_info or focal, any other a scale.source that fits"
    scale, spread = (None, None) if factor is None else (Scale(factor), 0.0)
    return ScaleState(source, scale, age=None, spread=spread, accepted=0, rejected=0, jumps=0, doubted=0, refusal=reason)


def scale_status(make: MakeMessage, name: str, frame_id: str, state: ScaleState) -> Any:
    """The status of a state, under a name of its own for each node and camera.

    WARN while the scale is not known, or while estimates contradict it. ``value`` and ``shift``: z = value * depth, of inverse depth
    1 / z = value * depth + shift; empty while not known. ``spread``: relative deviation of the estimates. ``reason``: why the source gave
    nothing the last time.
    """
    scale = state.scale
    values = {
        "known": str(scale is not None).lower(),
        "source": state.source,
        "value": "" if scale is None else f"{scale.factor:.6g}",
        "shift": "" if scale is None else f"{scale.shift:.6g}",
        "age_s": "" if state.age is None else f"{state.age:.2f}",
        "spread": "" if state.spread is None else f"{state.spread:.4f}",
        "accepted": str(state.accepted),
        "rejected": str(state.rejected),
        "jumps": str(state.jumps),
        "reason": state.refusal,
    }
    level, message = _judged(state)
    pairs = [make("diagnostic_msgs/msg/KeyValue", key=key, value=values[key]) for key in SCALE_KEYS]
    return make("diagnostic_msgs/msg/DiagnosticStatus", name=name, hardware_id=frame_id, level=level, message=message, values=pairs)


def _judged(state: ScaleState) -> tuple[bytes, str]:
    if state.scale is None:
        return _WARN, "no metres: " + (state.refusal or "the scale is not known yet")
    if state.doubted:
        return _WARN, f"the last {state.doubted} estimates contradict the scale"
    return _OK, "metres are known"
