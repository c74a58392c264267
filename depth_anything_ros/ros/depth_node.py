"""The lifecycle node: configure loads the model and warms it up, activate starts the work of the cameras. Wiring only."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn
from rclpy.parameter import Parameter

from depth_anything_ros.background import Background
from depth_anything_ros.errors import DepthAnythingError, ModelError, OptionError, described
from depth_anything_ros.models.checkpoint_facts import doubt_of
from depth_anything_ros.ros import diagnostics, parameters
from depth_anything_ros.ros.cameras import Cameras
from depth_anything_ros.ros.engine_switch import WARM_UP_SIZE, EngineSwitch, LoadEngine, to_go_back_to
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_choice import check_background
from depth_anything_ros.ros.scale_tracking import ScaleTracking, background_for
from depth_anything_ros.ros.services import Services
from depth_anything_ros.ros.stream import NodeEngine
from depth_anything_ros.ros.throttle import LogThrottle
from depth_anything_ros.ros.transforms import SharedTransforms
from depth_anything_ros.ros.transition_requests import refuse_what_cannot_be
from depth_anything_ros.worker import lower_priority, run_interruptibly

NODE_NAME = "depth_anything"
_TICK_SECONDS = 0.2


class DepthNode(LifecycleNode):
    """See the module. `failure` is the error that a transition or a worker ended with, for the process's exit code."""

    def __init__(
        self, load_engine: LoadEngine, check_model: Callable[[str], object], stopping: Callable[[], bool], *, namespace: str = ""
    ) -> None:
        """load_engine: called on a thread of its own. check_model: raises ModelError for a name that leads to no file.

        stopping: true once the process is asked to end. namespace: unless `__ns` is remapped. Raises what `parameters.declare` raises.
        """
        super().__init__(NODE_NAME, namespace=namespace)
        self.failure: Exception | None = None
        self._load_engine = load_engine
        self._check_model = check_model
        self._stopping = stopping
        self._options = self._configured = self._loaded = parameters.declare(self)
        self._options_stale = False
        self._background: Background[Any] | None = None
        self._transforms = SharedTransforms(self)
        self._cameras: Cameras | None = None
        self._switch = EngineSwitch(self._load)
        self._active = self._finalized = False
        self._faults = LogThrottle()
        refuse_what_cannot_be(self)
        self._own_services = Services(self, lambda: self._cameras if self._active else None, lambda: self._options)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.add_on_set_parameters_callback(self._judge_parameters)
        if hasattr(self, "add_post_set_parameters_callback"):  # not on Humble
            self.add_post_set_parameters_callback(lambda _: self._read_parameters())
        # Steady clock: with simulated time and no /clock these must run all the same.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_TICK_SECONDS, self._tick, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    @property
    def waiting(self) -> bool:
        """Whether a service's answer is waited for; see `Services.waiting`."""
        return self._own_services.waiting

    def start(self) -> None:
        """Configure and activate; `failure` is set if that does not work."""
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def release(self) -> None:
        """Stop the work, then give everything back. Harmless when there is nothing."""
        self._deactivate()
        self._clean_up()

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
        return self._guarded("shut down", self._shut_down)

    def _shut_down(self) -> None:
        self.release()
        self._finalized = True

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
        parameters.check_named(options)
        started = time.perf_counter()
        engine = run_interruptibly(lambda: self._load(options), self._stopping)
        try:
            run_interruptibly(lambda: engine.warm_up(*WARM_UP_SIZE), self._stopping, engine.cancel)
            self._background = background_for(options, self._load_engine, self._background_failed)
            if self._background is not None:
                run_interruptibly(self._background.prepare, self._stopping)
            scale_for = partial(ScaleTracking, self, transforms=self._transforms, background=self._background)
            self._cameras = Cameras(self, engine, lambda: self._options, scale_for)
        except BaseException:
            engine.close()  # `failure` would keep it in memory
            self._clean_up()
            raise
        self._configured = self._loaded = options
        self._tell_ready(engine, f"ready in {time.perf_counter() - started:.1f} s")

    def _activate(self) -> None:
        if self._cameras is not None:
            if self._background is not None:
                self._background.start()
            self._cameras.start()
            self._cameras.introduce()
            self._active = True

    def _deactivate(self) -> None:
        if self._cameras is not None and self._active and not self._cameras.stop():
            self.get_logger().error("The frame at work does not end; leaving it behind.")
        if self._background is not None and not self._background.stop():
            self.get_logger().error("The work in the background does not end; leaving it behind.")
        self._active = False

    def _clean_up(self) -> None:
        if self._cameras is not None:
            self._cameras.destroy()
        if self._background is not None:
            self._background.close()
        self._cameras = self._background = None
        self._transforms.close()
        self._switch = EngineSwitch(self._load)  # what is being loaded is for nobody

    # the engine, and the network in the background

    def _background_failed(self, error: Exception) -> None:
        if self._faults.passes(text := described(error)):
            self.get_logger().error(f"Work in the background failed: {text}")
        if self._cameras is not None:
            self._cameras.background_failed(text)

    def _load(self, options: NodeOptions) -> NodeEngine:
        """On a thread of its own: the engine's threads inherit its niceness."""
        lower_priority(options.nice)
        return self._load_engine(options)

    def _tell_ready(self, engine: NodeEngine, how: str) -> None:
        info = engine.info
        self.get_logger().info(f"{info.checkpoint or info.path}: {info.kind.value}, licence {info.license}, on {info.device}, {how}")
        if doubt := doubt_of(info.checkpoint, info.license):
            self.get_logger().warning(doubt)

    def _follow_model(self, cameras: Cameras) -> None:
        """Have the engine that the parameters ask for; when it cannot be had, go back to those of the one at work."""
        try:
            ready = self._switch.poll(self._options, self._loaded)
        except Exception as error:  # noqa: BLE001 - a front door: the engine at work goes on
            self._switch.problem = f"still running {self._loaded.model}: {described(error)}"
            trace = "" if isinstance(error, DepthAnythingError) else f"\n{traceback.format_exc()}"
            self.get_logger().error(f"Cannot load another model; {self._switch.problem}{trace}")
            if self._switch.refused == self._options.engine:  # else another one is wanted by now
                self._go_back()
            return
        if ready is not None:
            self._loaded, engine = ready
            if not cameras.use(engine):
                self.get_logger().error("The frame at work does not end; leaving it and its model behind.")
            self._tell_ready(engine, "taken over")

    def _go_back(self) -> None:
        """Have parameters that ask for the engine at work."""
        values = to_go_back_to(self._loaded, self._options)
        result = self.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
        if not result.successful:
            self.get_logger().error(f"The parameters do not go back to {self._loaded.model}: {result.reason}")

    # parameters

    def _judge_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            options = parameters.read(self, changes)
            if self._cameras is not None:
                check_background(options, self._configured)
            if options.model != self._options.model:
                parameters.check_named(options)
                self._check_model(options.model)
        except (OptionError, ModelError) as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._options_stale = True  # for Humble, which cannot tell when the values are set: the next tick reads them
        return SetParametersResult(successful=True)

    def _read_parameters(self) -> None:
        self._options_stale = False
        self._options = parameters.read(self)

    # timers

    def _tick(self) -> None:
        if self._options_stale:
            self._read_parameters()
        self._own_services.tick()
        if self._cameras is None or not self._active:
            return
        self._follow_model(self._cameras)
        self._cameras.follow_listeners(self._own_services.enabled)
        if not self._cameras.alive:
            raise DepthAnythingError("node.worker", "A worker thread has died.")

    def _report(self) -> None:
        name = self.get_fully_qualified_name().lstrip("/")
        info = None if self._cameras is None else self._cameras.engine.info
        if info is None:
            state = "finalized" if self._finalized else "unconfigured"
        else:
            state = "inactive" if not self._active else "active" if self._own_services.enabled else "disabled"
        if self._switch.loading:
            state += f", loading {self._switch.loading}"
        statuses = [diagnostics.engine_status(name, state, info, str(self.failure or ""), self._switch.problem)]
        if self._cameras is not None and self._active:
            statuses += self._cameras.statuses(name)
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)
