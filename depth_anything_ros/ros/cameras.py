"""All cameras of the node on its one engine: made at configure, at work from `start` to `stop`. Executor's thread only."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from depth_anything_ros.engine_room import Desk, EngineRoom
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_tracking import ScaleTracking
from depth_anything_ros.ros.snapshot import Snapshot
from depth_anything_ros.ros.stream import CameraStream, NodeEngine


class Cameras:
    """The streams in the order of the parameter `cameras`, and the engine room that serves them in turn."""

    def __init__(
        self, node: Node, engine: NodeEngine, options: Callable[[], NodeOptions], scale_for: Callable[[str], ScaleTracking]
    ) -> None:
        """scale_for: makes what follows the scale of a camera of that name."""
        self._engine = engine
        self._nice = options().nice
        self._room: EngineRoom | None = None
        self._streams = [
            CameraStream(node, name, engine, options, lambda index=index: self._desk(index), scale_for(name))
            for index, name in enumerate(options().cameras)
        ]

    @property
    def engine(self) -> NodeEngine:
        return self._engine

    @property
    def names(self) -> list[str]:
        return [stream.name for stream in self._streams]

    @property
    def working(self) -> bool:
        return self._room is not None

    @property
    def alive(self) -> bool:
        """False once a thread of the room has died, which none should."""
        return self._room is None or self._room.alive

    def start(self) -> None:
        for stream in self._streams:
            stream.count_anew()
        self._room = EngineRoom(self._streams, self._engine.cancel, self._nice)
        self._room.start()

    def stop(self) -> bool:
        """End the frames at work; False if one does not end."""
        self.take_snapshot(None)
        self.follow_listeners(False)
        room, self._room = self._room, None
        return room is None or room.stop()

    def reset(self) -> bool:
        """Forget what was seen, the frames at work included; False if one does not end."""
        return self._standing_still(lambda stream: stream.reset())

    def use(self, engine: NodeEngine) -> bool:
        """Go on with another engine, and close the one before. False if a frame of that does not end; it is left behind then."""
        before, self._engine = self._engine, engine
        ended = self._standing_still(lambda stream: stream.use(engine))
        if ended:
            before.close()
        return ended

    def destroy(self) -> None:
        for stream in self._streams:
            stream.destroy()
        self._engine.close()

    def follow_listeners(self, enabled: bool) -> None:
        for stream in self._streams:
            stream.follow_listeners(enabled)

    def take_snapshot(self, snapshot: Snapshot | None) -> None:
        for stream in self._streams:
            stream.take_snapshot(snapshot)

    def introduce(self) -> None:
        for stream in self._streams:
            stream.introduce()

    def statuses(self, node_name: str) -> list[DiagnosticStatus]:
        return [status for stream in self._streams for status in stream.statuses(node_name)]

    def background_failed(self, text: str) -> None:
        for stream in self._streams:
            stream.background_failed(text)

    def _standing_still(self, change: Callable[[CameraStream], None]) -> bool:
        """Apply a change to every stream while no frame is at work."""
        working, room = self.working, self._room
        self._room = None
        ended = room is None or room.stop()
        for stream in self._streams:
            change(stream)
        if working:
            self.start()
        return ended

    def _desk(self, index: int) -> Desk | None:
        return None if self._room is None else self._room.desk(index)
