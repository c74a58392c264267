"""One camera: its input, the stages that its frames go through, its outputs, its health.

Everything of rclpy is made and destroyed on the executor's thread; the stages run on the threads of the engine room.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from depth_anything_ros.engine_room import Desk
from depth_anything_ros.errors import DepthAnythingError, InputError, described
from depth_anything_ros.pipeline import Finisher, WantedProducts, predict
from depth_anything_ros.ros import calibration, diagnostics
from depth_anything_ros.ros.camera_input import CameraInput
from depth_anything_ros.ros.live_messages import make_live
from depth_anything_ros.ros.messages import stamp_ns
from depth_anything_ros.ros.outputs import Outputs
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.picture import Picture, PictureMaker, encoding_of
from depth_anything_ros.ros.scale_tracking import ScaleTracking
from depth_anything_ros.ros.snapshot import Snapshot
from depth_anything_ros.ros.throttle import LogThrottle
from depth_anything_ros.ros.timing import timing_array
from depth_anything_ros.ros.topics import POINTS, TIMING, wanted_products
from depth_anything_ros.types import Float32Array, Frame, InfersDepth, Prediction, Products, Scale

_YIELD = 5e-4
"""Seconds that the executor leaves the interpreter to the engine's thread, which has a picture now: what rclpy does before it waits for
the next message takes longer than what that thread does before it is in native code."""


class NodeEngine(InfersDepth, Protocol):
    """What the node needs of an engine beyond the pipeline."""

    def warm_up(self, width: int, height: int) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Arrival:
    """A message as it came, and when (`time.perf_counter`)."""

    message: Any
    at: float


@dataclass(frozen=True)
class _Prepared:
    picture: Picture
    options: NodeOptions
    arrived: float
    seconds: float


@dataclass(frozen=True)
class _Inferred:
    prepared: _Prepared
    prediction: Prediction
    wanted: WantedProducts
    topics: frozenset[str]
    snapshot: Snapshot | None
    taken: float


class CameraStream:
    """The `Stages` of one camera for the engine room. From construction to `destroy`: publishers."""

    def __init__(
        self,
        node: Node,
        name: str,
        engine: NodeEngine,
        options: Callable[[], NodeOptions],
        desk: Callable[[], Desk | None],
        scale: ScaleTracking,
    ) -> None:
        """name: sub-namespace of the camera's topics, empty for none. options: gives the options of the moment; called once per frame.

        desk: where the messages go as they come; None while nothing is at work. scale: of this camera.
        """
        self.name = name
        self._node = node
        self._engine = engine
        self._options = options
        self._desk = desk
        self._scale = scale
        self._input = CameraInput(node, name, options().image_transport, self._take)
        self._outputs = Outputs(node, name, engine.info)
        self._pictures = PictureMaker(self._input.image_topic, options().rectify)
        self._finisher = Finisher(self._scale_of, self._steady)
        self._health = diagnostics.Health()
        self._faults = LogThrottle()
        self._remarks = LogThrottle(period=math.inf)
        self._points_at = -math.inf
        self._snapshot: Snapshot | None = None

    # executor's thread, the engine room standing still

    def use(self, engine: NodeEngine) -> None:
        """From now on with another engine."""
        self._engine = engine
        self._outputs.adapt(engine.info)
        self._begin_anew()

    def reset(self) -> None:
        """Forget what was seen: calibrations, the scale, steadied depth, the range of the colours."""
        self._input.reset()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._scale.reset()
        self._finisher = Finisher(self._scale_of, self._steady)
        self._remarks = LogThrottle(period=math.inf)
        self._points_at = -math.inf

    def count_anew(self) -> None:
        """With a new engine room, whose counts begin at 0 too."""
        self._health = diagnostics.Health()

    def destroy(self) -> None:
        self._input.unsubscribe()
        self._scale.destroy()
        self._outputs.destroy()

    # executor's thread

    def follow_listeners(self, enabled: bool) -> None:
        """Subscribe the camera while an output has a subscriber or a snapshot is asked for; to be called a few times a second."""
        listening = enabled and (self._snapshot is not None or bool(self._outputs.listened()))
        if listening:
            self._input.subscribe()
        else:
            self._input.unsubscribe()
        self._scale.follow(self._options(), listening)
        self._note_silence()
        message = self._scale.news(self._node.get_name())
        if message is not None:
            self._outputs.publish_scale(message)

    def introduce(self) -> None:
        """Log where the pictures come from and where depth goes, and that it goes nowhere unheard."""
        prefix = f"{self.name}/" if self.name else ""
        metres, relative = (self._node.resolve_topic_name(prefix + one) for one in ("depth/image_rect", "relative/image"))
        text = f"Pictures from {self._input.picture_topic}; depth in metres on {metres}, else on {relative}, while somebody subscribes."
        self._node.get_logger().info(text)

    def take_snapshot(self, snapshot: Snapshot | None) -> None:
        """Of the next picture; None takes the wish back."""
        self._snapshot = snapshot

    def background_failed(self, text: str) -> None:
        self._scale.background_failed(text)

    def statuses(self, node_name: str) -> list[DiagnosticStatus]:
        facts = {"topic": self._input.picture_topic, "publishers": str(self._input.publishers())}
        dropped = self._dropped()
        facts.update({key: str(count) for key, count in dropped.items()})
        name = f"{node_name}: camera {self.name}".rstrip()
        health = self._health.status(name, self._engine.info.device, self._input.subscribed, facts, dropped.get("expired", 0))
        return [health, *self._scale.statuses(node_name)]

    def _take(self, message: Any) -> None:
        desk = self._desk()
        if desk is not None:
            self._health.count_received()
            desk.offer(Arrival(message, time.perf_counter()))
            time.sleep(_YIELD)

    def _dropped(self) -> dict[str, int]:
        desk = self._desk()
        return {"dropped": desk.dropped, "expired": desk.expired} if desk is not None else {}

    # the engine room's threads

    def interval(self) -> float:
        rate = self._options().max_rate
        return 1.0 / rate if rate > 0.0 else 0.0

    def too_old(self, frame: Arrival) -> bool:
        limit = self._options().max_age
        return limit > 0.0 and self._age(frame.message.header) > limit

    def prepare(self, frame: Arrival) -> _Prepared:
        started, options = time.perf_counter(), self._options()
        match = self._input.infos.match(stamp_ns(frame.message.header.stamp))
        picture = self._pictures.picture(frame.message, match, options.focal)
        self._note_calibration(picture.view)
        self._note_input(frame.message)
        return _Prepared(picture, options, frame.at, time.perf_counter() - started)

    def infer(self, prepared: _Prepared) -> _Inferred | None:
        taken, topics, snapshot = time.perf_counter(), self._outputs.listened(), self._snapshot
        if not topics and snapshot is None:
            self._health.count_unheard()
            return None
        topics = self._without_points_that_are_not_due(topics, prepared.options.points_rate, taken)
        wanted = wanted_products(topics) if snapshot is None else WantedProducts(color=True)
        doubts = self._scale.scale_of is not None
        prediction = predict(prepared.picture.frame, self._engine, prepared.options.processing, wanted, doubts=doubts)
        return _Inferred(prepared, prediction, wanted, topics, snapshot, taken)

    def finish(self, result: _Inferred | None) -> None:
        if result is None:
            return
        prepared, options = result.prepared, result.prepared.options
        products = self._finisher.finish(prepared.picture.frame, result.prediction, options.processing, result.wanted)
        self._scale.note(products, options.processing)
        self._outputs.publish(result.topics, products, prepared.picture, options.depth_encoding)
        age = self._age(prepared.picture.header)
        self._health.count_processed(products.timings["infer"], age)
        if result.snapshot is not None:
            if self._snapshot is result.snapshot:  # by now it may be the next wish
                self._snapshot = None
            result.snapshot.write(self.name, products, prepared.picture.header)
        if TIMING in result.topics:
            self._publish_timing(result, products, time.perf_counter(), age)

    def failed(self, error: Exception) -> None:
        rejected, text = isinstance(error, InputError), described(error)
        self._health.count_trouble(text, rejected=rejected)
        if not self._faults.passes(text):
            return
        if rejected:
            self._node.get_logger().warning(f"Picture refused: {text}")
        else:
            known = isinstance(error, DepthAnythingError)
            trace = "" if known else "\n" + "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._node.get_logger().error(f"Frame lost: {text}{trace}")

    def _scale_of(self, frame: Frame, prediction: Prediction) -> Scale | None:
        ask = self._scale.scale_of  # of the source of the moment
        return None if ask is None else ask(frame, prediction)

    def _steady(self, frame: Frame, depth: Float32Array, metric: bool) -> Float32Array:
        hold = self._scale.steady
        return depth if hold is None else hold(frame, depth, metric)

    def _without_points_that_are_not_due(self, topics: frozenset[str], rate: float, now: float) -> frozenset[str]:
        if POINTS in topics and rate > 0.0:
            if now - self._points_at < 1.0 / rate:
                return topics - {POINTS}
            self._points_at = now
        return topics

    def _age(self, header: Any) -> float:
        """Seconds since the stamp; NaN while simulated time has not begun."""
        now = self._node.get_clock().now().nanoseconds
        return (now - stamp_ns(header.stamp)) * 1e-9 if now else math.nan

    def _publish_timing(self, result: _Inferred, products: Products, published: float, age: float) -> None:
        seconds = {
            **products.timings,
            "wait": result.taken - result.prepared.arrived - result.prepared.seconds,
            "prepare": result.prepared.seconds,
            "total": published - result.prepared.arrived,
            "age": age,
        }
        header = result.prepared.picture.header
        message = timing_array(make_live, header, self._node.get_name(), seconds, {**self._health.counts(), **self._dropped()})
        self._outputs.publish_timing(message)

    def _note_calibration(self, view: calibration.CameraView) -> None:
        self._health.note_calibration(view.source, view.problem)
        if view.problem:
            found = "No calibration" if view.source == "none" else f"Calibration from {view.source}"
            self._remark(f"{found}: {view.problem.rstrip('.')}.")
        elif self._remarks.passes(view.source):
            self._node.get_logger().info(f"Calibration from {view.source}.")

    def _note_silence(self) -> None:
        topic, seconds = self._input.picture_topic, self._health.silence()
        if self._input.subscribed and seconds > diagnostics.OUTDATED:
            why = "its publisher sends none" if self._input.publishers() else "nobody publishes it; `ros2 topic list` shows what there is"
            self._remark(f"No picture from {topic} for {diagnostics.OUTDATED:.0f} s: {why}.")

    def _note_input(self, message: Any) -> None:
        frame_id = message.header.frame_id
        if not frame_id:
            self._remark("The pictures have no frame_id; consumers cannot place the depth. Set it in the camera driver.")
        elif "optical" not in frame_id:
            self._remark(
                f"Frame {frame_id[:64]!a} does not sound like an optical one (z forward, x right, y down), which depth and cloud are in."
            )
        if encoding_of(message) == "16UC1" and "depth" in self._input.image_topic:
            self._remark(f"{self._input.image_topic} looks like a depth image; it is read as a grey picture of 16 bits.")

    def _remark(self, text: str) -> None:
        if self._remarks.passes(text):
            self._node.get_logger().warning(text)
