"""Files may hold parts that the engine does not use: they change nothing."""

import numpy as np
import pytest

from depth_anything_ros import Engine
from depth_anything_ros.convert.hyper_parameters import with_gaussians, with_pose_encoder, with_rays
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.output import write_model
from depth_anything_ros.convert.seeded import SEEDED_SWIGLU, seeded_tensors


@pytest.mark.native
@pytest.mark.parametrize("extend", [with_rays, with_gaussians, with_pose_encoder, lambda parameters: with_gaussians(with_rays(parameters))])
def test_they_change_nothing(tmp_path, photo, extend):
    plain, extended = SEEDED_SWIGLU, extend(SEEDED_SWIGLU)
    values = {spec.name: array for spec, array in seeded_tensors(plain)}
    generator = np.random.default_rng(0)
    arrays = [values.get(spec.name, generator.random(spec.shape, np.float32)) for spec in tensors(extended)]
    depths = []
    for number, (parameters, content) in enumerate(((plain, list(values.values())), (extended, arrays))):
        path = tmp_path / f"{number}.gguf"
        write_model(path, metadata(parameters), list(tensors(parameters)), content)
        with Engine.load(path, threads=1, resolution=112) as engine:
            depths.append(engine.infer(photo).depth)
    assert len(arrays) > len(values) and np.array_equal(*depths)
