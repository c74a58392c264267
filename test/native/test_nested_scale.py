"""The formula of keyframes against the engine's own pair: two implementations, one number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_model import any_view_model, metric_model

from depth_anything_ros import Engine, Frame, Intrinsics
from depth_anything_ros.scale.estimate import Estimate
from depth_anything_ros.scale.metric_model import MetricModelSource

pytestmark = pytest.mark.native


@pytest.mark.parametrize("camera", [None, Intrinsics(120, 90, 90.0, 96.0, 59.5, 44.5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_keyframe_gives_the_factor_of_the_pair(tmp_path: Path, seed: int, camera: Intrinsics | None) -> None:
    """Without calibration, as the official nested model: the focal length is the any-view network's own. Else it is the camera's."""
    pixels = np.random.default_rng(seed).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    fast, slow = any_view_model(tmp_path, seed), metric_model(tmp_path, seed)
    with Engine.load(fast, threads=1, resolution=112, metric_model=slow) as pair:
        expected = pair.infer(pixels, intrinsics=camera).scale_factor
    readings: list[object] = []
    with Engine.load(fast, threads=1, resolution=112) as live, Engine.load(slow, threads=1, resolution=112) as metric:
        source = MetricModelSource(lambda: metric, 1, lambda job: job() or True)
        frame = Frame(pixels, False, camera, 7, "camera_optical")
        source.observe(frame, live.infer(pixels, fill_sky=False), readings.append)
    (reading,) = readings
    assert isinstance(reading, Estimate), reading
    assert expected is not None and reading.scale.factor == pytest.approx(expected, rel=1e-5)
