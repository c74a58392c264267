"""From a processed picture to a view: whose camera, which kind of depth, and no points where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_engine import ANY_VIEW, METRIC, FakeEngine
from toy_model import any_view_model
from wall import Wall

from depth_anything_ros import Engine, Intrinsics
from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.export.points import confidence_percentile, gather
from depth_anything_ros.export.views import unit_of, view_of
from depth_anything_ros.types import DepthKind, Frame, Prediction


def half_size(pixels: np.ndarray) -> np.ndarray:
    return 2.0 + pixels[::2, ::2, 0] / 255.0


def seen(frame: Frame, engine: FakeEngine) -> tuple[Frame, Prediction]:
    return frame, engine.infer(frame.pixels, bgr=frame.bgr, intrinsics=frame.intrinsics)


def test_the_cameras_own_focal_length_counts_from_the_corner(photo: np.ndarray) -> None:
    frame = Frame(photo, False, Intrinsics(64, 48, 80.0, 90.0, 31.5, 23.5), 0, "")
    view = view_of(*seen(frame, FakeEngine(ANY_VIEW, half_size)), "a.png")
    assert view.intrinsics == Intrinsics(32, 24, 40.0, 45.0, 16.0, 12.0)
    assert (view.picture_size, view.pixels.shape) == ((64, 48), (24, 32, 3))
    np.testing.assert_array_equal(view.camera_from_world, np.eye(3, 4))


def test_the_networks_estimate_is_taken_as_it_is(photo: np.ndarray) -> None:
    view = view_of(*seen(Frame(photo, False, None, 0, ""), FakeEngine(ANY_VIEW)), "a.png")
    assert view.intrinsics == Intrinsics(64, 48, 51.2, 51.2, 32.0, 24.0)
    assert unit_of([view]) == "relative_depth"


def test_bgr_frames_keep_their_colours(photo: np.ndarray) -> None:
    engine = FakeEngine(ANY_VIEW)
    view = view_of(*seen(Frame(np.ascontiguousarray(photo[..., ::-1]), True, None, 0, ""), engine), "a.png")
    np.testing.assert_array_equal(view.pixels, photo)


def test_sky_gives_no_points() -> None:
    pixels = np.full((4, 6, 3), 100, np.uint8)
    pixels[:2, :, 2] = 255  # sky of the fake engine
    frame = Frame(pixels, False, Intrinsics(6, 4, 300.0, 300.0, 2.5, 1.5), 0, "")
    view = view_of(*seen(frame, FakeEngine(METRIC)), "a.png")
    assert unit_of([view]) == "metre"
    assert gather([view], None).uv[:, 1].tolist() == [2] * 6 + [3] * 6


@pytest.mark.parametrize(("size", "whole"), [((504, 378), True), ((504, 364), True), ((378, 378), False), ((504, 252), False)])
def test_a_prediction_of_a_part_of_the_picture_is_refused(size: tuple[int, int], whole: bool) -> None:
    frame = Frame(np.zeros((480, 640, 3), np.uint8), False, None, 0, "")
    depth = np.ones(size[::-1], np.float32)
    prediction = FakeEngine(ANY_VIEW, lambda pixels: depth).infer(frame.pixels)
    if whole:
        assert view_of(frame, prediction, "a.png").picture_size == (640, 480)
        return
    with pytest.raises(InputError, match="one shape"):
        view_of(frame, prediction, "a.png")


@pytest.mark.native
@pytest.mark.parametrize("size", [(2000, 20), (33, 777), (641, 359), (64, 48), (5, 5)])
def test_every_picture_alone_is_seen_as_a_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    frame = Frame(np.zeros((size[1], size[0], 3), np.uint8), False, None, 0, "")
    with Engine.load(any_view_model(tmp_path), threads=1, resolution=112) as engine:
        assert view_of(frame, engine.infer(frame.pixels), "a.png").picture_size == size


def test_without_any_intrinsics_the_way_out_is_named(photo: np.ndarray) -> None:
    with pytest.raises(InputError, match="--focal"):
        view_of(*seen(Frame(photo, False, None, 0, ""), FakeEngine(METRIC)), "a.png")


def test_inverse_depth_makes_no_points(wall: Wall) -> None:
    with pytest.raises(OptionError, match="inverse depth"):
        replace(wall.views[0], kind=DepthKind.RELATIVE_INVERSE_DEPTH)


def test_one_relative_view_makes_the_scene_relative(wall: Wall) -> None:
    assert unit_of([wall.views[0], replace(wall.views[1], kind=DepthKind.RELATIVE_DEPTH)]) == "relative_depth"


def test_points_lie_on_the_wall_in_order_of_view_row_and_column(wall: Wall) -> None:
    cloud = gather(wall.views, None)
    assert wall.off(cloud.xyz).max() < 1e-5
    order = np.lexsort((cloud.uv[:, 0], cloud.uv[:, 1], cloud.view))
    np.testing.assert_array_equal(order, np.arange(2 * 28 * 14))


def test_what_is_not_a_depth_is_left_out(wall: Wall) -> None:
    depth = wall.views[0].depth.copy()
    depth[0, :4] = np.nan, np.inf, 0.0, -1.0
    assert gather([replace(wall.views[0], depth=depth)], None).uv[0].tolist() == [4, 0]


def test_the_percentile_spans_all_views(wall: Wall) -> None:
    low, high = (replace(view, confidence=np.full_like(view.depth, value)) for view, value in zip(wall.views, (1.0, 3.0)))
    assert confidence_percentile([low, high], 40.0) == 1.0
    assert confidence_percentile([low, high], 90.0) == 3.0
    assert confidence_percentile([low, high], 50.0) == 2.0  # between the two middle values
    assert confidence_percentile([low, replace(high, confidence=None)], 40.0) is None
