"""The optional parts of any-view models, which published files lack, against the official numbers: parameters, keys, names, shapes."""

import pytest

from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType
from depth_anything_ros.convert.hyper_parameters import with_pose_encoder, with_rays
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS

RAYS = {"da3-small": 635_559, "da3-base": 2_520_071, "da3-large": 10_036_935, "da3-giant": 10_036_935}
RAY_KEYS = {
    "depthanything3.head.has_aux": ("BOOL", True),
    "depthanything3.head.aux_ray_dim": ("U32", 6),
    "depthanything3.head.aux_levels": ("U32", 4),
}
RAY_TENSORS = {
    "head.scratch.rn1_aux.rc1.c2.weight": ("refinenet1_aux.resConfUnit1.conv2.weight", (3, 3, 64, 64)),
    "head.scratch.rn4_aux.rc2.c1.bias": ("refinenet4_aux.resConfUnit2.conv1.bias", (64,)),
    "head.scratch.rn4_aux.out.weight": ("refinenet4_aux.out_conv.weight", (1, 1, 64, 64)),
    "head.scratch.out1_aux.0.weight": ("output_conv1_aux.3.0.weight", (3, 3, 64, 32)),
    "head.scratch.out1_aux.1.weight": ("output_conv1_aux.3.1.weight", (3, 3, 32, 64)),
    "head.scratch.out1_aux.4.bias": ("output_conv1_aux.3.4.bias", (32,)),
    "head.scratch.out2a_aux.weight": ("output_conv2_aux.3.0.weight", (3, 3, 32, 32)),
    "head.scratch.out2_aux_ln.bias": ("output_conv2_aux.0.2.bias", (32,)),
    "head.scratch.out2b_aux.weight": ("output_conv2_aux.3.5.weight", (1, 1, 32, 7)),
}


@pytest.mark.parametrize("name", RAYS)
def test_the_ray_branch_adds_what_it_shall(name):
    without, with_branch = OFFICIAL_MODELS[name], with_rays(OFFICIAL_MODELS[name])
    added = {spec.name: spec for spec in tensors(with_branch)}
    for spec in tensors(without):
        assert added.pop(spec.name) == spec
    assert len(added) == 52
    assert sum(TensorInfo(spec.name, spec.extents, TensorType.F32).nbytes for spec in added.values()) == 4 * RAYS[name]
    keys = [(item.name, (item.type.name, item.value)) for item in metadata(with_branch) if item not in metadata(without)]
    assert dict(keys) == RAY_KEYS
    if name == "da3-small":
        found = {spec.name: (spec.official.removeprefix("model.head.scratch."), spec.extents) for spec in added.values()}
        assert found.items() >= RAY_TENSORS.items()


POSE_ENCODER = {"da3-small": 7_178_496, "da3-base": 28_660_224, "da3-large": 50_927_616, "da3-giant": 114_533_376}


@pytest.mark.parametrize("name", POSE_ENCODER)
def test_the_pose_encoder_adds_what_it_shall(name):
    without, with_encoder = OFFICIAL_MODELS[name], with_pose_encoder(OFFICIAL_MODELS[name])
    known = set(tensors(without))
    added = [spec for spec in tensors(with_encoder) if spec not in known]
    assert len(added) == 64
    assert all(spec.name.startswith("cam_enc.") and spec.official.startswith("model.cam_enc.") and not spec.narrow for spec in added)
    assert sum(TensorInfo(spec.name, spec.extents, TensorType.F32).nbytes for spec in added) == 4 * POSE_ENCODER[name]
    assert metadata(with_encoder) == metadata(without)
