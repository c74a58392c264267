"""Another model while one is at work: loaded and warmed up on a thread of its own, taken over when it is ready. Executor's thread only."""

from __future__ import annotations

from collections.abc import Callable

from depth_anything_ros.ros.parameter_entry import Value
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.stream import NodeEngine
from depth_anything_ros.worker import BackgroundTask

WARM_UP_SIZE = (640, 480)
LoadEngine = Callable[[NodeOptions], NodeEngine]
"""Raises what makes a model unusable."""


class EngineSwitch:
    """One load at a time. What is wanted next while one runs is loaded after it."""

    def __init__(self, load: LoadEngine) -> None:
        self._load = load
        self.problem = ""
        """Why the last engine could not be had, for people; empty when it could."""
        self._task: BackgroundTask[NodeEngine] | None = None
        self._loading: NodeOptions | None = None
        self.refused: object = None
        """`NodeOptions.engine` of what could not be had, which is not tried again until another one is wanted."""

    @property
    def loading(self) -> str:
        """The model that is being loaded, or empty."""
        return self._loading.model if self._loading is not None else ""

    def poll(self, wanted: NodeOptions, running: NodeOptions) -> tuple[NodeOptions, NodeEngine] | None:
        """To be called a few times a second: the options and the engine that is ready to take over, once there is one.

        wanted: options of the moment. running: those that the engine at work was loaded with. Raises what loading raised.
        """
        if self._task is None or self._loading is None:
            if wanted.engine == running.engine:
                self.refused = None
            elif wanted.engine != self.refused:
                self._loading, self._task = wanted, BackgroundTask(lambda: self._ready(wanted))
            return None
        if not self._task.done():
            return None
        options, task = self._loading, self._task
        self._loading = self._task = None
        self.refused = options.engine
        engine = task.result()
        self.refused, self.problem = None, ""
        if options.engine == wanted.engine:
            return options, engine
        engine.close()  # meanwhile another one is wanted
        return None

    def _ready(self, options: NodeOptions) -> NodeEngine:
        engine = self._load(options)
        engine.warm_up(*WARM_UP_SIZE)
        return engine


def to_go_back_to(running: NodeOptions, wanted: NodeOptions) -> dict[str, Value]:
    """Parameters by name that ask for the engine at work again, where they ask for one that cannot be had."""
    values: dict[str, Value] = {name: getattr(running, name) for name in ("model", "device", "threads", "resolution")}
    if wanted.pair != running.pair:
        values["scale.source"] = running.processing.scale_source
    return values
