"""The node's process with the test double as engine: `fake_node.py '{"seconds": 1.5, ...}' --ros-args ...`."""

from __future__ import annotations

import json
import sys
import time

from fake_engine import ANY_VIEW, METRIC, FakeEngine

from depth_anything_ros.errors import DeviceError, ModelError
from depth_anything_ros.ros import node

FAILURES = {
    "memory": MemoryError("no room"),
    "device": DeviceError("device.compute", "The graph failed."),
    "foreign": RuntimeError("Caught an unknown exception!"),
}


def main() -> int:
    wishes = json.loads(sys.argv.pop(1))

    def load(options: object) -> FakeEngine:
        time.sleep(wishes.get("load_seconds", 0.0))
        if "missing" in wishes:
            raise ModelError("model.missing", f"{options.model}: no such file.")
        engine = FakeEngine({"metric": METRIC, "any_view": ANY_VIEW}[wishes.get("info", "metric")], seconds=wishes.get("seconds", 0.0))
        engine.slow_from_call = wishes.get("slow_from_call")
        engine.failures = {int(call): FAILURES[name] for call, name in wishes.get("failures", {}).items()}
        return engine

    return node.run(load)


if __name__ == "__main__":
    sys.exit(main())
