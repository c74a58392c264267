"""What the control groups of this process leave it, as the engine reads them (native/src/control_groups.cpp): in a container, and in a
service of systemd with MemoryMax or CPUQuota. In Python too, since `doctor` works where the engine cannot be imported.
Versions 1 and 2 (Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path


class ControlGroups:
    """mounts: where the hierarchies are mounted; membership: which groups the process is in. What cannot be read sets no limit."""

    def __init__(self, mounts: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> None:
        groups = {}
        for line in _text(membership).splitlines():  # "0::/group", "4:memory:/group"
            _, controllers, group = (*line.split(":", 2), "", "")[:3]
            groups.update(dict.fromkeys(controllers.split(","), group))
        self._unified = _folders(mounts, groups.get("", "/"))
        self._memory = _folders(mounts / "memory", groups.get("memory", "/"))
        self._cpu = _folders(mounts / "cpu", groups.get("cpu", "/"))

    def memory(self) -> int:
        """Bytes that the process may still take; sys.maxsize without a limit. Pages of files that the kernel would drop count as free."""
        left = [sys.maxsize]
        for folder in self._unified:
            left += _left(folder, "memory.max", "memory.current", "")
        for folder in self._memory:
            left += _left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        return min(left)

    def processors(self) -> int:
        """That the quota is worth, rounded up: a thread more is better than a core that idles. sys.maxsize without one."""
        quotas = [_words(folder / "cpu.max") for folder in self._unified]
        quotas += [[*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")] for folder in self._cpu]
        numbers = [[int(word) for word in quota if word.isdecimal()] for quota in quotas]
        return min((math.ceil(pair[0] / pair[1]) for pair in numbers if len(pair) == 2 and min(pair) > 0), default=sys.maxsize)


def _folders(mount: Path, group: str) -> list[Path]:
    """Of the group and of all above it, which bind it too. In a container a group may be named as seen from outside: then its own folder is
    the mount, and the others are not there."""
    parts = [part for part in group.split("/") if part]
    return [mount.joinpath(*parts[:count]) for count in range(len(parts) + 1)]


def _left(folder: Path, most: str, used: str, prefix: str) -> Iterator[int]:
    limit, usage = _words(folder / most)[:1], _words(folder / used)[:1]
    if not (limit and usage and limit[0].isdecimal() and usage[0].isdecimal()):
        return
    words = _words(folder / "memory.stat")
    counts = dict(zip(words[::2], words[1::2]))
    files = sum(int(counts.get(f"{prefix}{kind}_file", 0)) for kind in ("inactive", "active"))
    yield max(0, int(limit[0]) - max(0, int(usage[0]) - files))


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    """Of a file of the kernel; nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
