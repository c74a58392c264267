"""One frame to its products, with an engine whose depth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fake_engine import ANY_VIEW, METRIC, FakeEngine, brightness

from depth_anything_ros.errors import OptionError
from depth_anything_ros.pipeline import ProcessingOptions, WantedProducts, process
from depth_anything_ros.types import DepthKind, Frame, Intrinsics

CAMERA = Intrinsics(64, 48, 60.0, 54.0, 30.0, 25.0)
NESTED = replace(METRIC, needs_focal=False)
INVERSE = replace(METRIC, kind=DepthKind.RELATIVE_INVERSE_DEPTH, needs_focal=False)

INVERSE_ALONE = replace(INVERSE, has_sky=False)


def frame_of(pixels: np.ndarray, intrinsics: Intrinsics | None = CAMERA) -> Frame:
    return Frame(pixels, False, intrinsics, 123, "camera_optical_frame")


@pytest.mark.case(27)
@pytest.mark.parametrize("focal", [300.0, 500.0, 1000.0])
def test_metric_depth_follows_the_focal_length(photo: np.ndarray, focal: float) -> None:
    products = process(frame_of(photo, replace(CAMERA, fx=focal, fy=focal)), FakeEngine(METRIC))
    assert products.metric and products.depth is not None
    sky = photo[:, :, 2] > 250
    np.testing.assert_allclose(products.depth[~sky], brightness(photo)[~sky] * focal / 300.0, rtol=1e-6)


@pytest.mark.case(27)
def test_relative_depth_does_not(photo: np.ndarray) -> None:
    maps = [process(frame_of(photo, replace(CAMERA, fx=f, fy=f)), FakeEngine(ANY_VIEW)).depth for f in (300.0, 1000.0)]
    np.testing.assert_array_equal(*maps)


@pytest.mark.case(27)
@pytest.mark.case(18)
def test_no_metres_without_a_focal_length(photo: np.ndarray) -> None:
    products = process(frame_of(photo, None), FakeEngine(METRIC))
    assert not products.metric and products.points is None and products.intrinsics is None
    assert products.depth is not None and np.nanmax(np.where(np.isinf(products.depth), np.nan, products.depth)) <= 2.0


@pytest.mark.parametrize(("info", "metric"), [(ANY_VIEW, True), (NESTED, True), (INVERSE, False)])
def test_a_constant_makes_metres_of_relative_depth_only(photo: np.ndarray, info: object, metric: bool) -> None:
    products = process(frame_of(photo), FakeEngine(info), ProcessingOptions(scale_source="constant", scale_value=4.0))
    assert products.metric == metric
    assert (products.points is not None) == metric
    if info is ANY_VIEW:
        np.testing.assert_allclose(products.depth, brightness(photo) * 4.0, rtol=1e-6)


@pytest.mark.case(28)
def test_zero_is_a_value_of_inverse_depth_and_none_of_depth(photo: np.ndarray) -> None:
    def values(pixels: np.ndarray) -> np.ndarray:
        depth = brightness(pixels)
        depth[:3] = [[0.0], [-0.5], [np.nan]]
        return depth

    inverse, relative = (process(frame_of(photo), FakeEngine(info, depth_of=values)).depth for info in (INVERSE_ALONE, ANY_VIEW))
    np.testing.assert_array_equal(inverse[:3, 0], np.float32([0.0, -0.5, np.nan]))
    assert np.isnan(relative[:3]).all() and np.isfinite(relative[3:]).all()


def test_maps_have_the_size_of_the_picture_or_of_the_network(photo: np.ndarray) -> None:
    engine = FakeEngine(ANY_VIEW, depth_of=lambda pixels: brightness(pixels)[:28:1, :42])
    for size, expected in (("camera", (48, 64)), ("network", (28, 42))):
        options = ProcessingOptions(depth_size=size, scale_source="constant", scale_value=1.0, points_stride=3, points_confidence=True)
        products = process(frame_of(photo), engine, options)
        assert products.depth.shape == products.confidence.shape == expected
        assert (products.intrinsics.height, products.intrinsics.width) == expected
        assert products.points.shape == (-(-expected[0] // 3), -(-expected[1] // 3))
        assert products.points.dtype.names == ("x", "y", "z", "rgb", "confidence")
    assert products.intrinsics.fx == pytest.approx(60.0 * 42 / 64)
    assert products.intrinsics.fy == pytest.approx(54.0 * 28 / 48)


def test_the_network_estimate_serves_an_uncalibrated_camera(photo: np.ndarray) -> None:
    options = ProcessingOptions(scale_source="constant", scale_value=1.0)
    products = process(frame_of(photo, None), FakeEngine(ANY_VIEW), options)
    assert products.intrinsics == Intrinsics(64, 48, 0.8 * 64, 0.8 * 64, 31.5, 23.5)
    assert products.points is not None


@pytest.mark.case(33)
@pytest.mark.parametrize(("policy", "value"), [("inf", np.inf), ("nan", np.nan), ("max", 5.0)])
def test_sky_is_marked_in_depth_and_mask_and_absent_from_the_cloud(policy: str, value: float) -> None:
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:16, :, 2] = 255
    options = ProcessingOptions(sky_policy=policy, depth_max=5.0, points_stride=1)
    products = process(frame_of(pixels, replace(CAMERA, fx=300.0, fy=300.0)), FakeEngine(METRIC), options)
    np.testing.assert_array_equal(products.sky_mask, np.where(pixels[:, :, 2] > 250, 255, 0))
    np.testing.assert_array_equal(products.depth[:16], np.full((16, 64), value, np.float32))
    np.testing.assert_array_equal(products.depth[16:], np.ones((32, 64), np.float32))
    assert np.isnan(products.points["z"][:16]).all() == (policy != "max")
    assert np.isfinite(products.points["z"][16:]).all()


@pytest.mark.case(28)
def test_the_cloud_is_as_deep_as_the_map(photo: np.ndarray) -> None:
    options = ProcessingOptions(depth_min=1.2, depth_max=1.7, points_stride=2, points_edge_filter=0.0)
    products = process(frame_of(photo, replace(CAMERA, fx=300.0, fy=300.0)), FakeEngine(METRIC), options)
    sampled = products.depth[::2, ::2]
    np.testing.assert_array_equal(products.points["z"], np.where(np.isfinite(sampled), sampled, np.nan))
    finite = products.depth[np.isfinite(products.depth)]
    assert finite.min() >= 1.2 and finite.max() <= 1.7 and np.isnan(products.depth).any()


def test_doubtful_pixels_go(photo: np.ndarray) -> None:
    """The double's confidence is 4 everywhere, which is 0.75."""
    kept = process(frame_of(photo), FakeEngine(ANY_VIEW), ProcessingOptions(confidence_threshold=0.75))
    gone = process(frame_of(photo), FakeEngine(ANY_VIEW), ProcessingOptions(confidence_threshold=0.76))
    assert np.isfinite(kept.depth).all() and np.isnan(gone.depth).all()
    np.testing.assert_allclose(kept.confidence, 0.75)


@pytest.mark.case(35)
def test_the_cloud_has_a_range_of_its_own(photo: np.ndarray) -> None:
    options = ProcessingOptions(points_max=1.4, points_stride=1, points_edge_filter=0.0)
    products = process(frame_of(photo, replace(CAMERA, fx=300.0, fy=300.0)), FakeEngine(METRIC), options)
    z = products.points["z"]
    np.testing.assert_array_equal(np.isfinite(z), products.depth <= 1.4)
    assert 0.1 < np.isfinite(z).mean() < 0.9


@pytest.mark.case(35)
def test_edges_leave_the_cloud_not_the_map() -> None:
    """Left half at 1 m, right half at 2 m, by the double's brightness."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, 32:, 0] = 255
    frame = frame_of(pixels, replace(CAMERA, fx=300.0, fy=300.0))
    clouds = [process(frame, FakeEngine(METRIC), ProcessingOptions(points_stride=1, points_edge_filter=jump)) for jump in (0.1, 1.5, 0.0)]
    kept = [np.isfinite(products.points["z"]) for products in clouds]
    assert not kept[0][:, 31:33].any() and kept[0][:, :28].all() and kept[0][:, 36:].all()
    assert kept[1].all() and kept[2].all() and np.isfinite(clouds[0].depth).all()


@pytest.mark.case(25)
@pytest.mark.parametrize("size", ["camera", "network"])
def test_what_a_rectified_picture_does_not_show_has_no_depth(photo: np.ndarray, size: str) -> None:
    outside = np.zeros((48, 64), np.uint8)
    outside[:6] = 255
    engine = FakeEngine(ANY_VIEW, depth_of=lambda pixels: brightness(pixels)[::2, ::2])
    products = process(replace(frame_of(photo), outside=outside), engine, ProcessingOptions(depth_size=size))
    rows = 6 if size == "camera" else 3
    assert np.isnan(products.depth[:rows]).all() and np.isfinite(products.depth[rows:]).all()
    assert np.isfinite(products.prediction.depth).all(), "the network's own map is left as it is"


def test_guided_depth_has_the_size_of_the_picture(photo: np.ndarray) -> None:
    engine = FakeEngine(ANY_VIEW, depth_of=lambda pixels: brightness(pixels)[::2, ::2])
    plain, guided = (process(frame_of(photo), engine, ProcessingOptions(depth_upsample=way)).depth for way in ("bilinear", "guided"))
    assert plain.shape == guided.shape == (48, 64) and not np.array_equal(plain, guided)
    assert np.abs(guided - brightness(photo)).mean() < np.abs(plain - brightness(photo)).mean()


def test_only_what_is_wanted_is_made(photo: np.ndarray) -> None:
    wanted = WantedProducts(depth=False, confidence=True, sky_mask=False, points=False)
    products = process(frame_of(photo), FakeEngine(ANY_VIEW), ProcessingOptions(), wanted)
    assert products.depth is None and products.points is None and products.sky_mask is None
    assert products.confidence is not None


def test_the_engine_gets_the_picture_as_it_is(photo: np.ndarray) -> None:
    engine = FakeEngine(METRIC)
    process(replace(frame_of(photo), bgr=True), engine)
    (call,) = engine.calls
    assert call["bgr"] is True and call["intrinsics"] == CAMERA
    np.testing.assert_array_equal(call["pixels"], photo)


@pytest.mark.case(14)
@pytest.mark.parametrize("size", [(640, 480), (637, 478), (13, 13), (14, 14), (15, 3000), (3000, 15), (1, 1)])
def test_every_map_has_the_size_of_its_frame(size: tuple[int, int]) -> None:
    width, height = size
    engine = FakeEngine(ANY_VIEW, depth_of=lambda pixels: np.ones((14, 28), np.float32))
    options = ProcessingOptions(scale_source="constant", scale_value=1.0, points_stride=1)
    products = process(frame_of(np.zeros((height, width, 3), np.uint8), None), engine, options)
    assert products.depth.shape == products.confidence.shape == products.points.shape == (height, width)
    assert (products.intrinsics.width, products.intrinsics.height) == size


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth_min": -1.0},
        {"depth_min": 5.0, "depth_max": 5.0},
        {"depth_max": np.inf},
        {"depth_max": np.nan},
        {"depth_size": "half"},
        {"sky_policy": "black"},
        {"sky_threshold": 0.0},
        {"sky_threshold": np.nan},
        {"confidence_threshold": 1.1},
        {"points_stride": 0},
        {"points_max": -1.0},
        {"points_edge_filter": np.nan},
        {"color_near": 2.0, "color_far": 1.0},
        {"color_far": np.inf},
        {"depth_upsample": "cubic"},
        {"scale_source": "magic"},
        {"scale_source": "constant"},
        {"scale_value": -1.0},
        {"scale_value": np.nan},
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError) as caught:
        ProcessingOptions(**wrong)
    assert caught.value.code == "option.range"
    assert next(iter(wrong)).replace("_", ".", 1) in str(caught.value)
