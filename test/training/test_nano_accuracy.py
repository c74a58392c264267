"""The models in the package on scenes that they were not trained on, through file and engine; bars a little below what was reached."""

import numpy as np
import pytest
from nano_scenes import held_out_rows

from depth_anything_ros import Engine
from depth_anything_ros.models.cache import resolve_model
from training import dataset, evaluate, score

pytestmark = pytest.mark.native
FEW = 48


@pytest.fixture(scope="module")
def rows():
    return held_out_rows(FEW)


@pytest.fixture(scope="module")
def metric(rows):
    with Engine.load("nano") as engine:
        return evaluate.metric_accuracy(engine, rows)


@pytest.fixture(scope="module")
def any_view(rows):
    with Engine.load("nano-any-view") as engine:
        return evaluate.any_view_accuracy(engine, rows)


@pytest.mark.parametrize("name", ["nano", "nano-metric", "nano-any-view"])
def test_files_are_small_and_free(name):
    path = resolve_model(name)
    assert path.stat().st_size <= 8_000_000
    with Engine.load(path) as engine:
        assert engine.info.license == "Apache-2.0"
        assert engine.processed_size(640, 480) == (168, 126)


def test_metric_net(metric):
    assert metric["metric net, metres"] <= 0.107
    assert metric["metric net, metres, within 1.25"] >= 0.885
    assert metric["sky IoU"] >= 0.95
    assert metric["metric net, ground"] <= 0.0255
    bands = [value for name, value in metric.items() if name.endswith("degrees")]
    assert len(bands) == len(evaluate.BANDS) and max(bands) <= 0.15


def test_any_view_net(any_view):
    assert any_view["any-view net, one scale"] <= 0.097
    assert any_view["doubt"] >= 3.6
    assert any_view["field of view"] <= 4.0


def test_nested_pair(rows):
    with Engine.load("nano-any-view", metric_model="nano-metric") as pair:
        found = evaluate.nested_accuracy(pair, rows)
    assert found["nested pair, metres"] <= 0.118
    assert found["nested pair, ground"] <= 0.0225


def test_metres_follow_the_focal_length(rows):
    """Half the focal length for the same picture: half the depth, by the definition of the canonical camera."""
    with Engine.load("nano") as engine:
        picture, camera = np.ascontiguousarray(rows[0]["rgb"][0]), evaluate.camera(rows[0])
        whole = engine.infer(picture, intrinsics=camera).depth
        half = engine.infer(
            picture, intrinsics=type(camera)(camera.width, camera.height, camera.fx / 2, camera.fy / 2, camera.cx, camera.cy)
        )
    np.testing.assert_allclose(half.depth, whole / 2, rtol=1e-5)


def test_two_views_agree_about_the_scene(rows):
    with Engine.load("nano-any-view") as engine:
        found = evaluate.two_view_accuracy(engine, rows[:16])
    assert found["two views, one scale"] <= 0.121


def test_far_better_than_not_looking(rows, any_view):
    true = evaluate.truths(rows, 168, 126)
    aligned = np.full(true.shape, 1.0) * score.best_scale(np.ones(true.shape), true)
    assert score.abs_rel(aligned, true) > 3 * any_view["any-view net, one scale"]


@pytest.mark.slow
def test_whole_test_set():
    """The table of docs/nano.md, which was measured on the same scenes."""
    rows = held_out_rows(256)
    assert rows["seed"][-1] < dataset.SPLITS["test"][0] + 300
    with Engine.load("nano") as engine:
        metric = evaluate.metric_accuracy(engine, rows)
    with Engine.load("nano-any-view") as engine:
        any_view = evaluate.any_view_accuracy(engine, rows)
    assert metric["metric net, metres"] <= 0.113
    assert metric["metric net, metres, within 1.25"] >= 0.88
    assert max(value for name, value in metric.items() if name.endswith("degrees")) <= 0.12
    assert any_view["any-view net, one scale"] <= 0.1
