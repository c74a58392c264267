"""Pictures of known scenes, views of one scene against each other, and what the distribution promises."""

import itertools
import math
import sys

import numpy as np
import pytest

from training import baselines, dataset
from training.scenes import cameras, layouts, render, sensor
from training.scenes.solids import Ellipsoid, Panel
from training.scenes.textures import TEST_KINDS, Material
from training.scenes.world import Light, Sky, World

GREY = Material("plain", (0.5, 0.5, 0.5), (0.4, 0.4, 0.4), 1.0)
SCENES = 10


def small_world(*solids):
    world = World(np.random.default_rng(1), False)
    world.add(*solids)
    world.light = Light((0.0, 0.0, 1.0), False, (0.5, 0.5, 0.5), (0.4, 0.4, 0.4))
    world.sky = Sky((0.2, 0.4, 0.8), (0.7, 0.8, 0.9), 0.3, 5)
    return world


def level_camera(height=1.0, pitch=0.0):
    return cameras.Camera(112, 84, cameras.focal_from(112, math.radians(90)), cameras.pose_from((0.0, 0.0, height), 0.0, pitch, 0.0))


@pytest.fixture(scope="module")
def test_scenes():
    found = (dataset.views_of(dataset.SPLITS["test"][0] + n, True) for n in range(SCENES + 4))
    return [views for views in found if views is not None][:SCENES]


def test_depth_is_z_not_range():
    picture = render.render(small_world(Panel(0, 5.0, (-50.0, -50.0), (50.0, 50.0), GREY)), level_camera())
    np.testing.assert_allclose(picture.depth, 5.0, rtol=1e-5)


def test_sphere_is_seen_at_its_nearest_point_and_with_its_angular_size():
    picture = render.render(small_world(Ellipsoid((4.0, 0.0, 1.0), (1.0, 1.0, 1.0), 0.0, GREY)), level_camera())
    assert picture.depth[42, 56] == pytest.approx(3.0, abs=2e-3)
    half_angle = math.asin(1.0 / 4.0)
    rows = np.flatnonzero(~picture.sky[:, 56])
    assert rows.size == pytest.approx(2 * 56 * math.tan(half_angle), abs=2)


def test_ground_meets_the_horizon_where_the_pitch_puts_it():
    world = small_world(Panel(2, 0.0, (-1e4, -1e4), (1e4, 1e4), GREY))
    picture = render.render(world, level_camera(1.0, math.radians(-10)))
    horizon = 42 - 56 * math.tan(math.radians(10))
    assert np.flatnonzero(~picture.sky[:, 56])[0] == pytest.approx(horizon, abs=1)
    u, v = 0.0, (83.5 - 42) / 56
    expected = 1.0 / (v * math.cos(math.radians(10)) + math.sin(math.radians(10)))
    assert picture.depth[83, 56] == pytest.approx(expected, rel=1e-2) and u == 0.0


def test_pose_is_a_rotation_that_looks_along_its_yaw():
    pose = cameras.pose_from((1.0, 2.0, 3.0), 0.5, -0.2, 0.1)
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(pose[:3, 2], [math.cos(0.5) * math.cos(0.2), math.sin(0.5) * math.cos(0.2), -math.sin(0.2)], atol=1e-12)


def test_shadow_darkens_the_ground_under_a_ball():
    ground, ball = Panel(2, 0.0, (-20.0, -20.0), (20.0, 20.0), GREY), Ellipsoid((5.0, 0.0, 3.0), (1.0, 1.0, 1.0), 0.0, GREY)
    camera = level_camera(1.5, math.radians(-15))
    lit, shaded = render.render(small_world(ground), camera), render.render(small_world(ground, ball), camera)
    point = np.linalg.inv(camera.pose) @ [5.0, 0.0, 0.0, 1.0]
    column, row = (camera.intrinsics @ (point[:3] / point[2]))[:2].round()
    assert shaded.rgb[int(row), int(column)].mean() < 0.7 * lit.rgb[int(row), int(column)].mean()


def test_views_of_a_scene_agree_about_its_points(test_scenes):
    agreeing = []
    for _, (first, *others) in test_scenes:
        for other in others:
            agreeing.append(share_of_agreement(first, other))
    assert np.nanmedian(agreeing) > 0.75


def share_of_agreement(first, other):
    """Points of one view, carried into the other by the poses: share whose depth there is the same, among those not hidden."""
    rows, columns = np.nonzero(~first.sky)
    z = first.depth[rows, columns]
    camera = first.camera
    x, y = (columns + 0.5 - camera.width / 2) / camera.focal * z, (rows + 0.5 - camera.height / 2) / camera.focal * z
    there = np.linalg.inv(other.camera.pose) @ camera.pose @ np.stack([x, y, z, np.ones_like(z)])
    u = (there[0] / there[2] * camera.focal + camera.width / 2).astype(int)
    v = (there[1] / there[2] * camera.focal + camera.height / 2).astype(int)
    seen = (there[2] > 0.1) & (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    if seen.sum() < 500:
        return np.nan
    ratio = other.depth[v[seen], u[seen]] / there[2][seen]
    return np.mean(np.abs(ratio[ratio > 0.95] - 1) < 0.05)


def test_same_seed_same_picture_and_another_seed_another():
    first, again, other = (dataset.record(seed, False) for seed in (3, 3, 4))
    assert first.tobytes() == again.tobytes()
    assert first["rgb"].tobytes() != other["rgb"].tobytes()


def test_splits_share_no_seed():
    starts = sorted(start for start, _ in dataset.SPLITS.values())
    assert min(b - a for a, b in itertools.pairwise(starts)) >= 10_000_000


def test_held_out_textures_are_in_test_worlds_only():
    def kinds(held_out):
        return {solid.material.kind for seed in range(25) for solid in layouts.build(seed, held_out).solids}

    assert not kinds(False) & set(TEST_KINDS)
    assert kinds(True) >= set(TEST_KINDS)


def test_held_out_layouts_and_objects_are_in_test_worlds_only():
    held_out = {"colonnade", "market", "barrel", "stall", "wedge", "arch"}

    def drawn(with_held_out):
        names = set()
        sys.setprofile(lambda frame, event, _: names.add(frame.f_code.co_name) if event == "call" else None)
        try:
            for seed in range(100):
                layouts.build(seed, with_held_out)
        finally:
            sys.setprofile(None)
        return names

    train, test = drawn(False), drawn(True)
    assert {"room", "street", "person", "tree"} <= train and not train & held_out
    assert held_out <= test


def test_worlds_are_no_toy(test_scenes):
    depth = np.stack([np.where(views[0].sky, np.inf, views[0].depth)[::4, ::4] for _, views in test_scenes])
    train = np.stack(
        [row["depth"][0, ::4, ::4].astype(np.float32) for row in (dataset.record(seed, False) for seed in range(6)) if row is not None]
    )
    rows = np.broadcast_to(baselines.row_means(train)[None, :, None], depth.shape)
    assert baselines.abs_rel(rows, depth) >= 0.35
    assert baselines.abs_rel(np.stack([baselines.best_plane(one) for one in depth]), depth) >= 0.20
    low, high = np.percentile(depth[np.isfinite(depth)], (2.5, 97.5))
    assert math.log10(high / low) >= 1.5


def test_best_plane_finds_a_plane():
    rows, columns = np.mgrid[-1:1:42j, -1:1:56j]
    true = 1.0 / (0.3 + 0.1 * rows - 0.05 * columns)
    true[:5] = np.inf
    assert baselines.abs_rel(baselines.best_plane(true)[None], true[None]) < 1e-3


def test_developed_picture_uses_its_eight_bits(test_scenes):
    developed = np.stack([sensor.develop(views[0].rgb, np.random.default_rng(5)) for _, views in test_scenes])
    assert developed.dtype == np.uint8
    assert 60 < developed.mean() < 200 and developed.std() > 25


def test_rendering_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "SHARD", 2)
    dataset.write(tmp_path, "train", 2, report=lambda line: None)
    (tmp_path / "partial-train.tmp").write_bytes(b"cut off")
    dataset.write(tmp_path, "train", 4, report=lambda line: None)
    seeds = np.concatenate([shard["seed"] for shard in dataset.load(tmp_path, "train")])
    assert list(seeds) == sorted(set(seeds)) and len(seeds) == 4


def test_a_shard_that_is_gone_costs_no_other(tmp_path, monkeypatch):
    def blank(seed, held_out):
        row = np.zeros((), dataset.RECORD)
        row["seed"] = seed
        return row

    monkeypatch.setattr(dataset, "SHARD", 2)
    monkeypatch.setattr(dataset, "record", blank)
    dataset.write(tmp_path, "validation", 6, report=lambda line: None)
    (tmp_path / "validation-00001.npy").unlink()
    dataset.write(tmp_path, "validation", 8, report=lambda line: None)
    first = dataset.SPLITS["validation"][0]
    assert [int(seed) - first for shard in dataset.load(tmp_path, "validation") for seed in shard["seed"]] == [0, 1, 4, 5, 6, 7]


def test_a_split_without_pictures_says_how_to_make_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="--split test"):
        dataset.load(tmp_path, "test")
