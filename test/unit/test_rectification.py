"""Rectification against the definitions of the lens models: a known point of the world is drawn where the formula puts it, and must
come out where the pinhole puts it."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from depth_anything_ros.errors import InputError
from depth_anything_ros.geometry import Calibration
from depth_anything_ros.rectification import Rectifier, lens_of

WIDTH, HEIGHT = 320, 240
K = (260.0, 0.0, 158.0, 0.0, 250.0, 123.0, 0.0, 0.0, 1.0)
P = (230.0, 0.0, 150.0, 0.0, 0.0, 235.0, 118.0, 0.0, 0.0, 0.0, 1.0, 0.0)
NO_P = (0.0,) * 12
MODELS = {
    "plumb_bob": (-0.25, 0.08, 0.001, -0.002, 0.01),
    "rational_polynomial": (0.2, -0.1, 0.001, -0.001, 0.02, 0.5, -0.05, 0.01),
    "equidistant": (-0.02, 0.01, -0.003, 0.0005),
}


def calibration(model: str, d: tuple[float, ...], p: tuple[float, ...] = P, **more: object) -> Calibration:
    return Calibration(WIDTH, HEIGHT, K, p, d, model, **more)  # type: ignore[arg-type]


def distorted(model: str, d: tuple[float, ...], x: float, y: float) -> tuple[float, float]:
    """Where the ray (x, y, 1) hits the normalised image plane behind the lens, by the formulas of the CameraInfo documentation."""
    r2 = x * x + y * y
    if model == "equidistant":
        r = math.sqrt(r2)
        angle = math.atan(r)
        bent = angle * (1 + sum(k * angle ** (2 * power) for power, k in enumerate(d, start=1)))
        return x * bent / r, y * bent / r
    k1, k2, p1, p2, k3, *rest = d
    k4, k5, k6 = rest or (0.0, 0.0, 0.0)
    radial = (1 + k1 * r2 + k2 * r2**2 + k3 * r2**3) / (1 + k4 * r2 + k5 * r2**2 + k6 * r2**3)
    return x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x), y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y


@pytest.mark.case(25)
@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("p", [P, NO_P], ids=["P", "K"])
def test_points_come_out_where_a_pinhole_puts_them(model: str, p: tuple[float, ...]) -> None:
    terms = MODELS[model]
    rectifier = Rectifier(lens_of(calibration(model, terms, p), WIDTH, HEIGHT))
    fx, fy, cx, cy = (p[0], p[5], p[2], p[6]) if p is P else (K[0], K[4], K[2], K[5])
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    for x, y in [(-0.4, -0.3), (0.0, 0.05), (0.35, 0.2), (-0.2, 0.3), (0.45, -0.25)]:
        u, v = distorted(model, terms, x, y)
        spot = np.exp(-((columns - (u * K[0] + K[2])) ** 2 + (rows - (v * K[4] + K[5])) ** 2) / 8.0)
        seen = rectifier.apply(np.repeat((spot * 250).astype(np.uint8)[:, :, np.newaxis], 3, axis=2))[:, :, 1].astype(float)
        centre = (seen * columns).sum() / seen.sum(), (seen * rows).sum() / seen.sum()
        assert math.dist(centre, (x * fx + cx, y * fy + cy)) < 0.5


@pytest.mark.case(23)
@pytest.mark.case(25)
def test_tables_belong_to_the_picture_s_size() -> None:
    """A binned picture of half the size: K halved, the terms as they are."""
    whole = lens_of(calibration("plumb_bob", MODELS["plumb_bob"]), WIDTH, HEIGHT)
    binned = lens_of(calibration("plumb_bob", MODELS["plumb_bob"], binning=(2, 2)), WIDTH // 2, HEIGHT // 2)
    assert (binned.raw.fx, binned.rectified.fy) == (whole.raw.fx / 2, whole.rectified.fy / 2) and binned.terms == whole.terms
    picture = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8), (0, 0), 6)
    halved = cv2.resize(Rectifier(whole).apply(picture), (WIDTH // 2, HEIGHT // 2), interpolation=cv2.INTER_AREA)
    other_way = Rectifier(binned).apply(cv2.resize(picture, (WIDTH // 2, HEIGHT // 2), interpolation=cv2.INTER_AREA))
    unseen = cv2.dilate(cv2.resize(Rectifier(whole).outside, (WIDTH // 2, HEIGHT // 2)), np.ones((9, 9)))
    assert 0.5 < (unseen == 0).mean() < 1.0
    assert np.abs(halved.astype(int) - other_way)[unseen == 0].max() <= 2


@pytest.mark.case(25)
def test_what_the_camera_did_not_see_is_marked() -> None:
    barrel = Rectifier(lens_of(calibration("plumb_bob", (-0.3, 0.0, 0.0, 0.0), NO_P), WIDTH, HEIGHT))
    assert barrel.outside is None, "the rectified view is inside of the raw one"
    pincushion = Rectifier(lens_of(calibration("plumb_bob", (0.3, 0.0, 0.0, 0.0), NO_P), WIDTH, HEIGHT))
    assert pincushion.outside is not None and pincushion.outside[0, 0] == 255 and pincushion.outside[120, 160] == 0
    white = pincushion.apply(np.full((HEIGHT, WIDTH, 3), 255, np.uint8))
    assert (white[pincushion.outside == 0] == 255).all()


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("model", "d", "farthest"),
    [
        ("plumb_bob", (-0.25, 0.0, 0.0, 0.0), math.sqrt(1 / 0.75)),  # where r - 0.25 r^3 is largest
        ("rational_polynomial", (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), 1.0),  # r / (1 + r^2)
        ("equidistant", (-0.5, 0.0, 0.0, 0.0), math.tan(math.sqrt(1 / 1.5))),  # a - 0.5 a^3 of the angle a
    ],
)
def test_beyond_the_turn_of_a_model_nothing_is_seen(model: str, d: tuple[float, ...], farthest: float) -> None:
    """There the formula comes back into the picture, which would be drawn a second time."""
    k = (90.0, 0.0, 159.5, 0.0, 90.0, 119.5, 0.0, 0.0, 1.0)
    outside = Rectifier(lens_of(Calibration(WIDTH, HEIGHT, k, NO_P, d, model), WIDTH, HEIGHT)).outside
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    radius = np.hypot((columns - 159.5) / 90.0, (rows - 119.5) / 90.0)
    assert outside is not None and radius.max() > 1.5 * farthest
    np.testing.assert_array_equal(outside[abs(radius - farthest) > 0.01] > 0, (radius > farthest)[abs(radius - farthest) > 0.01])


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("model", "d"),
    [
        ("rational_polynomial", (41.8, -172.0, 0.0012, -0.0007, 530.0, 41.2, -169.0, 522.0)),
        ("rational_polynomial", (1e30, -1e30, 1e30, 1.0, 1e30, 0.0, 0.0, 0.0)),
        ("plumb_bob", (0.1, 0.1, 0.0, 0.0)),
        ("", (0.1, 0.1, 0.0, 0.0)),
        ("", (0.1, 0.1, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1)),
    ],
)
def test_huge_terms_and_missing_names_do_no_harm(model: str, d: tuple[float, ...]) -> None:
    try:
        picture = Rectifier(lens_of(calibration(model, d), WIDTH, HEIGHT)).apply(np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    except InputError as error:
        assert "calibrate again" in str(error) and max(map(abs, d)) > 1e6
    else:
        assert picture.shape == (HEIGHT, WIDTH, 3)


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("model", "d", "text"),
    [
        ("foo", (0.1, 0.0, 0.0, 0.0), "'foo'"),
        ("\x1b[31m" * 40, (0.1,), "distortion model"),
        ("plumb_bob", (0.1,), "4 or 5"),
        ("plumb_bob", (0.1,) * 8, "4 or 5"),
        ("equidistant", (0.1,) * 5, "must be 4"),
        ("plumb_bob", (float("nan"), 0.0, 0.0, 0.0), "finite"),
    ],
)
def test_lenses_that_are_not_known(model: str, d: tuple[float, ...], text: str) -> None:
    with pytest.raises(InputError, match=text) as caught:
        lens_of(calibration(model, d), WIDTH, HEIGHT)
    assert caught.value.code == "input.intrinsics" and str(caught.value).isprintable()


@pytest.mark.case(20)
@pytest.mark.case(25)
def test_distortion_without_k_cannot_be_removed() -> None:
    with pytest.raises(InputError, match="K"):
        lens_of(Calibration(WIDTH, HEIGHT, (0.0,) * 9, P, (0.1, 0.0, 0.0, 0.0), "plumb_bob"), WIDTH, HEIGHT)
