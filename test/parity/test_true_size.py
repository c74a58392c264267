"""`make parity`: the true-size models, and the checked-in tensors made anew, by the official code in an environment of its own."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from comparison import RMS_BOUND, rms_error
from true_size import CASES

from depth_anything_ros.convert.official_models import OFFICIAL_MODELS, OFFICIAL_PAIRS

pytestmark = pytest.mark.parity

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".local" / "parity" / "bin" / "python"
REFERENCE = ROOT / "test" / "data" / "reference"


def run_script(name, *arguments):
    command = [str(PYTHON), str(ROOT / "tools" / "reference" / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)


def test_every_official_model_is_compared():
    halves = {half for pair in OFFICIAL_PAIRS.values() for half in pair}
    assert set(CASES) == (set(OFFICIAL_MODELS) - halves) | set(OFFICIAL_PAIRS)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("model", CASES)
def test_engine_is_the_official_network(model, capsys):
    result = run_script("parity.py", model)
    with capsys.disabled():
        print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "tensors compared" in result.stdout


def test_poses_by_rays_are_the_official_ones(capsys):
    result = run_script("ray_parity.py")
    with capsys.disabled():
        print(f"\n{result.stdout}")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("seed") == 3


@pytest.mark.timeout(3600)
def test_rays_known_cameras_and_gaussians_of_the_giant_are_the_official_ones(capsys):
    result = run_script("family_parity.py")
    with capsys.disabled():
        print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ray_pose" in result.stdout and "known_gaussians" in result.stdout and "opacities" in result.stdout


def test_reference_tensors_are_made_anew_the_same(tmp_path):
    result = run_script("make_reference.py", tmp_path)
    assert result.returncode == 0, result.stderr
    kept, made = (json.loads((folder / "manifest.json").read_text()) for folder in (REFERENCE, tmp_path))
    assert made["models"] == kept["models"] and set(made["files"]) == set(kept["files"])
    for name in kept["files"]:
        expected, found = np.load(REFERENCE / name), np.load(tmp_path / name)
        assert set(expected) == set(found)
        for tensor in expected:
            if expected[tensor].dtype == np.uint8:
                assert np.array_equal(found[tensor], expected[tensor]), tensor
            else:
                assert rms_error(tensor, found[tensor], expected[tensor]) <= RMS_BOUND, tensor


def test_wrong_constants_are_seen(capsys):
    result = run_script("sensitivity.py")
    with capsys.disabled():
        print(f"\n{result.stdout}")
    assert result.returncode == 0, result.stdout + result.stderr
