"""Frames of several cameras through one engine: the newest frame of each, in turn, with the stages of successive frames overlapped.

Three threads beside the caller's. The engine's thread takes a frame when it is free, and not before. Meanwhile a second one finishes and
publishes the frame before, and a third prepares (decodes, rectifies) the frame that waits, shortly before the engine is expected to be
free; if a newer one comes until then, the prepared one is dropped like any other. Standard library only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.stage_clock import StageClock
from depth_anything_ros.worker import join_cancelling, lower_priority

_LONGEST_WAIT = 60.0
"""Seconds; waiting for years is an error of the standard library."""


class Stages(Protocol):
    """What the room does with the frames of one camera. `prepare` may run beside the other two, each by itself one frame at a time."""

    def prepare(self, frame: Any) -> Any:
        """From a frame as it came to one that the engine takes."""

    def infer(self, prepared: Any) -> Any: ...

    def finish(self, result: Any) -> None: ...

    def failed(self, error: Exception) -> None:
        """Told of every exception of the stages, which the room survives; one that this raises itself ends the thread."""

    def too_old(self, frame: Any) -> bool:
        """Whether a frame is not worth taking any more."""

    def interval(self) -> float:
        """Seconds that must lie between the starts of two frames."""


@dataclass
class Slot:
    """One camera: the frame that waits, what is prepared of it, and the counts."""

    stages: Stages
    waiting: Any = None
    prepared: Any = None
    """Result of `prepare` for the frame that waits, or the exception that it ended with."""
    preparing: bool = False
    last_start: float = -1e9
    dropped: int = 0
    expired: int = 0

    def forget(self) -> None:
        self.waiting = self.prepared = None


class Desk:
    """Where the frames of one camera go, and what became of those that were not taken. Any thread."""

    def __init__(self, slot: Slot, room: EngineRoom) -> None:
        self._slot = slot
        self._room = room

    def offer(self, frame: Any) -> None:
        """A new frame; never waits. It replaces one that still waits, which is counted as dropped."""
        self._room.offer(self._slot, frame)

    @property
    def dropped(self) -> int:
        """Frames that a newer one replaced."""
        return self._slot.dropped

    @property
    def expired(self) -> int:
        """Frames that were too old when the engine became free."""
        return self._slot.expired


class EngineRoom:
    """From `start` to `stop`; one of each."""

    def __init__(self, cameras: Sequence[Stages], cancel: Callable[[], None], nice: int = 0) -> None:
        """cancel: makes a running `infer` end soon; any thread. nice: added to the threads' niceness, 0 to 19."""
        self._slots = [Slot(stages) for stages in cameras]
        self._cancel = cancel
        self._nice = nice
        self._lock = threading.Lock()
        # One for each thread: a thread that is woken for nothing takes the interpreter from the one that has work.
        self._for_engine, self._for_finisher, self._for_preparer = (threading.Condition(self._lock) for _ in range(3))
        self._stopping = False
        self._last = 0
        self._finishing: tuple[Slot, Any] | None = None
        self._clock = StageClock()
        targets = {"depth engine": self._run_engine, "depth finisher": self._run_finisher, "depth preparer": self._run_preparer}
        self._threads = [threading.Thread(target=self._lowered(run), name=name, daemon=True) for name, run in targets.items()]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def desk(self, camera: int) -> Desk:
        """Where the frames of a camera go, by its place in `cameras`."""
        return Desk(self._slots[camera], self)

    def offer(self, slot: Slot, frame: Any) -> None:
        with self._lock:
            if self._stopping:
                return
            slot.dropped += slot.waiting is not None
            slot.forget()
            slot.waiting = frame
            self._for_engine.notify()
            self._wake_preparer()

    def stop(self, timeout: float = 3.0) -> bool:
        """Cancel what is at work, forget what waits, end the threads. False if one is still at work after `timeout` seconds."""
        with self._lock:
            self._stopping = True
            for slot in self._slots:
                slot.forget()
            for waiting in (self._for_engine, self._for_finisher, self._for_preparer):
                waiting.notify()
        end = time.monotonic() + timeout
        ended = [join_cancelling(thread, self._cancel, end - time.monotonic()) for thread in self._threads if thread.ident]
        return all(ended)

    def _lowered(self, run: Callable[[], None]) -> Callable[[], None]:
        def lowered() -> None:
            lower_priority(self._nice)
            run()

        return lowered

    # the engine's thread

    def _run_engine(self) -> None:
        while self._serve_one():
            pass

    def _serve_one(self) -> bool:
        """Take a frame and bring it through the engine; False when the room stops. Nothing of it stays here until the next one comes."""
        taken = self._take()
        if taken is None:
            return False
        slot, frame, prepared = taken
        if prepared is None:
            prepared = self._timed_preparation(slot, frame)
        if isinstance(prepared, Exception):  # not raised again: error, traceback and this frame would keep each other and the picture alive
            self._report(slot, prepared)
            return True
        try:
            result = self._infer(slot, prepared)
        except Exception as error:  # noqa: BLE001 - a front door: whatever a frame does, the next one is processed
            self._report(slot, error)
        else:
            self._hand_over(slot, result)
        return True

    def _infer(self, slot: Slot, prepared: Any) -> Any:
        with self._lock:
            self._clock.begin()
            self._wake_preparer()
        try:
            return slot.stages.infer(prepared)
        finally:
            with self._lock:
                self._clock.end()

    def _take(self) -> tuple[Slot, Any, Any] | None:
        """The newest frame of the camera whose turn it is, once there is one; None when the room stops."""
        with self._lock:
            while not self._stopping:
                slot, wait = self._next()
                if slot is None or slot.preparing:
                    self._for_engine.wait(wait)
                    continue
                frame, prepared = slot.waiting, slot.prepared
                slot.forget()
                self._last = self._slots.index(slot)
                if slot.stages.too_old(frame):
                    slot.expired += 1
                    continue
                slot.last_start = time.monotonic()
                return slot, frame, prepared
        return None

    def _next(self) -> tuple[Slot | None, float | None]:
        """The camera whose turn it is, in a circle from the last one; or how long to wait until one that has a frame may start."""
        now, waits = time.monotonic(), []
        count = len(self._slots)
        for slot in (self._slots[(self._last + 1 + step) % count] for step in range(count)):
            if slot.waiting is not None:
                wait = slot.last_start + slot.stages.interval() - now
                if wait <= 0.0:
                    return slot, None
                waits.append(min(wait, _LONGEST_WAIT))
        return None, min(waits, default=None)

    def _hand_over(self, slot: Slot, result: Any) -> None:
        """To the finisher, once it is free: the engine does not run ahead of what goes out."""
        with self._lock:
            self._for_engine.wait_for(lambda: self._finishing is None or self._stopping)
            if not self._stopping:
                self._finishing = (slot, result)
                self._for_finisher.notify()

    def _report(self, slot: Slot, error: Exception) -> None:
        if not (self._stopping and isinstance(error, CancelledError)):
            slot.stages.failed(error)

    # the finisher's thread

    def _run_finisher(self) -> None:
        while self._finish_one():
            pass

    def _finish_one(self) -> bool:
        with self._lock:
            self._for_finisher.wait_for(lambda: self._finishing is not None or self._stopping)
            if self._finishing is None:
                return False
            slot, result = self._finishing
        try:
            slot.stages.finish(result)
        except Exception as error:  # noqa: BLE001 - as above
            self._report(slot, error)
        with self._lock:
            self._finishing = None
            self._for_engine.notify()
        return True

    # the preparer's thread

    def _run_preparer(self) -> None:
        while (found := self._wait_to_prepare()) is not None:
            self._prepare_ahead(*found)
            del found

    def _prepare_ahead(self, slot: Slot, frame: Any) -> None:
        prepared = self._timed_preparation(slot, frame)
        with self._lock:
            slot.preparing = False
            if slot.waiting is frame:
                slot.prepared = prepared
            self._for_engine.notify()

    def _wait_to_prepare(self) -> tuple[Slot, Any] | None:
        """The frame that comes next, once it pays to prepare it; None when the room stops."""
        with self._lock:
            while not self._stopping:
                wait = self._clock.until_worth_it()
                slot = self._next()[0] if wait == 0.0 else None
                if slot is not None and slot.prepared is None:
                    slot.preparing = True
                    return slot, slot.waiting
                self._for_preparer.wait(wait or None)
        return None

    def _wake_preparer(self) -> None:
        if self._clock.until_worth_it() is not None:
            self._for_preparer.notify()

    def _timed_preparation(self, slot: Slot, frame: Any) -> Any:
        """Result of the stage, or the exception that it ended with: it is reported when the frame's turn comes."""
        started = time.monotonic()
        try:
            return slot.stages.prepare(frame)
        except Exception as error:  # noqa: BLE001 - raised on the engine's thread
            return error
        finally:
            with self._lock:
                self._clock.prepared(time.monotonic() - started)
