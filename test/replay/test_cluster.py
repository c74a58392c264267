"""Segments on a local Ray cluster: the output of one process; failures are tried again, then named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bag_tools import verb
from replay_tools import camera_messages, read, run, write
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

TIMING = "/cam/depth/timing"
HERE = Path(__file__).resolve().parent
SCRIPT = """
import json, sys
from pathlib import Path
import cluster_engines
from depth_anything_ros.errors import DepthAnythingError
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.ros.parameters import NodeOptions

recording, output, model, engine = sys.argv[1:]
options = ReplayOptions(output=Path(output), node=NodeOptions(model=model), segment=10, jobs=2, cluster="local")
try:
    replay(SourceOptions(Path(recording)), options, load_engine=getattr(cluster_engines, engine))
    print(json.dumps(["done", ""]))
except DepthAnythingError as error:
    print(json.dumps([error.code, str(error)]))
"""


def replay_on_ray(recording: Path, output: Path, model: Path, engine: str) -> list[str]:
    """In a process of its own: Ray leaves threads and handlers behind."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{HERE}:{HERE.parent}:{HERE.parents[1]}", "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-c", SCRIPT, recording, output, model, engine]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.native
def test_two_workers_give_what_one_process_gives(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(50))
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    common = ("--model", model, "-p", "resolution:=56", "--segment", 10)
    one = verb("replay", recording, "-o", tmp_path / "one", *common)
    assert one.wait(60) == 0
    spread = verb("replay", recording, "-o", tmp_path / "spread", *common, "--ray", "local", "--jobs", 2)
    out, err = spread.communicate(timeout=120)
    assert spread.returncode == 0, err
    assert "processed 50," in out and "Traceback" not in err
    first, second = read(tmp_path / "one"), read(tmp_path / "spread")
    assert len(first.pop(TIMING)) == len(second.pop(TIMING)) == 50
    assert first == second
    for stream in (one.stdout, one.stderr):
        stream.close()


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(50))
    model = tmp_path / "model.gguf"
    model.touch()
    assert replay_on_ray(recording, tmp_path / "out", model, "dies_once") == ["done", ""]
    assert (tmp_path / "model.gguf.died").exists()
    run(recording, tmp_path / "reference", model=model, segment=10)
    first, second = read(tmp_path / "reference"), read(tmp_path / "out")
    assert len(first.pop(TIMING)) == len(second.pop(TIMING)) == 50
    assert first == second


@pytest.mark.slow
def test_segments_that_fail_for_good_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(50))
    model = tmp_path / "model.gguf"
    model.touch()
    code, text = replay_on_ray(recording, tmp_path / "out", model, "fails_in_the_third_segment")
    assert code == "device.compute"
    assert "Segments 2 of 5 failed 3 times each" in text and "The graph failed" in text
    assert not (tmp_path / "out").exists()
    assert replay_on_ray(recording, tmp_path / "out", model, "works") == ["done", ""]
    assert len(read(tmp_path / "out")["/cam/depth/image_rect"]) == 50


def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(5))
    (tmp_path / "model.gguf").touch()
    process = verb("replay", recording, "-o", tmp_path / "out", "--model", tmp_path / "model.gguf", "--ray", "127.0.0.1:1")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "No Ray cluster at 127.0.0.1:1" in err and "Traceback" not in err
