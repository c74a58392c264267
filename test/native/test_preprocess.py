"""Resizing against OpenCV itself: the official code calls `cv2.resize` with INTER_AREA to shrink and INTER_CUBIC to enlarge, on uint8."""

import cv2
import numpy as np
import pytest

from depth_anything_ros import _native

pytestmark = pytest.mark.native

PATCH = 14
SIZES = [(640, 480), (1280, 720), (1920, 1080), (1080, 1920), (1008, 672), (1512, 1008), (741, 500), (320, 240), (637, 478)]
SIZES += [(1, 1), (13, 13), (14, 14), (20, 2000), (2000, 20), (15, 3000), (3000, 15), (504, 378), (505, 379), (1291, 1386), (97, 301)]


def official(picture, resolution):
    """The picture as the official `InputProcessor` resizes it, and whether a cubic resize took part."""
    height, width = picture.shape[:2]
    scale = resolution / max(width, height)
    sizes = [(max(1, round(width * scale)), max(1, round(height * scale)))]
    sizes.append(tuple(nearest_multiple(side) for side in sizes[0]))
    cubic = False
    for new in sizes:
        old = picture.shape[1::-1]
        if new != old:
            grows = new[0] > old[0] or new[1] > old[1]
            cubic = cubic or grows
            if old == (1, 1):  # OpenCV 4.5 refuses a single pixel
                picture = np.tile(picture, (new[1], new[0], 1))
            else:
                picture = cv2.resize(picture, new, interpolation=cv2.INTER_CUBIC if grows else cv2.INTER_AREA)
    return picture, cubic


def nearest_multiple(side):
    down = side // PATCH * PATCH
    return max(PATCH, down + PATCH if down + PATCH - side <= side - down else down)


def scene(width, height, seed):
    """Smooth colours with noise and hard edges, uint8."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = np.stack([np.sin(x / 17 + c) + np.cos(y / (11 + c)) for c in range(3)], -1) * 60 + 128
    edges = np.where(((x // 40 + y // 30) % 2 == 0)[..., None], 40, -40)
    return np.clip(waves + edges + random.normal(0, 12, (height, width, 3)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("resolution", [504, 280])
def test_pixels_are_those_of_opencv(size, resolution):
    picture = scene(*size, seed=size[0])
    expected, cubic = official(picture, resolution)
    found = _native.preprocess(picture, False, resolution, PATCH)
    assert found.shape == expected.shape
    differing = int((found != expected).sum())
    if not cubic:
        assert differing == 0
        return
    # IPP, which OpenCV uses on x86, mixes in float32 and differs from run to run in values within 2e-5 of a half: up to one in 40,000 here.
    assert differing <= max(2, 4e-5 * expected.size)
    assert np.abs(found.astype(int) - expected).max(initial=0) <= 1


def test_bgr_is_rgb_with_the_channels_swapped():
    picture = scene(200, 120, seed=1)
    swapped = np.ascontiguousarray(picture[:, :, ::-1])
    assert np.array_equal(_native.preprocess(swapped, True, 504, PATCH), _native.preprocess(picture, False, 504, PATCH))


@pytest.mark.case(3)
def test_padded_rows_are_borrowed_as_they_are():
    picture = scene(200, 120, seed=2)
    padded = np.full((120, 250, 3), 0xAA, np.uint8)
    padded[:, :200] = picture
    assert np.array_equal(_native.preprocess(padded[:, :200], False, 504, PATCH), _native.preprocess(picture, False, 504, PATCH))
