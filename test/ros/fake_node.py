"""The node's process with the test double as engine: `fake_node.py '{"seconds": 1.5, ...}' --ros-args ...`."""

from __future__ import annotations

import json
import sys
import time

from fake_engine import ANY_VIEW, METRIC, FakeEngine
from room_engine import V2, RoomEngine, metric_engine

from depth_anything_ros.errors import DeviceError, ModelError
from depth_anything_ros.ros import node

FAILURES = {
    "memory": MemoryError("no room"),
    "device": DeviceError("device.compute", "The graph failed."),
    "foreign": RuntimeError("Caught an unknown exception!"),
    "end": SystemExit(),  # ends the thread, as nothing that is an Exception does
}


def room_engine(model: str, wishes: dict[str, object]) -> FakeEngine:
    """Networks that know the room, by the name of the model: metric, inverse, or any other for an any-view one."""
    if "metric" in model:
        failures = {int(call): FAILURES[name] for call, name in wishes.get("metric_failures", {}).items()}
        return metric_engine(seconds=wishes.get("metric_seconds", 0.0), failures=failures)
    return RoomEngine(V2 if "inverse" in model else ANY_VIEW, unit=wishes["unit"], seconds=wishes.get("seconds", 0.0))


def main() -> int:
    wishes = json.loads(sys.argv.pop(1))

    def load(options: object) -> FakeEngine:
        time.sleep(wishes.get("load_seconds", 0.0))
        if "foreign" in options.model:
            raise MemoryError("no room for another one")
        if "missing" in wishes or "broken" in options.model + options.pair:
            raise ModelError("model.missing", f"{options.model}: no such file.")
        if "room" in wishes:
            return room_engine(options.model, wishes["room"])
        engine = FakeEngine(
            {"metric": METRIC, "any_view": ANY_VIEW}[wishes.get("info", "any_view" if "small" in options.model else "metric")],
            seconds=wishes.get("seconds", 0.0),
        )
        engine.slow_from_call = wishes.get("slow_from_call")
        engine.failures = {int(call): FAILURES[name] for call, name in wishes.get("failures", {}).items()}
        return engine

    def check(model: str) -> None:
        if "missing" in model:
            raise ModelError("model.missing", f"{model}: no such file.")

    return node.run(load, check)


if __name__ == "__main__":
    sys.exit(main())
