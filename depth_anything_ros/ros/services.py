"""The node's services: `~/enable`, `~/reset`, `~/snapshot`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from depth_anything_ros.errors import InputError
from depth_anything_ros.paths import user_path
from depth_anything_ros.ros.cameras import Cameras
from depth_anything_ros.ros.parameters import NodeOptions, values_of
from depth_anything_ros.ros.snapshot import Snapshot

_PATIENCE = 30.0
"""Seconds that a snapshot waits for the pictures of all cameras; a large model may take seven for one, and has another one at work."""


class Services:
    """Executor's thread only. `tick` is to be called a few times a second."""

    def __init__(self, node: Node, cameras: Callable[[], Cameras | None], options: Callable[[], NodeOptions]) -> None:
        """cameras: those at work, None while the node is not active."""
        self.enabled = True
        self._node = node
        self._cameras = cameras
        self._options = options
        self._snapshot: Snapshot | None = None
        self._written: Future | None = None
        self._deadline = 0.0
        node.create_service(SetBool, "~/enable", self._enable)
        node.create_service(Trigger, "~/reset", self._reset)
        # A group of its own, since the answer is waited for: the pictures must come in meanwhile.
        node.create_service(Trigger, "~/snapshot", self._take_snapshot, callback_group=MutuallyExclusiveCallbackGroup())

    @property
    def waiting(self) -> bool:
        """Whether an answer is waited for; rclpy's executors do not sleep then."""
        return self._written is not None

    def tick(self) -> None:
        if self._snapshot is None or self._written is None:
            return
        if self._snapshot.done or time.monotonic() > self._deadline or self._cameras() is None:
            cameras = self._cameras()
            if cameras is not None:
                cameras.take_snapshot(None)
            self._written.set_result(self._snapshot.problem)
            self._snapshot = self._written = None

    def _enable(self, request: Any, response: Any) -> Any:
        self.enabled = request.data
        response.success, response.message = True, "enabled" if self.enabled else "disabled; the model stays loaded"
        return response

    def _reset(self, _: Any, response: Any) -> Any:
        cameras = self._cameras()
        response.success = cameras is not None and cameras.reset()
        problem = "the node is not active" if cameras is None else "the frame at work does not end; it was left behind"
        response.message = "all that was seen is forgotten" if response.success else problem
        return response

    async def _take_snapshot(self, _: Any, response: Any) -> Any:
        cameras = self._cameras()
        problem = "the node is not active" if cameras is None else "" if self.enabled else "the node is disabled"
        if cameras is not None and not problem:
            try:
                self._snapshot = self._begun(cameras)
            except InputError as error:
                problem = str(error)
            else:
                folder = self._snapshot.folder
                cameras.take_snapshot(self._snapshot)
                self._written, self._deadline = Future(), time.monotonic() + _PATIENCE
                problem = await self._written
        response.success, response.message = not problem, problem or str(folder)
        return response

    def _begun(self, cameras: Cameras) -> Snapshot:
        """A snapshot in a folder of its own. Raises InputError when that cannot be made."""
        above = user_path(self._options().snapshot_folder)
        return Snapshot(above / f"{datetime.now():%Y%m%d_%H%M%S_%f}", cameras.names, values_of(self._node))
