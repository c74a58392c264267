"""Metres and steadiness of one camera's depth in the node: its source with what that reads from the graph, and how well the scale is known.

Made, followed and destroyed on the executor's thread; `scale_of` and `steady` are called on the worker's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rclpy.node import Node

from depth_anything_ros.background import Background
from depth_anything_ros.pipeline import ProcessingOptions, ScaleOf, Steady
from depth_anything_ros.ros.live_messages import make_live
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_choice import background_options, chosen_source
from depth_anything_ros.ros.scale_inputs import Inputs
from depth_anything_ros.ros.scale_state import scale_status, state_of_frame
from depth_anything_ros.ros.throttle import LogThrottle
from depth_anything_ros.ros.transforms import SharedTransforms
from depth_anything_ros.scale.steady import DepthSteadier
from depth_anything_ros.scale.tracker import ScaleState, ScaleTracker
from depth_anything_ros.types import Products


class ScaleTracking:
    """The watched sources of one camera, and its steadier. Another source or other options begin anew."""

    def __init__(self, node: Node, name: str, transforms: SharedTransforms, background: Background[Any] | None) -> None:
        """name: sub-namespace of the camera's topics, empty for none. background: with the network that some sources want."""
        self._node = node
        self._name = name
        self._transforms = transforms
        self._background = background
        self._remarks = LogThrottle(period=math.inf)
        self._of_frame: ScaleState | None = None
        """What the last frame said itself, see `state_of_frame`."""
        self._of_source = ""
        """`scale.source` as that frame had it: it may be newer than the options that were last followed."""
        self._published: ScaleState | None = None
        self._frame_id = ""
        self._options: NodeOptions | None = None
        self._tracker: ScaleTracker | None = None
        self._steadier: DepthSteadier | None = None
        self._inputs: Inputs | None = None

    # executor's thread

    def follow(self, options: NodeOptions, listening: bool) -> None:
        """Take over the options of the moment; subscribe while the camera is listened to. To be called a few times a second."""
        if self._differs(options):
            self._unsubscribe()
            self._begin(options)
        if self._inputs is not None and listening:
            self._inputs.subscribe()
        elif not listening:
            self._unsubscribe()
        self._tell(self.state())

    def news(self, node_name: str) -> Any | None:
        """A message for `depth/scale`, or None when nothing has changed since the last one but the age."""
        state = self.state()
        if state is None or (self._published is not None and replace(state, age=None) == replace(self._published, age=None)):
            return None
        self._published = state
        message = make_live("diagnostic_msgs/msg/DiagnosticArray", status=[self._status(node_name, state)])
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.header.frame_id = self._frame_id
        return message

    def statuses(self, node_name: str) -> list[Any]:
        """For `/diagnostics`."""
        state = self.state()
        return [] if state is None else [self._status(node_name, state)]

    def reset(self) -> None:
        """Forget the scale and the steadied depth."""
        self._of_frame = None
        if self._tracker is not None:
            self._tracker.reset()
        if self._steadier is not None:
            self._steadier.reset()

    def destroy(self) -> None:
        self._unsubscribe()

    # worker's thread

    @property
    def scale_of(self) -> ScaleOf | None:
        """For the pipeline; None where no source is watched."""
        tracker = self._tracker
        return None if tracker is None else tracker.scale_of

    @property
    def steady(self) -> Steady | None:
        """For the pipeline; None where nothing is held still."""
        steadier = self._steadier
        return None if steadier is None else steadier.apply

    def note(self, products: Products, options: ProcessingOptions) -> None:
        """What has come of a frame with the options that it had."""
        self._frame_id = products.frame.frame_id
        self._of_source = options.scale_source
        self._of_frame = state_of_frame(products, options, watched=self._tracker is not None)

    # any thread

    def state(self) -> ScaleState | None:
        """How well the scale is known; None before the first frame."""
        of_frame, tracker = self._of_frame, self._tracker
        return of_frame if of_frame is not None or tracker is None else tracker.state()

    def background_failed(self, text: str) -> None:
        """A job in the background failed; its text becomes the reason for the missing scale."""
        tracker = self._tracker
        if tracker is not None:
            tracker.refuse(text)

    def _status(self, node_name: str, state: ScaleState) -> Any:
        return scale_status(make_live, f"{node_name}: scale {self._name}".rstrip(), self._frame_id, state)

    def _tell(self, state: ScaleState | None) -> None:
        """Log why the source gives nothing: once, whatever numbers the reason holds."""
        if state is not None and state.refusal and self._remarks.passes(re.sub(r"\d+", "#", state.refusal)):
            what = state.refusal if state.scale is not None else f"No metres from scale.source {state.source}: {state.refusal}"
            self._node.get_logger().warning(f"{what}.")

    def _differs(self, options: NodeOptions) -> bool:
        """A constant's value too: the steadier would take another one for flicker."""

        def told(one: NodeOptions) -> tuple[object, ...]:
            constant = one.processing.scale_source == "constant"
            return one.processing.scale_source, constant and one.processing.scale_value, one.scale, one.temporal

        return self._options is None or told(self._options) != told(options)

    def _begin(self, options: NodeOptions) -> None:
        self._options = options
        if self._of_source != options.processing.scale_source:
            self._of_frame = None
        temporal = options.temporal
        self._steadier = DepthSteadier(temporal) if temporal.scale or temporal.depth else None
        source, readings = chosen_source(options, self._transforms.open, self._background)
        self._inputs = None if readings is None else Inputs(self._node, self._name, readings)
        self._tracker = None if source is None else ScaleTracker(options.processing.scale_source, source, options.scale)

    def _unsubscribe(self) -> None:
        if self._inputs is not None:
            self._inputs.unsubscribe()


def background_for(
    options: NodeOptions, load_engine: Callable[[NodeOptions], Any], failed: Callable[[Exception], None]
) -> Background[Any] | None:
    """A network beside the live one, for the sources that want one. load_engine, failed: see `Background`."""
    own = background_options(options)
    return None if own is None else Background(lambda: load_engine(own), failed)
