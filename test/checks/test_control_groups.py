"""Limits of control groups, read from folders that look like the kernel's; the engine's reader has the same cases
(native/test/test_control_groups.cpp)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from depth_anything_ros.checks.control_groups import ControlGroups

LIMITS = {
    "none": ("0::/", {}, sys.maxsize, sys.maxsize),
    "written out": ("0::/", {"memory.max": "max", "memory.current": "9", "cpu.max": "max 100000"}, sys.maxsize, sys.maxsize),
    "container": ("0::/", {"memory.max": "1000000", "memory.current": "900000", "cpu.max": "150000 100000"}, 100000, 2),
    "files that were read": (
        "0::/",
        {"memory.max": "1000000", "memory.current": "990000", "memory.stat": "anon 80000\ninactive_file 700000\nactive_file 200000"},
        910000,
        sys.maxsize,
    ),
    "service": (
        "0::/robot.slice/depth.service",
        {
            "robot.slice/memory.max": "500000",
            "robot.slice/memory.current": "450000",
            "robot.slice/cpu.max": "400000 100000",
            "robot.slice/depth.service/memory.max": "300000",
            "robot.slice/depth.service/memory.current": "100000",
            "robot.slice/depth.service/cpu.max": "100000 100000",
        },
        50000,
        1,
    ),
    "version 1": (
        "4:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a",
        {
            "memory/memory.limit_in_bytes": "1000",
            "memory/memory.usage_in_bytes": "900",
            "memory/memory.stat": "inactive_file 5\ntotal_inactive_file 300\ntotal_active_file 100",
            "cpu/cpu.cfs_quota_us": "50000",
            "cpu/cpu.cfs_period_us": "100000",
        },
        500,
        1,
    ),
    "version 1 without a quota": (
        "3:cpu,cpuacct:/",
        {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
        sys.maxsize,
        sys.maxsize,
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_left(tmp_path: Path, name: str) -> None:
    groups, files, memory, processors = LIMITS[name]
    (tmp_path / "membership").write_text(groups + "\n")
    for path, text in files.items():
        (tmp_path / "mounts" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mounts" / path).write_text(text + "\n")
    found = ControlGroups(tmp_path / "mounts", tmp_path / "membership")
    assert (found.memory(), found.processors()) == (memory, processors)
