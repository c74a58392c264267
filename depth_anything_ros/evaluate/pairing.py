"""Which truth belongs to which depth map: those of (nearly) the same stamp, found while both stream past."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

D = TypeVar("D")
T = TypeVar("T")
_WAITING = 64
"""Depth maps that may wait for a truth that comes late."""


@dataclass(frozen=True)
class Arrival(Generic[D, T]):
    """Something with a stamp: a depth map, or a truth."""

    stamp_ns: int
    depth: D | None
    truth: T | None


def pair(arrivals: Iterable[Arrival[D, T]], tolerance_ns: int, patience_ns: int) -> Iterator[tuple[int, D, T | None]]:
    """(stamp, depth, the truth nearest in time within the tolerance, or None), a depth at a time.

    patience_ns: a depth waits until something with a stamp so much later has come. Truths come in the order of their stamps.
    """
    depths: deque[Arrival[D, T]] = deque()
    truths: deque[Arrival[D, T]] = deque()
    newest = 0
    for arrival in arrivals:
        (truths if arrival.depth is None else depths).append(arrival)
        newest = max(newest, arrival.stamp_ns)
        while depths and (newest >= depths[0].stamp_ns + patience_ns or len(depths) > _WAITING):
            yield _matched(depths.popleft(), truths, tolerance_ns)
        while len(truths) > 1 and depths and truths[1].stamp_ns <= depths[0].stamp_ns - tolerance_ns:
            truths.popleft()
        while len(truths) > 2 * _WAITING:
            truths.popleft()
    for depth in depths:
        yield _matched(depth, truths, tolerance_ns)


def _matched(depth: Arrival[D, T], truths: deque[Arrival[D, T]], tolerance_ns: int) -> tuple[int, D, T | None]:
    nearest = min(truths, key=lambda truth: abs(truth.stamp_ns - depth.stamp_ns), default=None)
    found = nearest is not None and abs(nearest.stamp_ns - depth.stamp_ns) <= tolerance_ns
    assert depth.depth is not None
    return depth.stamp_ns, depth.depth, nearest.truth if found and nearest is not None else None
