"""The drawn cloud: what is near covers what is far, and left, right, up and down stay."""

from __future__ import annotations

import numpy as np

from depth_anything_ros.ros.cloud_picture import BACKGROUND, draw_cloud


def patch(x: float, y: float, z: float, size: float, count: int = 80) -> np.ndarray:
    """A square that faces the camera: [count * count, 3]."""
    steps = np.linspace(-size / 2, size / 2, count)
    across, down = np.meshgrid(steps, steps)
    return np.stack([across.ravel() + x, down.ravel() + y, np.full(count * count, z)], axis=1).astype(np.float32)


def coloured(*patches: tuple[np.ndarray, tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
    colours = [np.tile(np.array(colour, np.uint8), (len(points), 1)) for points, colour in patches]
    return np.concatenate([points for points, _ in patches]), np.concatenate(colours)


def place(picture: np.ndarray, channel: int) -> np.ndarray:
    """(row, column) of the middle of what is drawn in one pure colour."""
    rows, columns = np.nonzero((picture[..., channel] == 255) & (picture.sum(axis=2) == 255))
    assert rows.size
    return np.array([rows.mean(), columns.mean()])


RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def test_directions() -> None:
    xyz, rgb = coloured((patch(-1, 0, 4, 0.5), RED), (patch(1, 0, 4, 0.5), GREEN), (patch(0, 1, 4, 0.5), BLUE))
    picture = draw_cloud(xyz, rgb, yaw=0.0, pitch=0.0)
    red, green, blue = (place(picture, channel) for channel in range(3))
    assert red[1] < blue[1] < green[1]
    assert blue[0] > red[0] and abs(red[0] - green[0]) < 3


def test_near_covers_far_whatever_the_order() -> None:
    for patches in ([(patch(0, 0, 5, 2), RED), (patch(0, 0, 4, 1), GREEN)], [(patch(0, 0, 4, 1), GREEN), (patch(0, 0, 5, 2), RED)]):
        picture = draw_cloud(*coloured(*patches), yaw=0.0, pitch=0.0)
        assert picture[300, 480].tolist() == list(GREEN)


def test_eye_moves_to_the_side_and_above() -> None:
    """Seen from the right and above, a far thing moves to the right of, and above, a near one that covered it."""
    xyz, rgb = coloured((patch(0, 0, 6, 0.5), RED), (patch(0, 0, 4, 0.5), GREEN))
    side = draw_cloud(xyz, rgb, yaw=-0.4, pitch=0.0)
    above = draw_cloud(xyz, rgb, yaw=0.0, pitch=-0.3)
    assert place(side, 0)[1] > place(side, 1)[1]
    assert place(above, 0)[0] < place(above, 1)[0]


def test_two_clouds_in_one_frame_can_be_compared() -> None:
    """The same green square lies at the same place, whatever else its cloud holds."""
    reference = coloured((patch(-1, 0, 4, 0.5), RED), (patch(1, 0, 4, 0.5), GREEN))
    other = coloured((patch(-1, 1, 4, 0.5), RED), (patch(1, 0, 4, 0.5), GREEN), (patch(0, 0, 9, 3), BLUE))
    first = draw_cloud(*reference, framed=reference[0], yaw=0.0, pitch=0.0)
    second = draw_cloud(*other, framed=reference[0], yaw=0.0, pitch=0.0)
    np.testing.assert_allclose(place(first, 1), place(second, 1), atol=0.5)
    np.testing.assert_array_equal(first, draw_cloud(*reference, yaw=0.0, pitch=0.0))
    assert place(second, 0)[0] > place(first, 0)[0] + 20


def test_nothing_to_draw() -> None:
    nothing = np.full((10, 3), np.nan, np.float32)
    picture = draw_cloud(nothing, np.full((10, 3), 255, np.uint8), width=40, height=30)
    assert picture.shape == (30, 40, 3) and (picture == BACKGROUND).all()


def test_invalid_points_and_a_single_one() -> None:
    xyz = np.array([[0, 0, 2], [np.inf, 0, 1], [0, np.nan, 1]], np.float32)
    picture = draw_cloud(xyz, np.full((3, 3), 255, np.uint8))
    assert 0 < (picture == 255).all(axis=2).sum() <= 9
