"""The picture for people."""

from __future__ import annotations

import cv2
import numpy as np

from depth_anything_ros.colors import StreamColours, colourise, shade

WARM, COLD = (cv2.applyColorMap(np.full((1, 1), level, np.uint8), cv2.COLORMAP_TURBO)[0, 0, ::-1] for level in (255, 0))


def test_near_is_warm_far_and_sky_are_cold_invalid_is_black() -> None:
    depth = np.array([[1.0, 2.0, 50.0, np.inf, np.nan, -1.0]], np.float32)
    picture = colourise(depth, percentiles=(0, 100))
    assert picture.dtype == np.uint8 and picture.shape == (1, 6, 3)
    np.testing.assert_array_equal(picture[0, 0], WARM)
    np.testing.assert_array_equal(picture[0, 3], COLD)
    np.testing.assert_array_equal(picture[0, 4:], np.zeros((2, 3)))


def test_order_is_kept() -> None:
    ramp = np.linspace(1.0, 2.0, 256, dtype=np.float32)[np.newaxis]
    expected = cv2.applyColorMap(np.arange(256, dtype=np.uint8)[np.newaxis], cv2.COLORMAP_TURBO)[:, :, ::-1]
    np.testing.assert_array_equal(shade(ramp, percentiles=(0, 100)), expected)


def test_maps_without_a_range() -> None:
    assert not shade(np.full((3, 4), np.nan, np.float32)).any()
    flat = shade(np.full((3, 4), 5.0, np.float32))
    assert (flat == flat[0, 0]).all()


def test_still_things_keep_their_colour_while_others_come_and_go() -> None:
    """A thing at 0.5 m appears in a scene of 1 to 5 m: of one picture the whole range would shift at once."""
    scene = np.linspace(1.0, 5.0, 4096, dtype=np.float32).reshape(64, 64)
    visited = scene.copy()
    visited[:16] = 0.5
    stream = StreamColours()
    first = stream.colourise(scene)
    step = np.abs(stream.colourise(visited)[16:].astype(int) - first[16:]).max()
    jump = np.abs(colourise(visited)[16:].astype(int) - colourise(scene)[16:]).max()
    assert step < 0.5 * jump
    for _ in range(100):
        stream.colourise(visited)
    settled = stream.colourise(visited)
    assert np.abs(settled.astype(int) - colourise(visited)).mean() < 3, "and the range follows in the end"


def test_noise_does_not_flicker() -> None:
    scene = np.linspace(1.0, 5.0, 4096, dtype=np.float32).reshape(64, 64)
    random = np.random.default_rng(0)
    stream = StreamColours()
    pictures = {True: [], False: []}
    for _ in range(20):
        noisy = scene.copy()
        noisy[:2] = random.uniform(0.3, 9.0)  # a changing share of near and far pixels moves the percentiles
        noisy[2:4] = random.uniform(0.3, 9.0)
        for smooth, paint in ((True, stream.colourise), (False, colourise)):
            pictures[smooth].append(paint(noisy)[8:].astype(int))
    change = {smooth: np.abs(np.diff(seen[5:], axis=0)).mean() for smooth, seen in pictures.items()}
    assert change[True] < 0.25 * change[False]


def test_metres_do_not_begin_with_the_range_of_relative_depth() -> None:
    """When the scale becomes known, the same scene has the same colours at once."""
    scene = np.linspace(1.0, 5.0, 4096, dtype=np.float32).reshape(64, 64)
    stream = StreamColours()
    relative = [stream.colourise(scene / np.float32(0.05)) for _ in range(3)][-1]
    assert np.abs(stream.colourise(scene, metric=True).astype(int) - relative).max() < 8
    assert np.abs(stream.colourise(scene / np.float32(0.05)).astype(int) - relative).max() < 8, "and back"


def test_a_fixed_range_is_the_same_for_every_picture() -> None:
    stream = StreamColours()
    for depth in (np.full((8, 8), 2.0, np.float32), np.linspace(0.5, 9.0, 64, dtype=np.float32).reshape(8, 8)):
        depth[0, 0] = 4.0
        assert (stream.colourise(depth, near=1.0, far=8.0)[0, 0] == stream.colourise(depth, near=1.0, far=8.0)[0, 0]).all()
    first = StreamColours().colourise(np.full((8, 8), 4.0, np.float32), near=1.0, far=8.0)
    assert (first[0, 0] == stream.colourise(depth, near=1.0, far=8.0)[0, 0]).all()


def test_stream_without_anything_valid() -> None:
    assert not StreamColours().colourise(np.full((8, 8), np.nan, np.float32)).any()


def test_a_nearly_flat_map_has_colours_of_its_own_range() -> None:
    """64 neighbouring numbers have 64 colours: their differences are not lost in their size."""
    values = np.float32(0.5) + np.arange(64, dtype=np.float32).reshape(8, 8) * np.float32(2.0**-24)
    assert len(np.unique(shade(values, percentiles=(0.0, 100.0)).reshape(-1, 3), axis=0)) == 64


def test_what_is_far_beyond_the_range_has_the_colour_of_its_end() -> None:
    values = np.linspace(0.0, 1.0, 1000, dtype=np.float32).reshape(10, 100)
    ends = shade(values)[[0, -1], [0, -1]]
    values[4, 4:6] = -1e30, 1e30
    np.testing.assert_array_equal(shade(values)[4, 4:6], ends)
