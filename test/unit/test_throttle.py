"""What reaches the log."""

from __future__ import annotations

from depth_anything_ros.ros.throttle import LogThrottle


def test_a_line_comes_again_only_after_the_period() -> None:
    now = [0.0]
    throttle = LogThrottle(period=10.0, burst=3, clock=lambda: now[0])
    assert throttle.passes("a") and not throttle.passes("a")
    assert throttle.passes("b")
    now[0] = 9.9
    assert not throttle.passes("a")
    now[0] = 10.0
    assert throttle.passes("a") and not throttle.passes("a")


def test_ever_new_lines_are_bounded() -> None:
    now = [0.0]
    throttle = LogThrottle(clock=lambda: now[0])
    passed = []
    for tick in range(3000):
        now[0] = tick / 30
        passed += [now[0]] * throttle.passes(f"line {tick}")
    assert all(sum(start <= at < start + 15.0 for at in passed) < 20 for start in range(86))
    assert len(passed) >= 50
