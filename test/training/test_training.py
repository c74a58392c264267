"""A few steps of training in the parity environment; what comes out is an official checkpoint, and the engine gives the official maps."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from depth_anything_ros import Engine
from depth_anything_ros.convert.converter import convert
from training import dataset

pytestmark = [pytest.mark.parity, pytest.mark.native]

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".local" / "parity" / "bin" / "python"


def in_parity_environment(*arguments, code=0):
    """What it says on stderr."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([str(PYTHON), *map(str, arguments)], cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert result.returncode == code, result.stderr
    return result.stderr


def train(state, *arguments):
    in_parity_environment("-m", "training.train", "--state", state, "--batch", 4, "--warm-up", 2, "--decay", 1, *arguments)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A state folder with few pictures, the any-view net after three steps in two processes, and the metric net that starts from it."""
    folder = tmp_path_factory.mktemp("state")
    for split in ("train", "validation"):
        dataset.write(folder / "pictures", split, 1, report=lambda line: None)
    train(folder, "--net", "any-view", "--steps", 3, "--workers", 2)
    train(folder, "--net", "metric", "--start", "any-view", "--steps", 3)
    return folder


@pytest.mark.parametrize("net", ["any-view", "metric"])
def test_engine_gives_what_the_official_network_gives(state, tmp_path, net):
    in_parity_environment("-m", "training.export", "--state", state, "--net", net, "--width", 112, "--output", tmp_path / "checkpoint")
    convert(tmp_path / "checkpoint", tmp_path / "nano.gguf")
    picture = np.ascontiguousarray(np.load(dataset.shards(state / "pictures", "train")[0], mmap_mode="r")["rgb"][0, 0, ::2, ::2])
    np.save(tmp_path / "picture.npy", picture)
    in_parity_environment(
        ROOT / "test" / "training" / "official_maps.py", *(tmp_path / name for name in ("checkpoint", "picture.npy", "maps.npz"))
    )
    maps = np.load(tmp_path / "maps.npz")
    with Engine.load(tmp_path / "nano.gguf") as engine:
        found = engine.infer(picture, fill_sky=False)
    assert np.ptp(maps["depth"]) > 0.01
    np.testing.assert_allclose(found.depth, maps["depth"], rtol=1e-4)
    if net == "any-view":
        np.testing.assert_allclose(found.confidence, maps["confidence"], rtol=1e-4)
    else:
        np.testing.assert_allclose(found.sky, maps["sky"], atol=1e-4)


def test_training_goes_on_where_it_stopped(state):
    train(state, "--net", "any-view", "--steps", 5, "--workers", 2)
    lines = [line for line in (state / "any-view" / "log.txt").read_text().splitlines() if "rate" in line]
    steps = [int(line.split()[1]) for line in lines]
    pictures = [int(line.split()[3]) for line in lines]
    assert steps == [3, 5]
    assert pictures[1] > pictures[0]


def test_what_cannot_end_well_is_refused_at_the_start(state, tmp_path):
    arguments = ("-m", "training.train", "--net", "metric")
    assert "one worker" in in_parity_environment(*arguments, "--state", state, "--finish", 1, "--workers", 2, code=2)
    assert "plateau.pt" in in_parity_environment(*arguments, "--state", tmp_path, "--resume", "plateau", code=2)
    dataset.write(tmp_path / "pictures", "train", 1, report=lambda line: None)
    assert "--split validation" in in_parity_environment(*arguments, "--state", tmp_path, code=1)


def test_training_by_the_clock_keeps_its_last_state(state):
    train(state, "--net", "metric", "--steps", 10_000, "--finish", 0.1)
    lines = (state / "metric" / "log.txt").read_text().splitlines()
    read = "import sys, torch; print(torch.load(sys.argv[1], weights_only=False)['step'], file=sys.stderr)"
    saved = in_parity_environment("-c", read, state / "metric" / "last.pt").strip()
    assert int(saved) > 3
    assert [line.split()[1:3] for line in lines[-2:]] == [[saved, "pictures"], [saved, "validation"]]


def test_a_loss_that_is_no_number_ends_training_and_the_checkpoint_stays(state, tmp_path):
    dataset.write(tmp_path / "pictures", "validation", 1, report=lambda line: None)
    rows = np.load(dataset.shards(state / "pictures", "train")[0]).copy()
    rows["depth"] = 0.0
    np.save(tmp_path / "pictures" / "train-00000.npy", rows)
    checkpoint = tmp_path / "metric" / "last.pt"
    checkpoint.parent.mkdir()
    shutil.copy(state / "metric" / "last.pt", checkpoint)
    before = checkpoint.read_bytes()
    arguments = ("-m", "training.train", "--net", "metric", "--state", tmp_path, "--batch", 4, "--steps", 10_000)
    assert "non-finite" in in_parity_environment(*arguments, code=1)
    assert checkpoint.read_bytes() == before
