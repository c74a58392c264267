"""Surfaces painted anew, on rooms whose planes and distances are known."""

import numpy as np
import pytest

from training.retexture import retexture

FOCAL, HEIGHT, WIDTH, CAMERA_HEIGHT, WALL = 120.0, 126, 168, 0.6, 4.0


def room():
    """Depth of a floor 0.6 m below a level camera and of a wall 4 m ahead that ends below the sky, and which pixels are floor and wall."""
    rows = np.arange(HEIGHT)[:, None] - (HEIGHT - 1) / 2 + np.zeros(WIDTH)
    with np.errstate(divide="ignore"):
        floor = np.where(rows > 0, CAMERA_HEIGHT * FOCAL / rows, np.inf)
    depth = np.where(rows < -40, np.inf, np.minimum(floor, WALL)).astype(np.float32)
    return depth, depth < WALL, depth == WALL


def painted(seed):
    depth, floor, wall = room()
    rgb = np.full((HEIGHT, WIDTH, 3), 0.5, np.float32)
    result = retexture(rgb, depth, FOCAL, np.random.default_rng(seed))
    return (result != rgb).any(-1), floor, wall, result


@pytest.mark.parametrize("seed", range(40))
def test_one_surface_is_painted_and_the_sky_stays(seed):
    changed, floor, wall, result = painted(seed)
    assert result.dtype == np.float32 and np.isfinite(result).all() and result.min() >= 0 and result.max() <= 1
    assert not changed[np.isinf(room()[0])].any()
    assert (changed & floor).mean() < 0.01 or (changed & wall).mean() < 0.01  # the corner itself, at most


def test_most_pictures_are_painted_and_all_of_a_wall_is():
    shares = [(changed[wall].mean(), changed[floor].mean()) for changed, floor, wall, _ in map(painted, range(40))]
    assert sum(max(share) > 0.3 for share in shares) > 20
    assert max(share for share, _ in shares) > 0.9


def test_periods_are_metres():
    """The same pattern on a wall twice as far away has twice the periods in the picture."""
    ratios = []
    for seed in range(60):
        near, far = (strongest_frequency(wall_ahead(distance, seed)) for distance in (1.5, 3.0))
        if near >= 6:  # a grating of several periods
            ratios.append(far / near)
    assert len(ratios) >= 5
    assert np.median(ratios) == pytest.approx(2.0, rel=0.05)


def wall_ahead(distance, seed):
    grey = np.full((HEIGHT, WIDTH, 3), 0.5, np.float32)
    return retexture(grey, np.full((HEIGHT, WIDTH), distance, np.float32), FOCAL, np.random.default_rng(seed))[..., 0]


def strongest_frequency(values):
    """Periods along the width of the picture, times the same number of pixels along its height."""
    energy = np.abs(np.fft.rfft2((values - values.mean()) * np.outer(*(np.hanning(size) for size in values.shape)), (512, 512)))
    y, x = np.unravel_index(energy.argmax(), energy.shape)
    return np.hypot(min(y, 512 - y), x) * WIDTH / 512
