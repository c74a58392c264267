"""Several pictures at once, and a pair with a metric network, against the official PyTorch code on tiny networks."""

import numpy as np
import pytest
from comparison import BOUND, RMS_BOUND, rms_error, stage_bound, worst_error
from test_tiny import MANIFEST, REFERENCE
from toy_model import any_view_model, metric_half_model, metric_model, mono_model, rays_model, swiglu_model

from depth_anything_ros import DepthKind, Engine, InputError, ModelError, Wanted

pytestmark = pytest.mark.native

MODELS = {"views_two": swiglu_model, "views_four": any_view_model, "nested": any_view_model}
METRIC_MODELS = [metric_model, metric_half_model]


def reference_of(name):
    """The official outputs, stacked by view, and the pictures."""
    arrays = dict(np.load(REFERENCE / f"{name}.npz"))
    return arrays, [arrays[key] for key in sorted(arrays) if key.startswith("picture_")]


def load(name, folder, **options):
    return Engine.load(MODELS[name](folder, MANIFEST["seed"]), threads=2, resolution=MANIFEST["views_resolution"], **options)


def compare(predictions, expected):
    assert len(predictions) == len(expected["depth"])
    k = np.array([[p.intrinsics.fx, p.intrinsics.fy, p.intrinsics.cx, p.intrinsics.cy] for p in predictions])
    found = {"intrinsics": k} | {name: np.stack([getattr(p, name) for p in predictions]) for name in ("depth", "confidence", "extrinsics")}
    wanted = {name: expected[name] for name in ("depth", "confidence", "extrinsics")}
    wanted["intrinsics"] = np.stack([expected["intrinsics"][:, row, column] for row, column in ((0, 0), (1, 1), (0, 2), (1, 2))], axis=1)
    errors = {name: worst_error(name, found[name], wanted[name]) for name in wanted}
    assert max(errors.values()) <= BOUND, errors
    assert max(rms_error(name, found[name], wanted[name]) for name in wanted) <= RMS_BOUND


@pytest.mark.parametrize("name", ["views_two", "views_four"])
def test_every_view_is_that_of_the_official_code(name, tmp_path):
    expected, pictures = reference_of(name)
    with load(name, tmp_path) as engine:
        compare(engine.infer_views(pictures), expected)
        alone = engine.infer(pictures[0])
    if name == "views_two":  # the other view has a say
        assert np.abs(alone.depth / expected["depth"][0] - 1.0).max() > 1e-3


def test_the_reference_is_not_the_first_of_four_views():
    assert reference_of("views_four")[0]["reference_view"] > 0


def test_order_of_the_pictures_is_that_of_the_predictions(tmp_path):
    _, pictures = reference_of("views_four")
    with load("views_four", tmp_path) as engine:
        forth, back = engine.infer_views(pictures), engine.infer_views(pictures[::-1])
    for one, other in zip(forth, reversed(back), strict=True):
        assert np.allclose(one.depth, other.depth, rtol=1e-4)


def test_one_view_is_the_case_of_infer(tmp_path):
    _, pictures = reference_of("views_two")
    with load("views_two", tmp_path) as engine:
        many, one = engine.infer_views(pictures[:1]), engine.infer(pictures[0])
    assert len(many) == 1 and np.array_equal(many[0].depth, one.depth) and np.array_equal(many[0].extrinsics, one.extrinsics)


def test_views_of_a_mono_network_do_not_see_each_other(tmp_path):
    _, pictures = reference_of("views_two")
    with Engine.load(mono_model(tmp_path, 3), threads=1, resolution=56) as engine:
        together = engine.infer_views(pictures, fill_sky=False)
        apart = [engine.infer(picture, fill_sky=False) for picture in pictures]
    for one, other in zip(together, apart, strict=True):
        assert np.array_equal(one.depth, other.depth) and np.array_equal(one.sky, other.sky)


def test_no_pictures_are_refused(tmp_path):
    with load("views_two", tmp_path) as engine, pytest.raises(InputError, match="0 pictures"):
        engine.infer_views([])


@pytest.mark.parametrize("write_metric", METRIC_MODELS)
def test_a_pair_gives_the_metres_of_the_official_code(write_metric, tmp_path):
    expected, pictures = reference_of("nested")
    with load("nested", tmp_path, metric_model=write_metric(tmp_path, MANIFEST["seed"])) as engine:
        assert engine.info.kind is DepthKind.METRIC and engine.info.has_sky and not engine.info.needs_focal
        predictions = engine.infer_views(pictures)
        bare = engine.infer(pictures[0], wanted=Wanted(False, False, False))
    sky = np.stack([p.sky for p in predictions]) >= 0.3
    assert 0.02 < sky.mean() < 0.9, "the reference must hold sky and ground"
    assert (expected["confidence"][sky] == 1.0).all()
    compare(predictions, expected)
    for prediction in predictions:
        assert prediction.kind is DepthKind.METRIC
        assert abs(prediction.scale_factor / expected["scale_factor"] - 1.0) <= BOUND
    assert (bare.confidence, bare.sky, bare.intrinsics, bare.extrinsics) == (None, None, None, None)
    assert bare.kind is DepthKind.METRIC and bare.scale_factor > 0.0


def test_rays_are_those_of_the_official_code(tmp_path):
    expected = np.load(REFERENCE / "rays.npz")
    with Engine.load(rays_model(tmp_path, MANIFEST["seed"]), threads=2, resolution=MANIFEST["views_resolution"]) as engine:
        prediction = engine.infer(expected["picture"], stages=["ray", "ray_conf"])
        assert np.array_equal(engine.infer(expected["picture"]).depth, prediction.depth)
    for name, rounding in MANIFEST["rounding"]["rays"].items():
        found = prediction.stages[name]
        assert worst_error(name, found, expected[name]) <= stage_bound(rounding)
        assert rms_error(name, found, expected[name]) <= RMS_BOUND


def test_pairs_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no any-view model"):
        Engine.load(mono_model(tmp_path), metric_model=metric_model(tmp_path))
    with pytest.raises(ModelError, match="cannot give another model its metres"):
        Engine.load(any_view_model(tmp_path), metric_model=mono_model(tmp_path))
    with pytest.raises(ModelError, match="give this one as metric_model"):
        Engine.load(metric_half_model(tmp_path))
