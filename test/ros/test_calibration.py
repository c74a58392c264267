"""Which CameraInfo a picture gets, without the middleware."""

from __future__ import annotations

import threading
import time

import pytest
from rig import info_message

from depth_anything_ros.ros.calibration import CameraInfos, Match, rectified_by_name, sibling, view_of

PICTURE = ((64, 48), "cam_optical")


@pytest.mark.case(41)
def test_the_own_stamp_wins_over_the_newest() -> None:
    infos = CameraInfos(patience=0.0)
    assert infos.match(5) is None
    for stamp in (4, 5, 6):
        infos.add(info_message((64, 48), stamp))
    exact, other = infos.match(5), infos.match(7)
    assert exact is not None and exact.exact and exact.info.header.stamp.nanosec == 5
    assert other is not None and not other.exact and other.info.header.stamp.nanosec == 6


@pytest.mark.case(41)
def test_a_partner_that_comes_a_moment_later_is_waited_for_and_a_missing_one_only_once() -> None:
    infos = CameraInfos(patience=0.5)
    threading.Timer(0.05, infos.add, [info_message((64, 48), 5)]).start()
    match = infos.match(5)
    assert match is not None and match.exact
    for expected in (0.5, 0.0):
        started = time.monotonic()
        match = infos.match(99)
        assert match is not None and not match.exact
        assert time.monotonic() - started == pytest.approx(expected, abs=0.2)


def test_only_the_last_infos_are_kept() -> None:
    infos = CameraInfos(patience=0.0)
    for stamp in range(1000):
        infos.add(info_message((64, 48), stamp))
    old, new = infos.match(1), infos.match(999)
    assert old is not None and not old.exact and new is not None and new.exact


def test_an_info_sent_again_replaces_the_old_one() -> None:
    infos = CameraInfos(patience=0.0)
    for focal in (100.0, 200.0):
        infos.add(info_message((64, 48), 5, fx=focal))
    match = infos.match(5)
    assert match is not None and match.info.k[0] == 200.0


@pytest.mark.case(47)
@pytest.mark.parametrize(
    ("topic", "rectify", "expected"),
    [
        ("/camera/image_raw", "auto", False),
        ("/camera/image_rect", "auto", True),
        ("/camera/image_rect_color", "auto", True),
        ("/rectified/image", "auto", False),
        ("/camera/image_rect", "off", False),
    ],
)
def test_rectified_by_the_last_token(topic: str, rectify: str, expected: bool) -> None:
    assert rectified_by_name(topic, rectify) == expected


@pytest.mark.case(47)
@pytest.mark.parametrize(
    ("topic", "expected"), [("/image", "/camera_info"), ("/a/b/image_rect", "/a/b/camera_info"), ("/robot1/image", "/robot1/camera_info")]
)
def test_sibling(topic: str, expected: str) -> None:
    assert sibling(topic) == expected


@pytest.mark.case(18)
def test_the_stated_fallback_and_nothing() -> None:
    stated = view_of(*PICTURE, None, rectified=False, focal=50.0)
    assert stated.intrinsics is not None and (stated.intrinsics.fx, stated.intrinsics.cx) == (50.0, 31.5)
    assert stated.source == "parameter focal" and stated.problem
    nothing = view_of(*PICTURE, None, rectified=False, focal=0.0)
    assert nothing.intrinsics is None and nothing.problem == "no camera_info has come"


def test_a_camera_info_wins_over_the_focal_length() -> None:
    view = view_of(*PICTURE, Match(info_message((64, 48), 5, fx=70.0), True), rectified=False, focal=50.0)
    assert view.intrinsics is not None and view.intrinsics.fx == 70.0 and view.lens is None and not view.problem


@pytest.mark.case(20)
def test_distortion_cannot_be_removed_without_k() -> None:
    """P describes the rectified picture; the raw one that comes must not pass for it."""
    info = info_message((64, 48), 5, fx=70.0)
    info.k, info.d = [0.0] * 9, [-0.2, 0.1, 0.0, 0.0, 0.0]
    view = view_of(*PICTURE, Match(info, True), rectified=False, focal=0.0)
    assert view.intrinsics is not None and view.intrinsics.fx == 70.0
    assert view.lens is not None and view.removes is None and "stays distorted (K holds no usable" in view.problem
    assert view_of(*PICTURE, Match(info, True), rectified=True, focal=0.0).lens is None


def test_another_frame_is_told() -> None:
    view = view_of(*PICTURE, Match(info_message((64, 48), 5, frame="elsewhere"), True), rectified=False, focal=0.0)
    assert "elsewhere" in view.problem and "cam_optical" in view.problem and view.intrinsics is not None
