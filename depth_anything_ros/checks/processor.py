"""The processor and the memory that this process may use."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from depth_anything_ros.checks.control_groups import ControlGroups

TOLD = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2"),
)
"""Features, by the names of /proc/cpuinfo, that make a difference to networks."""


@dataclass(frozen=True)
class Processor:
    name: str
    features: tuple[str, ...]
    cores: int
    """Present."""
    allowed: int
    """That this process may use, by its affinity and by the quota of its container."""
    memory: int
    """Bytes that are available now, to the machine and to the container."""


def this_processor(groups: ControlGroups | None = None) -> Processor:
    """groups: of this process, None to look."""
    groups = groups or ControlGroups()
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    features = re.search(r"^(?:flags|Features)\s*: (.+)$", text, re.MULTILINE)
    present = set(features.group(1).split()) if features else set()
    available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    return Processor(
        name=name.group(1) if name else platform.machine(),
        features=tuple(feature for feature in TOLD if feature in present),
        cores=os.cpu_count() or 1,
        allowed=min(len(os.sched_getaffinity(0)), groups.processors()),
        memory=min(int(available.group(1)) * 1024 if available else 0, groups.memory()),
    )
