"""A few steps of training in the parity environment; what comes out is an official checkpoint, and the engine gives the official maps."""

import os
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


def in_parity_environment(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([str(PYTHON), *map(str, arguments)], cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


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
