"""Batches, targets and losses of training against closed forms."""

import math
import os
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

pytestmark = pytest.mark.parity

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".local" / "parity" / "bin" / "python"
TURNS = np.array([(0.0, 0.0, 0.0), (0.3, -0.2, 0.1), (0.0, 2.5, 0.0), (-1.0, 0.5, 2.0)])
FOCAL, DEPTH = 150.0, np.array([[2.0, 8.0], [4.0, 4.0]], np.float32)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two pictures of one scene: four pixels of depth and below them sky; the second camera is half a metre to the right."""
    folder = tmp_path_factory.mktemp("losses")
    depth = np.full((1, 2, 16, 16), np.inf, np.float32)
    depth[:, :, 0:2, 0:2] = DEPTH
    pose = np.tile(np.eye(4, dtype=np.float32), (1, 2, 1, 1))
    pose[0, 1, 0, 3] = 0.5
    rotations = np.stack([cv2.Rodrigues(turn)[0] for turn in TURNS]).astype(np.float32)
    np.savez(folder / "case.npz", depth=depth, focal=np.array([FOCAL], np.float32), pose=pose, rotations=rotations)
    command = [PYTHON, ROOT / "test" / "training" / "loss_values.py", folder / "case.npz", folder / "found.npz"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(np.load(folder / "found.npz"))


def test_quaternions_turn_as_their_axes_and_angles(found):
    angles = np.linalg.norm(TURNS, axis=1, keepdims=True)
    axes = np.divide(TURNS, angles, out=np.zeros_like(TURNS), where=angles > 0)
    np.testing.assert_allclose(found["quaternions"], np.hstack([axes * np.sin(angles / 2), np.cos(angles / 2)]), atol=1e-5)


def test_relative_depth_has_the_geometric_mean_one_and_canonical_depth_the_focal_length_300(found):
    mean = float(np.exp(np.log(DEPTH).mean()))
    np.testing.assert_allclose(found["scale"], [mean], rtol=1e-5)
    np.testing.assert_allclose(found["relative"][0, 0, :2, :2], DEPTH / mean, rtol=1e-5)
    np.testing.assert_allclose(found["canonical"][0, 0, :2, :2], DEPTH * 300.0 / FOCAL, rtol=1e-5)


def test_a_move_is_told_in_units_of_the_net_and_the_field_of_view_in_radians(found):
    field = 2 * math.atan(16 / 2 / FOCAL)
    still, moved = found["pose"][0]
    np.testing.assert_allclose(still, [0, 0, 0, 0, 0, 0, 1, field, field], atol=1e-5)
    np.testing.assert_allclose(moved, [0.5 / found["scale"][0], 0, 0, 0, 0, 0, 1, field, field], atol=1e-5)


@pytest.mark.parametrize("net", ["any_view", "metric"])
def test_truth_costs_nothing_and_an_error_of_scale_leaves_edges_alone(found, net):
    assert found[f"{net} depth 0.0"] == pytest.approx(0.0, abs=1e-6)
    # Half in log depth: three tenths of the error itself, seven of the relative error.
    assert found[f"{net} depth 0.5"] == pytest.approx(0.3 * 0.5 + 0.7 * math.expm1(0.5), rel=1e-4)
    for off in (0.0, 0.5):
        assert found[f"{net} gradient {off}"] == pytest.approx(0.0, abs=1e-6)
    assert found["metric scale 0.5"] == pytest.approx(0.5, rel=1e-4) and found["metric scale 0.0"] == pytest.approx(0.0, abs=1e-6)
    assert found["metric sky 0.0"] == 0.0 and found["metric beyond 0.0"] == 0.0
    assert found["any_view field 0.0"] == pytest.approx(0.0, abs=1e-6) and found["any_view pose 0.0"] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("off", [0.0, 0.5])
def test_a_quarter_of_the_share_beyond_1_25_with_a_border_of_six_percent(found, off):
    assert found[f"metric outside {off}"] == pytest.approx(0.25 / (1 + math.exp((math.log(1.25) - off) / 0.06)), rel=1e-4)


def test_what_is_as_likely_sky_as_not_gets_the_official_threshold(found):
    assert found["sky of either"].argmin() == 30


@pytest.mark.parametrize(("share", "found_within"), [(0.0, (0.0, 0.0)), (0.3, (0.2, 0.4)), (1.0, (0.97, 1.0))])
def test_as_many_pictures_are_recoloured_as_asked(found, share, found_within):
    least, most = found_within
    assert least <= found[f"recoloured {share}"] <= most
