"""The verb `infer`, as it is called in tests."""

from __future__ import annotations

from depth_anything_ros.cli import main


def infer(*arguments: object) -> int:
    return main(["infer", *map(str, arguments)])
