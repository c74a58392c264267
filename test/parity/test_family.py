"""Poses by rays, known cameras and Gaussians against the official code on a tiny network with everything that GIANT has."""

import hashlib

import numpy as np
import pytest
from family_comparison import GAUSSIANS, arrays_of, bounds_of, engine_cameras, errors_of
from test_tiny import MANIFEST, REFERENCE
from toy_model import any_view_model, complete_model, metric_model, mono_model, optional_parts_model, pose_encoder_model

from depth_anything_ros import DepthKind, Engine, InputError, Intrinsics, KnownCamera, ModelError, Wanted

pytestmark = pytest.mark.native

FAMILY = MANIFEST["family"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return complete_model(tmp_path_factory.mktemp("complete"), MANIFEST["seed"])


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    return metric_model(tmp_path_factory.mktemp("metric"), MANIFEST["seed"])


def reference_of(name):
    """The official outputs, the pictures, and the known cameras where there are any."""
    arrays = dict(np.load(REFERENCE / f"{name}.npz"))
    pictures = [arrays[key] for key in sorted(arrays) if key.startswith("picture_")]
    if "known_extrinsics" not in arrays:
        return arrays, pictures, []
    return arrays, pictures, engine_cameras(arrays["known_extrinsics"], arrays["known_intrinsics"], pictures)


def load(path, **options):
    return Engine.load(path, threads=2, resolution=FAMILY["resolution"], **options)


@pytest.fixture(scope="module", params=sorted(FAMILY["cases"]))
def case(request, model, metric):
    """Options of the case, the official outputs and the engine's."""
    options = FAMILY["cases"][request.param]
    arrays, pictures, cameras = reference_of(request.param)
    with load(model, metric_model=metric if options["pair"] else "") as engine:
        predictions = engine.infer_views(
            pictures,
            wanted=Wanted(gaussians=options["gaussians"]),
            ray_pose=options["rays"],
            cameras=cameras,
            seed=FAMILY["choice_seed"],
        )
    return options, arrays, predictions


def test_the_converter_keeps_the_optional_parts_of_the_official_checkpoint(tmp_path):
    path = optional_parts_model(tmp_path, MANIFEST["seed"])
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MANIFEST["models"]["optional_parts"]


def is_official(options, expected, found, names):
    for name in names:
        errors, bounds = errors_of(name, found[name], expected[name]), bounds_of(name, options["rays"])
        assert errors[0] <= bounds[0] and errors[1] <= bounds[1], (name, errors)


def test_depth_and_cameras_are_those_of_the_official_code(case):
    options, expected, predictions = case
    found = arrays_of(predictions)
    found["depth"] = found["depth"][: len(expected["depth"])]
    is_official(options, expected, found, ("depth", "extrinsics", "intrinsics"))


def test_gaussians_are_those_of_the_official_code(case):
    options, expected, predictions = case
    if not options["gaussians"]:
        assert all(prediction.gaussians is None for prediction in predictions)
        return
    assert {prediction.gaussians.kind for prediction in predictions} == {DepthKind.RELATIVE_DEPTH}
    found = arrays_of(predictions)
    is_official(options, expected, {name: found[name][:: options["gaussian_stride"]] for name in GAUSSIANS}, GAUSSIANS)


def test_kind_of_depth_follows_the_cameras(case):
    options, expected, predictions = case
    if not options["cameras"]:
        assert all(p.kind is DepthKind.RELATIVE_DEPTH and p.scale_factor is None for p in predictions)
        return
    assert all(p.kind is DepthKind.METRIC and p.scale_factor > 0.0 for p in predictions)
    assert np.array_equal(np.stack([p.extrinsics for p in predictions]), expected["known_extrinsics"].astype(np.float32))


def test_cameras_have_a_say_in_the_depth(model):
    _, pictures, cameras = reference_of("known_cameras")
    turned = [KnownCamera(camera.intrinsics, camera.camera_from_world[:, [1, 2, 0, 3]]) for camera in cameras]
    wider = [KnownCamera(Intrinsics(**{**vars(c.intrinsics), "fx": c.intrinsics.fx / 2.0}), c.camera_from_world) for c in cameras]
    with load(model) as engine:
        shapes = [one[0].depth / one[0].scale_factor for one in (engine.infer_views(pictures, cameras=c) for c in (cameras, turned, wider))]
        alone = engine.infer_views(pictures)[0].depth
    assert np.abs(shapes[0] / alone - 1.0).max() > 1e-3
    assert np.allclose(shapes[0], shapes[1], rtol=1e-4), "another world with the same cameras"
    assert np.abs(shapes[0] / shapes[2] - 1.0).max() > 1e-4


@pytest.mark.parametrize("count", [1, 2])
def test_cameras_that_do_not_tell_the_scale_leave_relative_depth(count, model):
    _, pictures, cameras = reference_of("known_cameras")
    with load(model) as engine:
        predictions = engine.infer_views(pictures[:1] * count, cameras=cameras[:1] * count)
    for prediction in predictions:
        assert prediction.kind is DepthKind.RELATIVE_DEPTH and prediction.scale_factor is None
        assert not np.array_equal(prediction.extrinsics, cameras[0].camera_from_world.astype(np.float32))
        assert abs(prediction.intrinsics.fx - cameras[0].intrinsics.fx * prediction.width / pictures[0].shape[1]) < 1e-4


def test_two_cameras_give_the_scale_by_their_distance(model):
    _, pictures, cameras = reference_of("known_cameras")
    pair = pictures[:1] * 2
    cameras = [KnownCamera(cameras[0].intrinsics, camera.camera_from_world) for camera in cameras]
    further = [KnownCamera(c.intrinsics, c.camera_from_world * [[1.0, 1.0, 1.0, 3.0]]) for c in cameras]
    with load(model) as engine:
        near, far = (engine.infer_views(pair, cameras=chosen[:2])[1] for chosen in (cameras, further))
    assert near.kind is DepthKind.METRIC and far.scale_factor > 1.5 * near.scale_factor


def test_poses_by_rays_follow_the_seed_and_nothing_else(model):
    _, pictures, _ = reference_of("ray_pose")
    with load(model) as engine:
        first, again, other = (engine.infer_views(pictures, ray_pose=True, seed=seed)[0].extrinsics for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_absent_is_what_a_model_cannot_give(tmp_path):
    _, pictures, cameras = reference_of("known_cameras")
    for write in (any_view_model, mono_model):
        with load(write(tmp_path)) as engine:
            info = engine.info
            assert not (info.has_rays or info.has_pose_encoder or info.has_gaussians)
            assert engine.infer(pictures[0], wanted=Wanted(gaussians=True)).gaussians is None
            with pytest.raises(ModelError, match="--with-aux"):
                engine.infer(pictures[0], ray_pose=True)
            with pytest.raises(ModelError, match="--with-pose-encoder"):
                engine.infer(pictures[0], cameras=cameras[:1])
    with load(pose_encoder_model(tmp_path)) as engine:
        assert engine.info.has_pose_encoder and not engine.info.has_rays
        assert engine.infer_views(pictures, cameras=cameras)[0].kind is DepthKind.METRIC


def test_cameras_that_are_none_are_refused(model):
    _, pictures, cameras = reference_of("known_cameras")
    k, pose = cameras[0].intrinsics, np.eye(3, 4)
    bad_focal = Intrinsics(k.width, k.height, 0.0, k.fy, k.cx, k.cy)
    wrong = {
        "2 cameras were given for 1": cameras[:2],
        "focal lengths of 0": [KnownCamera(bad_focal, pose)],
        "no rotation": [KnownCamera(k, 2.0 * pose)],
        "finite values": [KnownCamera(k, np.full((3, 4), np.nan))],
        "no rotation and": [KnownCamera(k, pose * [[-1.0], [1.0], [1.0]])],
        r"shape \[4, 4\]": [KnownCamera(k, np.eye(4))],
    }
    with load(model) as engine:
        for message, given in wrong.items():
            with pytest.raises(InputError, match=message):
                engine.infer(pictures[0], cameras=given)
