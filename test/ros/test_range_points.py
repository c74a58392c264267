"""Messages of range sensors to points, as their definitions say; what is damaged is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rig import info_message
from sensor_msgs.msg import Image, LaserScan, PointCloud2, PointField, Range

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.range_points import beam_point, cloud_points, depth_points, scan_points


def test_a_scan() -> None:
    scan = LaserScan(angle_min=-math.pi / 2, angle_increment=math.pi / 4, range_min=0.1, range_max=10.0)
    scan.ranges = [1.0, 2.0, math.inf, math.nan, 20.0, 0.05, -math.inf]
    half = 2.0 * math.sqrt(0.5)
    np.testing.assert_allclose(scan_points(scan), [[0.0, -1.0, 0.0], [half, -half, 0.0]], atol=1e-6)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.02, 4.0])
def test_a_sonar_that_sees_nothing(value: float) -> None:
    assert beam_point(Range(min_range=0.02, max_range=4.0, range=value)).shape == (0, 3)


def test_a_sonar() -> None:
    np.testing.assert_allclose(beam_point(Range(min_range=0.02, max_range=4.0, range=1.5)), [[1.5, 0.0, 0.0]])


def cloud(points: np.ndarray, *, big: bool = False, kind: str = "f4", padding: int = 0) -> PointCloud2:
    """Organised [h, w, 3] with an intensity before the coordinates."""
    height, width = points.shape[:2]
    dtype = np.dtype([("intensity", "u1"), *[(name, (">" if big else "<") + kind) for name in "xyz"]])
    raw = np.zeros((height, width), dtype)
    for index, name in enumerate("xyz"):
        raw[name] = points[..., index]
    rows = np.pad(raw.view(np.uint8).reshape(height, -1), ((0, 0), (0, padding)), constant_values=0xAA)
    message = PointCloud2(height=height, width=width, point_step=dtype.itemsize, row_step=rows.shape[1], is_bigendian=big)
    code = PointField.FLOAT32 if kind == "f4" else PointField.FLOAT64
    message.fields = [PointField(name=name, offset=dtype.fields[name][1], datatype=code, count=1) for name in "xyz"]
    message.data.frombytes(rows.tobytes())
    return message


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_a_cloud(big: bool, kind: str) -> None:
    points = np.random.default_rng(0).normal(0.0, 3.0, (4, 5, 3))
    np.testing.assert_allclose(cloud_points(cloud(points, big=big, kind=kind, padding=3)), points.reshape(-1, 3), rtol=1e-6)


def test_a_large_cloud_is_thinned_evenly() -> None:
    points = np.zeros((100, 200, 3))
    points[..., 0] = np.arange(20000).reshape(100, 200)
    found = cloud_points(cloud(points))
    assert 1000 < len(found) <= 2100 and found[0, 0] == 0.0 and found[-1, 0] > 19900.0


def test_what_a_cloud_does_not_know_takes_no_places() -> None:
    """An organised cloud, most of it NaN and infinity: all that it knows is there."""
    points = np.full((100, 100, 3), np.nan)
    points[50:] = np.inf
    points[::10, ::10] = 2.0
    np.testing.assert_array_equal(cloud_points(cloud(points)), np.full((100, 3), 2.0))


def test_a_scan_of_senseless_angles_has_no_points() -> None:
    scan = LaserScan(angle_min=0.0, angle_increment=math.inf, range_min=0.1, range_max=30.0, ranges=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(scan_points(scan), np.empty((0, 3)))


@pytest.mark.case(4)
def test_damaged_clouds_are_refused() -> None:
    good = cloud(np.ones((2, 3, 3)))
    good.data = good.data[:-1]
    with pytest.raises(InputError, match="bytes"):
        cloud_points(good)
    for fields in ([], [PointField(name="x", datatype=PointField.FLOAT32)], [PointField(name=n, datatype=PointField.INT8) for n in "xyz"]):
        broken = cloud(np.ones((2, 3, 3)))
        broken.fields = fields
        with pytest.raises(InputError, match="fields"):
            cloud_points(broken)
    far = cloud(np.ones((2, 3, 3)))
    far.fields[2].offset = 4000
    with pytest.raises(InputError, match="fields"):
        cloud_points(far)
    assert cloud_points(PointCloud2(fields=cloud(np.ones((1, 1, 3))).fields, point_step=13)).shape == (0, 3)


@pytest.mark.parametrize("encoding", ["32FC1", "16UC1"])
@pytest.mark.parametrize("big", [0, 1])
def test_a_depth_image(encoding: str, big: int) -> None:
    """A plane; each point must project to the pixel that it came from and lie on it."""
    values = np.full((48, 64), 2.5)
    values[:4] = 0.0 if encoding == "16UC1" else np.nan
    dtype = np.dtype((">" if big else "<") + {"32FC1": "f4", "16UC1": "u2"}[encoding])
    raw = (values * (1000.0 if encoding == "16UC1" else 1.0)).astype(dtype)
    rows = np.pad(raw.view(np.uint8).reshape(48, -1), ((0, 0), (0, 8)))
    image = Image(height=48, width=64, encoding=encoding, is_bigendian=big, step=rows.shape[1])
    image.data.frombytes(rows.tobytes())
    points = depth_points(image, info_message((64, 48), 0, 50.0, 52.0, 30.0, 25.0))
    np.testing.assert_allclose(points[:, 2], 2.5)
    u, v = points[:, 0] / 2.5 * 50.0 + 30.0, points[:, 1] / 2.5 * 52.0 + 25.0
    np.testing.assert_allclose([u, v], np.rint([u, v]), atol=1e-9)
    assert len(points) > 500 and v.min() >= 4 and u.min() >= 0 and u.max() <= 63


@pytest.mark.case(4)
def test_damaged_depth_images_are_refused() -> None:
    info = info_message((64, 48), 0)
    with pytest.raises(InputError, match="8UC1"):
        depth_points(Image(height=48, width=64, encoding="8UC1", step=64), info)
    with pytest.raises(InputError, match="bytes"):
        depth_points(Image(height=48, width=64, encoding="32FC1", step=256), info)
