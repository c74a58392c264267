"""What the tests of the engine room share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from staged_camera import Camera

from depth_anything_ros.engine_room import EngineRoom


@pytest.fixture
def room() -> Iterator[Callable[..., EngineRoom]]:
    rooms: list[EngineRoom] = []

    def make(*cameras: Camera, cancel: Callable[[], None] = lambda: None, nice: int = 0) -> EngineRoom:
        rooms.append(EngineRoom(cameras, cancel, nice))
        rooms[-1].start()
        return rooms[-1]

    yield make
    for one in rooms:
        one.stop(1.0)
