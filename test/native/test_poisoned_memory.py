"""Pictures without contrast in memory that the allocator fills with garbage: nothing is read that was not written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toy_model

pytestmark = pytest.mark.native
ROOT = Path(__file__).resolve().parents[2]

CODE = """
import sys
import numpy as np
from depth_anything_ros import Engine
bright = np.zeros((90, 130, 3), np.uint8)
bright[40, 60] = 255
pictures = [np.zeros_like(bright), np.full_like(bright, 255), np.full_like(bright, (200, 30, 90)), bright]
pictures.append(np.random.default_rng(0).integers(0, 256, bright.shape, np.uint8))
with Engine.load(sys.argv[1], resolution=126) as engine:
    first = [engine.infer(picture) for picture in pictures]
    for _ in range(45):
        engine.infer(pictures[-1])
    again = [engine.infer(picture) for picture in pictures]
for one, other in zip(first, again):
    for name in ("depth", "confidence", "sky"):
        a, b = getattr(one, name), getattr(other, name)
        if a is not None:
            assert np.isfinite(a).all() and a.tobytes() == b.tobytes(), name
print(first[-1].depth.tobytes().hex())
"""


@pytest.mark.case(31)
@pytest.mark.parametrize("make", [toy_model.metric_model, toy_model.any_view_model], ids=["metric", "any_view"])
def test_everything_is_finite_and_the_50th_frame_is_the_first(tmp_path: Path, make: object) -> None:
    """MALLOC_PERTURB_ fills fresh and freed memory with a byte; the numbers do not depend on it."""
    model = make(tmp_path)  # type: ignore[operator]
    outputs = set()
    for byte in ("0", "85", "255"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_PERTURB_": byte}
        done = subprocess.run([sys.executable, "-c", CODE, str(model)], capture_output=True, text=True, env=environment, timeout=100)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
