"""Ray intersections of the shapes against closed forms and against a search along the ray that only knows what is inside."""

import math

import numpy as np
import pytest

from training.scenes.solids import Box, Cone, Cylinder, Ellipsoid, Panel, Prism, gable, ramp
from training.scenes.textures import Material

GREY = Material("plain", (0.5, 0.5, 0.5), (0.4, 0.4, 0.4), 1.0)
ORIGIN = (0.1, -0.2, 0.3)


def turn_back(points, centre, yaw):
    x, y, z = (p - c for p, c in zip(points, centre))
    return math.cos(yaw) * x + math.sin(yaw) * y, -math.sin(yaw) * x + math.cos(yaw) * y, z


def inside_box(points):
    x, y, z = turn_back(points, (6.0, 0.5, 0.2), 0.7)
    return (abs(x) < 1.0) & (abs(y) < 0.6) & (abs(z) < 0.9)


def inside_ellipsoid(points):
    x, y, z = turn_back(points, (6.0, 0.5, 0.2), 0.4)
    return (x / 1.2) ** 2 + (y / 0.7) ** 2 + (z / 0.5) ** 2 < 1


def inside_cylinder(points):
    x, y, z = (p - c for p, c in zip(points, (6.0, 0.5, 0.2)))
    return (np.hypot(x, y) < 0.8) & (abs(z) < 1.1)


def inside_pipe(points):
    x, y, z = (p - c for p, c in zip(points, (6.0, 0.5, 0.2)))
    return (np.hypot(y, z) < 0.8) & (abs(x) < 1.1)


def inside_cone(points):
    x, y, z = (p - c for p, c in zip(points, (6.0, 0.5, -0.8)))
    return (z > 0) & (z < 2.0) & (np.hypot(x, y) < 0.9 * (1 - z / 2.0))


def inside_gable(points):
    x, y, z = turn_back(points, (6.0, 0.5, 0.0), 0.3)
    return (abs(x) < 1.5) & (z > 0) & (z < 0.8 * (1 - abs(y) / 1.0))


def inside_ramp(points):
    x, y, z = turn_back(points, (6.0, 0.5, -0.4), 2.8)
    return (abs(x) < 1.2) & (abs(y) < 0.7) & (z > 0) & (z < 0.5 * (x + 1.2) / 1.2)


SHAPES = {
    "box": (Box((6.0, 0.5, 0.2), (1.0, 0.6, 0.9), 0.7, GREY), inside_box),
    "ellipsoid": (Ellipsoid((6.0, 0.5, 0.2), (1.2, 0.7, 0.5), 0.4, GREY), inside_ellipsoid),
    "cylinder": (Cylinder((6.0, 0.5, 0.2), 0.8, 1.1, GREY), inside_cylinder),
    "pipe": (Cylinder((6.0, 0.5, 0.2), 0.8, 1.1, GREY, axis=0), inside_pipe),
    "cone": (Cone((6.0, 0.5, -0.8), 0.9, 2.0, GREY), inside_cone),
    "gable": (gable((6.0, 0.5, 0.0), (1.5, 1.0, 0.8), 0.3, GREY), inside_gable),
    "ramp": (ramp((6.0, 0.5, -0.4), (1.2, 0.7, 0.5), 2.8, GREY), inside_ramp),
}


def directions(count=400):
    random = np.random.default_rng(3)
    return np.stack([np.ones(count), random.uniform(-0.3, 0.4, count), random.uniform(-0.3, 0.3, count)]).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_hit_is_the_first_point_inside(name):
    solid, inside = SHAPES[name]
    rays = directions()
    t = solid.hit(ORIGIN, rays)
    steps = np.arange(0.0, 12.0, 0.002)[:, None]
    found = inside(tuple(o + steps * d for o, d in zip(ORIGIN, rays)))
    expected = np.where(found.any(0), steps[found.argmax(0), 0], np.inf)
    both = np.isfinite(t) & np.isfinite(expected)
    assert both.sum() > 30
    assert np.mean(np.isfinite(t) == np.isfinite(expected)) > 0.98  # rays that graze an edge may differ
    assert np.mean(np.abs(t[both] - expected[both]) < 0.005) > 0.97


@pytest.mark.parametrize("name", SHAPES)
def test_normal_is_square_to_the_surface(name):
    solid, _ = SHAPES[name]
    rays = directions()
    t = solid.hit(ORIGIN, rays)
    rays, t = rays[:, np.isfinite(t)], t[np.isfinite(t)]
    points = np.stack([o + t * d for o, d in zip(ORIGIN, rays)])
    normal, _, _ = solid.surface(points)
    np.testing.assert_allclose((normal**2).sum(0), 1.0, atol=1e-3)
    # A plane through the hit with this normal predicts the depth of a ray beside it.
    shift = 1e-3
    beside = rays + np.array([0.0, shift, 0.0], np.float32)[:, None]
    predicted = t * (normal * rays).sum(0) / (normal * beside).sum(0)
    actual = solid.hit(ORIGIN, beside)
    steep = np.abs((normal * rays).sum(0)) > 0.3
    assert np.mean(np.abs(predicted - actual)[steep] < 2e-3) > 0.9


def test_panel_is_hit_where_its_plane_is_and_only_within_its_edges():
    panel = Panel(0, 4.0, (-1.0, -1.0), (1.0, 1.0), GREY)
    rays = (np.ones(3), np.array([0.0, 0.2, 0.5]), np.zeros(3))
    np.testing.assert_allclose(panel.hit((0.0, 0.0, 0.0), rays), [4.0, 4.0, np.inf], rtol=1e-6)


def test_nothing_behind_the_camera_is_hit():
    for solid, _ in SHAPES.values():
        assert not np.isfinite(solid.hit(ORIGIN, -directions())).any()


def test_prism_equals_box():
    normals = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
    prism = Prism((6.0, 0.5, 0.2), normals, (1.0, 1.0, 0.6, 0.6, 0.9, 0.9), 1.5, 0.7, GREY)
    np.testing.assert_allclose(prism.hit(ORIGIN, directions()), SHAPES["box"][0].hit(ORIGIN, directions()), rtol=1e-4)
