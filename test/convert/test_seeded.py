"""The seeded networks: the same bytes from the same seed (test/parity has their checksums), and depth that looks like depth."""

import numpy as np
import pytest
from toy_model import SMALLEST_ANY_VIEW, any_view_model, metric_model, mono_model, write_toy_model

from depth_anything_ros import DepthKind, Engine, Intrinsics
from depth_anything_ros.bench.contender import picture


def test_same_seed_same_bytes_another_seed_others(tmp_path):
    first = write_toy_model(tmp_path, SMALLEST_ANY_VIEW, 1).read_bytes()
    assert write_toy_model(tmp_path, SMALLEST_ANY_VIEW, 1).read_bytes() == first
    assert write_toy_model(tmp_path, SMALLEST_ANY_VIEW, 2).read_bytes() != first


@pytest.mark.native
@pytest.mark.parametrize("make", [any_view_model, mono_model, metric_model])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_depth_is_within_reach_and_follows_the_picture(tmp_path, make, seed):
    with Engine.load(make(tmp_path, seed), threads=1, resolution=140) as engine:
        pictures = picture(140, 98), picture(140, 98)[::-1].copy(), np.zeros((98, 140, 3), np.uint8)
        depths = [engine.infer(pixels, fill_sky=False).depth for pixels in pictures]
    for depth in depths:
        assert depth.min() > 0.05 and depth.max() < 30
    assert np.std(np.log(depths[0])) > 0.1
    assert min(np.std(np.log(depths[0] / other)) for other in depths[1:]) > 0.05


@pytest.mark.native
def test_metric_network_gives_metres_only_with_a_focal_length(tmp_path):
    with Engine.load(metric_model(tmp_path), threads=1, resolution=140) as engine:
        assert engine.info.kind is DepthKind.METRIC and engine.info.needs_focal
        pixels = picture(140, 98)
        relative, metres = (
            engine.infer(pixels, fill_sky=False, intrinsics=intrinsics) for intrinsics in (None, Intrinsics(140, 98, 150, 150, 70, 49))
        )
    assert relative.kind is DepthKind.RELATIVE_DEPTH and metres.kind is DepthKind.METRIC
    np.testing.assert_allclose(metres.depth, relative.depth * 0.5, rtol=1e-6)
