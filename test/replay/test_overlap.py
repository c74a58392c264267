"""Reading ahead and writing behind: order, bounds, and where errors end up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from depth_anything_ros.errors import CancelledError
from depth_anything_ros.replay.overlap import WriteBehind, read_ahead


def numbers(taken: list[int], count: int = 100) -> Iterator[int]:
    for number in range(count):
        taken.append(number)
        yield number


def test_all_items_in_order_and_not_too_many_in_advance() -> None:
    taken: list[int] = []
    found = []
    for item in read_ahead(numbers(taken), 3):
        found.append(item)
        time.sleep(0.001)
        assert len(taken) <= item + 1 + 3 + 2
    assert found == list(range(100))


def test_reading_overlaps_with_the_work() -> None:
    def slow() -> Iterator[int]:
        for number in range(10):
            time.sleep(0.03)
            yield number

    began = time.monotonic()
    for _ in read_ahead(slow(), 2):
        time.sleep(0.03)
    assert time.monotonic() - began < 0.5


def test_an_error_of_reading_comes_after_what_was_read() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="gone"):
        for item in read_ahead(broken(), 4):
            found.append(item)
    assert found == [1]


def test_a_reader_that_is_left_ends() -> None:
    before = threading.active_count()
    items = read_ahead(numbers([], 10**9), 2)
    assert next(items) == 0
    items.close()
    assert threading.active_count() == before


def test_everything_is_written_before_the_block_ends() -> None:
    written: list[int] = []

    def write(items: Iterator[int]) -> None:
        for item in items:
            time.sleep(0.002)
            written.append(item)

    with WriteBehind(write, 3) as writer:
        for number in range(30):
            writer.put(number)
    assert written == list(range(30))


def test_an_error_of_writing_ends_the_work() -> None:
    def write(items: Iterator[int]) -> None:
        for item in items:
            if item == 5:
                raise OSError("no space left")

    with pytest.raises(OSError, match="no space"), WriteBehind(write, 2) as writer:
        for number in range(10**6):
            writer.put(number)
            time.sleep(0.0005)
    with pytest.raises(OSError, match="no space"), WriteBehind(write, 100) as writer:
        for number in range(6):
            writer.put(number)


def test_a_writer_learns_that_the_work_failed() -> None:
    seen: list[object] = []

    def write(items: Iterator[int]) -> None:
        try:
            for item in items:
                seen.append(item)
        except CancelledError as error:
            seen.append(error.code)
            raise

    with pytest.raises(KeyError), WriteBehind(write, 2) as writer:
        writer.put(1)
        raise KeyError("of the work")
    assert seen == [1, "engine.cancelled"]
