"""The lifecycle node: one camera in, depth out. Wiring only.

Threads: everything of rclpy that is made or destroyed is so on the executor's thread; the worker's thread takes the newest picture when
the engine is free, and publishes. Configure loads the model and warms it up, activate starts the worker, and the camera is subscribed
while somebody listens to an output.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import CameraInfo, Image

from depth_anything_ros.errors import DepthAnythingError, InputError, OptionError
from depth_anything_ros.pipeline import InfersDepth, process
from depth_anything_ros.ros import calibration, diagnostics, parameters, qos
from depth_anything_ros.ros.messages import frame_from, stamp_ns
from depth_anything_ros.ros.outputs import TIMING, Outputs, wanted_products
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.throttle import LogThrottle
from depth_anything_ros.worker import LatestFrameWorker, run_interruptibly

NODE_NAME = "depth_anything"

_WARM_UP_SIZE = (640, 480)
_TICK_SECONDS = 0.2


class NodeEngine(InfersDepth, Protocol):
    """What the node needs of an engine beyond the pipeline."""

    def warm_up(self, width: int, height: int) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class _Loaded:
    """What lives from configure to clean-up."""

    engine: NodeEngine
    outputs: Outputs


class DepthNode(LifecycleNode):
    """See the module. `failure` is the error that a transition or the worker ended with, for the process's exit code."""

    def __init__(self, load_engine: Callable[[NodeOptions], NodeEngine], stopping: Callable[[], bool]) -> None:
        """load_engine: called in configure. stopping: true once the process is asked to end. Raises what `parameters.declare` raises."""
        super().__init__(NODE_NAME)
        self.failure: Exception | None = None
        self._load_engine = load_engine
        self._stopping = stopping
        self._options = parameters.declare(self)
        self._stale = False
        self._loaded: _Loaded | None = None
        self._worker: LatestFrameWorker[Image] | None = None
        self._readers: list[object] = []
        self._image_topic = self.resolve_topic_name("image")
        self._rectified = calibration.rectified_by_name(self._image_topic, self._options.rectify)
        self._infos = calibration.CameraInfos()
        self._health = diagnostics.Health()
        self._throttle = LogThrottle()
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._watch_parameters()
        # Steady clock: with simulated time and no /clock these must run all the same.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_TICK_SECONDS, self._tick, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    # transitions

    def on_configure(self, state: State) -> TransitionCallbackReturn:
        return self._guarded("configure", self._configure)

    def on_activate(self, state: State) -> TransitionCallbackReturn:
        return self._guarded("activate", self._activate)

    def on_deactivate(self, state: State) -> TransitionCallbackReturn:
        return self._guarded("deactivate", self._deactivate)

    def on_cleanup(self, state: State) -> TransitionCallbackReturn:
        return self._guarded("clean up", self._clean_up)

    def on_shutdown(self, state: State) -> TransitionCallbackReturn:
        return self._guarded("shut down", self.release)

    def start(self) -> None:
        """Configure and activate; `failure` is set if that does not work."""
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def release(self) -> None:
        """Stop the worker, then give everything back. Harmless when there is nothing."""
        self._deactivate()
        self._clean_up()

    def _guarded(self, name: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        # rclpy swallows what a transition raises, without a word.
        try:
            action()
        except DepthAnythingError as error:
            self.failure = error
            if not self._stopping():
                self.get_logger().error(f"Cannot {name}: {error}")
        except Exception as error:  # noqa: BLE001 - a front door
            self.failure = error
            self.get_logger().error(f"Cannot {name}: unexpected error\n{traceback.format_exc()}")
        else:
            self.failure = None
            return TransitionCallbackReturn.SUCCESS
        return TransitionCallbackReturn.FAILURE

    def _configure(self) -> None:
        options = self._options
        if not options.model:
            raise OptionError("option.range", "parameter model is empty; set it to the path of a GGUF file.")
        started = time.perf_counter()
        engine = run_interruptibly(lambda: self._load_engine(options), self._stopping)
        run_interruptibly(lambda: engine.warm_up(*_WARM_UP_SIZE), self._stopping, engine.cancel)
        self._loaded = _Loaded(engine, Outputs(self, engine.info))
        info = engine.info
        self.get_logger().info(
            f"{info.checkpoint or info.path}: {info.kind.value}, licence {info.license}, on {info.device}, "
            f"ready in {time.perf_counter() - started:.1f} s"
        )

    def _activate(self) -> None:
        if self._loaded is not None:
            self._health = diagnostics.Health()
            self._worker = LatestFrameWorker(partial(self._work, self._loaded), self._work_failed, self._loaded.engine.cancel)
            self._worker.start()

    def _deactivate(self) -> None:
        self._unsubscribe()
        if self._worker is not None and not self._worker.stop():
            self.get_logger().error("The frame at work does not end; leaving it behind.")
        self._worker = None

    def _clean_up(self) -> None:
        if self._loaded is not None:
            self._loaded.outputs.destroy()
            self._loaded.engine.close()
        self._loaded = None

    # parameters

    def _watch_parameters(self) -> None:
        self.add_on_set_parameters_callback(self._judge_parameters)
        if hasattr(self, "add_post_set_parameters_callback"):
            self.add_post_set_parameters_callback(lambda _: self._read_parameters())

    def _judge_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            parameters.read(self, changes)
        except OptionError as error:
            return SetParametersResult(successful=False, reason=str(error))
        # Humble cannot tell when the values are set; there the next tick reads them.
        self._stale = True
        return SetParametersResult(successful=True)

    def _read_parameters(self) -> None:
        self._stale = False
        self._options = parameters.read(self)

    # executor's thread

    def _tick(self) -> None:
        if self._stale:
            self._read_parameters()
        if self._worker is None or self._loaded is None:
            return
        if not self._worker.alive and self.failure is None:
            self.failure = RuntimeError("the worker thread has died")
            self.get_logger().fatal("The worker thread has died; the node ends.")
        listened = bool(self._loaded.outputs.listened())
        if listened and not self._readers:
            self._subscribe()
        elif not listened and self._readers:
            self._unsubscribe()

    def _subscribe(self) -> None:
        topic = self._info_topic()
        self._readers = [
            self.create_subscription(Image, "image", self._take, qos.image_input(), qos_overriding_options=qos.overrides()),
            self.create_subscription(CameraInfo, topic, self._infos.add, qos.info_input()),
            self.create_subscription(
                CameraInfo, topic, self._infos.add, qos.latched_info_input(), event_callbacks=qos.silent_about_mismatch()
            ),
        ]

    def _unsubscribe(self) -> None:
        for subscription in self._readers:
            self.destroy_subscription(subscription)
        self._readers = []

    def _info_topic(self) -> str:
        """`camera_info` where it is remapped, else the sibling of the resolved image topic."""
        remapped = self.resolve_topic_name("camera_info")
        if remapped != self.resolve_topic_name("camera_info", only_expand=True):
            return "camera_info"
        return calibration.sibling(self._image_topic)

    def _take(self, image: Image) -> None:
        self._health.count_received()
        if self._worker is not None:
            self._worker.offer(image)

    def _report(self) -> None:
        name = self.get_fully_qualified_name().lstrip("/")
        info = None if self._loaded is None else self._loaded.engine.info
        state = "unconfigured" if info is None else "inactive" if self._worker is None else "active"
        statuses = [diagnostics.engine_status(name, state, info, str(self.failure or ""))]
        if self._worker is not None and info is not None:
            statuses.append(self._health.input_status(name, info.device, self._dropped(), bool(self._readers)))
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _dropped(self) -> int:
        return 0 if self._worker is None else self._worker.dropped

    # worker's thread

    def _work(self, loaded: _Loaded, image: Image) -> None:
        started = time.perf_counter()
        options, topics = self._options, loaded.outputs.listened()
        if not topics:
            return
        camera = self._camera_of(image, options)
        products = process(frame_from(image, camera.intrinsics), loaded.engine, options.processing, wanted_products(topics))
        loaded.outputs.publish(topics, products, image.header, camera.lens, options.depth_encoding)
        age = (self.get_clock().now().nanoseconds - stamp_ns(image.header.stamp)) * 1e-9
        self._health.count_processed(products.timings["infer"], age)
        if TIMING in topics:
            total = time.perf_counter() - started
            counts = {"dropped": self._dropped(), "processed": self._health.processed}
            loaded.outputs.publish_timing(diagnostics.timing_array(image.header, self.get_name(), products, total, age, counts))

    def _camera_of(self, image: Image, options: NodeOptions) -> calibration.Camera:
        match = self._infos.match(stamp_ns(image.header.stamp))
        camera = calibration.camera_of(image, match, rectified=self._rectified, focal=options.focal)
        self._health.note_calibration(camera.source, camera.problem)
        if camera.problem and self._throttle.passes(camera.problem):
            self.get_logger().warning(f"Calibration from {camera.source}: {camera.problem}.")
        elif not camera.problem and self._throttle.passes(camera.source):
            self.get_logger().info(f"Calibration: {camera.source}.")
        return camera

    def _work_failed(self, error: Exception) -> None:
        rejected = isinstance(error, InputError)
        text = str(error) if isinstance(error, DepthAnythingError) else f"unexpected {type(error).__name__}: {error}"
        self._health.count_trouble(text, rejected=rejected)
        if not self._throttle.passes(text):
            return
        if rejected:
            self.get_logger().warning(f"Picture refused: {text}")
        elif isinstance(error, DepthAnythingError):
            self.get_logger().error(f"Frame lost: {text}")
        else:
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.get_logger().error(f"Frame lost: {text}\n{trace}")
