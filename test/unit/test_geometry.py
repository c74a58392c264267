"""Geometry against OpenCV's projection and against scenes whose points are known."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from depth_anything_ros import depth, geometry
from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration, camera_model
from depth_anything_ros.types import Intrinsics

KINECT = Intrinsics(640, 480, 521.18, 493.03, 281.5, 263.25)
"""fx differs from fy by 5 % as on a real sensor; the principal point is far off the middle."""


def matrix_k(of: Intrinsics) -> tuple[float, ...]:
    return (of.fx, 0.0, of.cx, 0.0, of.fy, of.cy, 0.0, 0.0, 1.0)


def matrix_p(of: Intrinsics) -> tuple[float, ...]:
    return (of.fx, 0.0, of.cx, 0.0, 0.0, of.fy, of.cy, 0.0, 0.0, 0.0, 1.0, 0.0)


def opencv_pixels(points: np.ndarray, of: Intrinsics) -> np.ndarray:
    """Pixels [n, 2] of points [n, 3] by cv2.projectPoints."""
    camera = np.array(matrix_k(of)).reshape(3, 3)
    pixels, _ = cv2.projectPoints(points.astype(np.float64).reshape(-1, 1, 3), np.zeros(3), np.zeros(3), camera, None)
    return pixels.reshape(-1, 2)


def plane_depth(of: Intrinsics, normal: tuple[float, float, float], distance: float) -> np.ndarray:
    """Depth of the plane normal . X = distance as a camera sees it: rays by OpenCV, one per pixel centre."""
    columns, rows = np.meshgrid(np.arange(of.width, dtype=np.float64), np.arange(of.height, dtype=np.float64))
    grid = np.stack([columns, rows], axis=2).reshape(-1, 1, 2)
    rays = cv2.undistortPoints(grid, np.array(matrix_k(of)).reshape(3, 3), None).reshape(of.height, of.width, 2)
    return (distance / (rays @ normal[:2] + normal[2])).astype(np.float32)


def xyz_of(cloud: np.ndarray) -> np.ndarray:
    return np.stack([cloud["x"], cloud["y"], cloud["z"]], axis=-1)


@pytest.mark.case(22)
@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_points_project_to_their_own_pixel(stride: int) -> None:
    depths = np.random.default_rng(3).uniform(0.3, 30.0, (480, 640)).astype(np.float32)
    cloud = geometry.project(depths, KINECT, np.zeros((480, 640, 3), np.uint8), stride=stride)
    assert cloud.shape == (-(-480 // stride), -(-640 // stride))
    rows, columns = np.mgrid[0 : cloud.shape[0], 0 : cloud.shape[1]] * stride
    pixels = opencv_pixels(xyz_of(cloud).reshape(-1, 3), KINECT).reshape(*cloud.shape, 2)
    assert np.abs(pixels[:, :, 0] - columns).max() < 0.01
    assert np.abs(pixels[:, :, 1] - rows).max() < 0.01
    np.testing.assert_array_equal(cloud["z"], depths[::stride, ::stride])


@pytest.mark.case(22)
@pytest.mark.parametrize("network", [(504, 378), (504, 280), (280, 504)])
def test_a_plane_seen_through_another_size_stays_that_plane(network: tuple[int, int]) -> None:
    """The network sees the plane squeezed to its own size; at camera size the cloud lies on the plane and projects to its pixels."""
    normal, distance = (0.3, -0.2, 1.0), 2.0
    sx, sy = network[0] / 640, network[1] / 480
    # Written out apart from the code under test: edges stay edges, so the corner-based principal point scales linearly.
    squeezed = Intrinsics(*network, KINECT.fx * sx, KINECT.fy * sy, (KINECT.cx + 0.5) * sx - 0.5, (KINECT.cy + 0.5) * sy - 0.5)
    depths = depth.resize(plane_depth(squeezed, normal, distance), 640, 480)
    cloud = geometry.project(depths, KINECT, np.zeros((480, 640, 3), np.uint8))[4:-4, 4:-4]
    off_plane = np.abs(xyz_of(cloud) @ normal - distance) / np.linalg.norm(normal)
    assert off_plane.max() < 0.002
    rows, columns = np.mgrid[4:476, 4:636]
    true_depth = plane_depth(KINECT, normal, distance)[4:-4, 4:-4]
    pixels = opencv_pixels(xyz_of(cloud).reshape(-1, 3), KINECT).reshape(*cloud.shape, 2)
    assert np.abs(pixels - np.stack([columns, rows], axis=2)).max() < 0.5
    np.testing.assert_allclose(cloud["z"], true_depth, rtol=2e-3)


@pytest.mark.case(22)
def test_a_checker_lands_on_its_corners() -> None:
    """Squares of 0.1 m on a tilted board, rendered by rays: in the cloud, every point has the colour of the square that it lies on."""
    normal, distance = (0.2, 0.1, 1.0), 1.5
    depths = plane_depth(KINECT, normal, distance)
    columns, rows = np.meshgrid(np.arange(640), np.arange(480))
    x, y = (columns - KINECT.cx) / KINECT.fx * depths, (rows - KINECT.cy) / KINECT.fy * depths
    white = (np.floor(x / 0.1) + np.floor(y / 0.1)) % 2 == 0
    picture = np.where(white[:, :, np.newaxis], np.uint8(230), np.uint8(20)).repeat(3, axis=2)
    cloud = geometry.project(depths, KINECT, picture, stride=2)
    board = xyz_of(cloud)[:, :, :2] / 0.1
    expected = np.floor(board).sum(axis=2) % 2 == 0
    red = cloud.view(np.uint8).reshape(*cloud.shape, 16)[:, :, 14]
    # Half a pixel is 1.5 mm here: only points nearer to a line than that may differ.
    away_from_lines = (np.abs(board - np.rint(board)) > 0.015).all(axis=2)
    assert away_from_lines.mean() > 0.9
    np.testing.assert_array_equal(red[away_from_lines] > 128, expected[away_from_lines])


@pytest.mark.parametrize("size", [(320, 240), (504, 378), (1280, 960), (504, 280), (1, 1)])
def test_scaled_intrinsics_see_the_same_point_at_the_same_place(size: tuple[int, int]) -> None:
    """The fraction of the picture (from edge to edge) at which a point appears does not depend on the size."""
    points = np.array([[0.1, -0.2, 2.0], [-1.0, 0.7, 5.0], [0.0, 0.0, 1.0]])
    before = (opencv_pixels(points, KINECT) + 0.5) / (640, 480)
    scaled = geometry.scale_intrinsics(KINECT, *size)
    np.testing.assert_allclose((opencv_pixels(points, scaled) + 0.5) / size, before, atol=1e-9)
    assert (scaled.width, scaled.height) == size


def test_scaling_there_and_back() -> None:
    back = geometry.scale_intrinsics(geometry.scale_intrinsics(KINECT, 504, 280), 640, 480)
    np.testing.assert_allclose([back.fx, back.fy, back.cx, back.cy], [KINECT.fx, KINECT.fy, KINECT.cx, KINECT.cy], rtol=1e-12)


def test_network_estimate_has_its_principal_point_in_the_middle() -> None:
    estimate = geometry.network_intrinsics(Intrinsics(504, 378, 400.0, 410.0, 252.0, 189.0), 640, 480)
    assert (estimate.cx, estimate.cy) == pytest.approx(((640 - 1) / 2, (480 - 1) / 2))
    assert (estimate.fx, estimate.fy) == pytest.approx((400.0 * 640 / 504, 410.0 * 480 / 378))
    assert geometry.centred_intrinsics(500.0, 640, 480) == Intrinsics(640, 480, 500.0, 500.0, 319.5, 239.5)


@pytest.mark.case(36)
@pytest.mark.parametrize("bgr", [False, True])
def test_colour_bytes_are_blue_green_red(bgr: bool) -> None:
    red = np.zeros((4, 6, 3), np.uint8)
    red[:, :, 2 if bgr else 0] = 255
    cloud = geometry.project(np.ones((4, 6), np.float32), KINECT, red, bgr=bgr)
    assert cloud.dtype.itemsize == 16 and cloud.dtype.fields is not None
    assert [(name, cloud.dtype.fields[name][1]) for name in cloud.dtype.names or ()] == [("x", 0), ("y", 4), ("z", 8), ("rgb", 12)]
    assert cloud[0, 0].tobytes()[12:] == bytes([0, 0, 255, 0])
    assert np.frombuffer(cloud.tobytes(), "<u4").reshape(4, 6, 4)[2, 3, 3] == 0x00FF0000


def test_invalid_depth_gives_nan_points_with_their_colour(photo: np.ndarray) -> None:
    depths = np.ones((48, 64), np.float32)
    depths[0, 0], depths[1, 1], depths[2, 2] = np.nan, np.inf, -np.inf
    cloud = geometry.project(depths, KINECT, photo)
    for place in ((0, 0), (1, 1), (2, 2)):
        assert np.isnan(xyz_of(cloud)[place]).all()
        assert cloud[place].tobytes()[12:15] == photo[place][::-1].tobytes()
    assert np.isfinite(xyz_of(cloud)).all(axis=2).sum() == 48 * 64 - 3


def test_confidence_is_a_fifth_field(photo: np.ndarray) -> None:
    confidence = np.linspace(0.0, 1.0, 48 * 64, dtype=np.float32).reshape(48, 64)
    cloud = geometry.project(np.ones((48, 64), np.float32), KINECT, photo, stride=2, confidence=confidence)
    assert cloud.dtype.itemsize == 20
    np.testing.assert_array_equal(cloud["confidence"], confidence[::2, ::2])


def test_colours_of_a_picture_of_another_size(photo: np.ndarray) -> None:
    padded = np.zeros((48, 70, 3), np.uint8)
    padded[:, :64] = photo
    cloud = geometry.project(np.ones((24, 32), np.float32), KINECT, padded[:, :64])
    mean = photo.reshape(24, 2, 32, 2, 3).mean(axis=(1, 3))
    rgb = cloud.view(np.uint8).reshape(24, 32, 16)[:, :, 14:11:-1]
    assert np.abs(rgb - mean).max() <= 1.0


GOOD = Calibration(640, 480, matrix_k(KINECT), matrix_p(KINECT))
OTHER = Intrinsics(640, 480, 400.0, 401.0, 310.0, 230.0)


@pytest.mark.case(20)
@pytest.mark.parametrize("rectified", [False, True])
def test_the_matrix_of_the_kind_of_picture_is_read(rectified: bool) -> None:
    both = Calibration(640, 480, matrix_k(KINECT), matrix_p(OTHER))
    model = camera_model(both, 640, 480, rectified=rectified)
    assert (model.matrix, model.intrinsics) == (("P", OTHER) if rectified else ("K", KINECT))


@pytest.mark.case(20)
@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("broken", [(0.0,), (np.nan,), (np.inf,), (-5.0,), (4.6e-310,), (1e300,)])
def test_the_other_matrix_serves_when_one_is_broken(rectified: bool, broken: tuple[float]) -> None:
    only_k = Calibration(640, 480, matrix_k(KINECT), broken * 12)
    only_p = Calibration(640, 480, broken * 9, matrix_p(OTHER))
    assert camera_model(only_k, 640, 480, rectified=rectified).intrinsics == KINECT
    assert camera_model(only_p, 640, 480, rectified=rectified).intrinsics == OTHER


@pytest.mark.case(18)
@pytest.mark.parametrize(
    "calibration",
    [
        Calibration(0, 0, (0.0,) * 9, (0.0,) * 12),
        Calibration(640, 480, (0.0,) * 9, (0.0,) * 12),
        Calibration(640, 480, (np.nan,) * 9, ()),
        Calibration(0, 0, matrix_k(KINECT), matrix_p(KINECT)),
        Calibration(640, 480, matrix_k(KINECT), (), roi=(600, 0, 100, 480)),
        Calibration(640, 480, matrix_k(KINECT), (), roi=(0, 0, 100, 0)),
        Calibration(640, 480, matrix_k(KINECT), (), binning=(1000, 1)),
    ],
)
def test_useless_calibrations_are_refused(calibration: Calibration) -> None:
    with pytest.raises(InputError) as caught:
        camera_model(calibration, 640, 480, rectified=False)
    assert caught.value.code == "input.intrinsics"


@pytest.mark.case(21)
def test_another_aspect_is_refused_with_both_sizes() -> None:
    calibration = Calibration(1280, 720, matrix_k(KINECT), matrix_p(KINECT))
    with pytest.raises(InputError, match=r"1280x720.*640x400"):
        camera_model(calibration, 640, 400, rectified=False)


@pytest.mark.case(21)
def test_the_same_aspect_is_scaled() -> None:
    full = Intrinsics(1280, 720, 900.0, 880.0, 650.0, 340.0)
    model = camera_model(Calibration(1280, 720, matrix_k(full), matrix_p(full)), 640, 360, rectified=False)
    assert model.intrinsics == geometry.scale_intrinsics(full, 640, 360)
    assert model.calibrated_size == (1280, 720)


@pytest.mark.case(23)
@pytest.mark.parametrize(
    ("binning", "size"), [((2, 2), (640, 480)), ((2, 1), (640, 960)), ((0, 0), (1280, 960)), ((1, 1), (1280, 960)), ((3, 3), (426, 320))]
)
def test_binning_is_the_picture_made_smaller(binning: tuple[int, int], size: tuple[int, int]) -> None:
    """A binned pixel covers whole full-size pixels: a point that falls on the middle of such a block falls on the pixel's centre."""
    full = Intrinsics(1280, 960, 1042.0, 986.0, 563.0, 526.5)
    model = camera_model(Calibration(1280, 960, matrix_k(full), matrix_p(full), binning=binning), *size, rectified=True)
    bx, by = max(1, binning[0]), max(1, binning[1])
    block_middle = np.array([[10 * bx + (bx - 1) / 2, 20 * by + (by - 1) / 2]])
    ray = np.array([[(block_middle[0, 0] - full.cx) / full.fx, (block_middle[0, 1] - full.cy) / full.fy, 1.0]])
    np.testing.assert_allclose(opencv_pixels(ray, model.intrinsics), [[10.0, 20.0]], atol=1e-9)
    assert (model.intrinsics.width, model.intrinsics.height) == size


def test_a_region_shifts_the_principal_point() -> None:
    calibration = Calibration(640, 480, matrix_k(KINECT), (), roi=(100, 40, 400, 300))
    inside = camera_model(calibration, 400, 300, rectified=False).intrinsics
    assert (inside.cx, inside.cy) == pytest.approx((KINECT.cx - 100, KINECT.cy - 40))
    assert (inside.fx, inside.fy) == (KINECT.fx, KINECT.fy)


def test_distortion_is_noticed() -> None:
    assert not GOOD.distorted
    assert not Calibration(640, 480, (), (), d=(0.0,) * 5).distorted
    assert Calibration(640, 480, (), (), d=(0.0, 0.1)).distorted
