"""A replay that is killed, stopped or runs out of disk goes on where it was, and its result is that of one run."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bag_tools import verb
from replay_tools import camera_messages, metric_engine, read, run, stamp, stamps, write
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

from depth_anything_ros.errors import CancelledError, OptionError
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.ros.parameters import NodeOptions

DEPTH = "/cam/relative/image"
TIMING = "/cam/depth/timing"
NETWORK = ("-p", "resolution:=56")


def content(bag: Path) -> dict[str, list[tuple[int, bytes]]]:
    """All but the times that the work took."""
    return {topic: messages for topic, messages in read(bag).items() if topic != TIMING}


def start(recording: Path, output: Path, model: Path, *more: object, **options: object) -> subprocess.Popen[str]:
    return verb("replay", recording, "-o", output, "--model", model, *NETWORK, "--segment", 10, *more, **options)


def finish(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return out, err


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_toy_model(tmp_path, SMALLEST_ANY_VIEW)


@pytest.mark.native
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("kills", "frames", "jobs"),
    [(4, 150, 1), pytest.param(20, 400, 1, marks=pytest.mark.slow), pytest.param(20, 400, 2, marks=pytest.mark.slow)],
)
def test_killed_at_random_moments(tmp_path: Path, model: Path, kills: int, frames: int, jobs: int) -> None:
    recording = write(tmp_path / "in", camera_messages(frames))
    began = time.monotonic()
    finish(start(recording, tmp_path / "whole", model, "--jobs", jobs))
    lasting = time.monotonic() - began
    moments, killed, rounds = random.Random(7), 0, 0
    while killed < kills:
        process = start(recording, tmp_path / f"out{rounds}", model, "--jobs", jobs)
        try:
            process.wait(moments.uniform(0.1, 0.9) * lasting)
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.communicate()
        # Under its name the output is whole, whenever the process ended; the next one begins from nothing.
        rounds += (tmp_path / f"out{rounds}").exists()
    out, _ = finish(start(recording, tmp_path / f"out{rounds}", model, "--jobs", jobs))
    assert f"processed {frames}," in out
    reference = content(tmp_path / "whole")
    assert stamps(reference[DEPTH]) == [stamp(index) for index in range(frames)]
    assert rounds < kills  # most kills have hit unfinished work
    for number in range(rounds + 1):
        assert content(tmp_path / f"out{number}") == reference
    # A kill after the last rename leaves an empty shell, which the same command removes.
    for shell in tmp_path.glob(".*.replay"):
        finish(start(recording, tmp_path / shell.name.removeprefix(".").removesuffix(".replay"), model, "--jobs", jobs))
    assert [child.name for child in tmp_path.iterdir() if child.name.startswith(".")] == []


SLOW = """
import sys
from pathlib import Path
import cluster_engines
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.ros.parameters import NodeOptions

recording, output, model = sys.argv[1:]
options = ReplayOptions(output=Path(output), node=NodeOptions(model=model), segment=5, jobs=2)
replay(SourceOptions(Path(recording)), options, load_engine=cluster_engines.takes_long)
"""


def workers_of(process: subprocess.Popen[str]) -> list[Path]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [Path("/proc", child) for child in children if b"spawn_main" in Path("/proc", child, "cmdline").read_bytes()]


def runs(process: Path) -> bool:
    """Whether it is there, and no zombie that nobody has asked for its exit code."""
    try:
        return "\nState:\tZ" not in (process / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_workers_end_with_the_process_that_is_killed(tmp_path: Path) -> None:
    """One that is in the middle of a picture would stand in the way of the run that goes on."""
    recording = write(tmp_path / "in", camera_messages(10))
    (tmp_path / "model.gguf").touch()
    paths = [str(path) for path in (recording, tmp_path / "out", tmp_path / "model.gguf")]
    tests = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests / 'replay'}:{tests}:{tests.parent}"}
    process = subprocess.Popen([sys.executable, "-c", SLOW, *paths], env=environment)
    begun, end = tmp_path / ".out.replay" / "segments", time.monotonic() + 60
    while len(list(begun.glob(".*.unfinished"))) < 2:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    workers = workers_of(process)
    assert len(workers) == 2
    process.kill()
    process.wait()
    end = time.monotonic() + 5
    while any(map(runs, workers)):
        assert time.monotonic() < end, "a worker has outlived the process that started it"
        time.sleep(0.05)


@pytest.mark.native
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(tmp_path: Path, model: Path, number: int) -> None:
    recording = write(tmp_path / "in", camera_messages(100))
    process = start(recording, tmp_path / "out", model)
    while not (tmp_path / ".out.replay" / "segments" / "0001").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, err = finish(process, code=130)
    assert "goes on" in err and not (tmp_path / "out").exists()
    _, err = finish(start(recording, tmp_path / "out", model))
    assert "were done before" in err
    assert stamps(read(tmp_path / "out")[DEPTH]) == [stamp(index) for index in range(100)]


def stopping_after(count: int, plan: Path) -> object:
    """plan: is there once the recording was looked through, when pictures begin to be asked about."""
    left = iter(range(count))
    return lambda: plan.exists() and next(left, None) is None


def interrupted(recording: Path, output: Path, count: int, **options: object) -> None:
    """A run that is stopped after some pictures."""
    model = output.parent / "model.gguf"
    model.touch()
    node = NodeOptions(model=str(model))
    with pytest.raises(CancelledError):
        replay(
            SourceOptions(recording),
            ReplayOptions(output=output, node=node, **options),
            stopping=stopping_after(count, output.with_name(f".{output.name}.replay") / "plan.json"),
            load_engine=metric_engine,
        )


def test_work_is_not_done_twice(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    interrupted(recording, tmp_path / "out", 25, segment=10)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".out.replay" / "segments").glob("*/*.mcap")}
    assert len(before) == 2
    summary = run(recording, tmp_path / "out", segment=10)
    assert (summary.pictures, summary.processed) == (30, 30)
    after = {path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.mcap")}
    assert set(before.values()) < after
    again = run(recording, tmp_path / "out", segment=10)
    assert (again.seconds, again.processed, again.topics) == (0.0, 30, summary.topics)


def test_the_output_may_lie_in_the_folder_of_the_recording(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    interrupted(recording, recording / "depth", 25, segment=10)
    assert run(recording, recording / "depth", segment=10).processed == 30
    assert run(recording, recording / "depth", segment=10).seconds == 0.0


@pytest.mark.parametrize("change", ["option", "parameter", "recording", "model"])
def test_other_work_is_not_mixed_in(tmp_path: Path, change: str) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    interrupted(recording, tmp_path / "out", 25, segment=10)
    options: dict[str, object] = {"segment": 10}
    if change == "option":
        options["every"] = 2
    elif change == "parameter":
        options["node"] = {"focal": 5.0}
    elif change == "recording":
        shutil.rmtree(recording)
        write(recording, camera_messages(31))
    else:
        (tmp_path / "model.gguf").write_bytes(b"another")
    with pytest.raises(OptionError, match=r"was begun with .*remove .*\.out\.replay"):
        run(recording, tmp_path / "out", **options)


def test_another_bag_is_not_touched(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(3))
    before = {child.name: child.read_bytes() for child in recording.iterdir()}
    with pytest.raises(OptionError, match="exists already"):
        run(recording, recording)
    assert {child.name: child.read_bytes() for child in recording.iterdir()} == before


@pytest.mark.native
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_file_that_may_not_grow(tmp_path: Path, model: Path, storage: str) -> None:
    recording = write(tmp_path / "in", camera_messages(100, (160, 120)))
    arguments = ("--segment", 50, "--storage", storage)
    full = start(recording, tmp_path / "out", model, *arguments, preexec_fn=lambda: _limit_files(2_000_000))
    _, err = finish(full, code=4)
    assert "cannot be written" in err.strip().splitlines()[-1]
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / ".out.replay" / "segments").iterdir()) == []
    finish(start(recording, tmp_path / "out", model, *arguments))
    assert len(read(tmp_path / "out")[DEPTH]) == 100


@pytest.mark.native
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_full_disk(tmp_path: Path, model: Path, storage: str) -> None:
    """On a file system of 3 MB in a mount name space of its own."""
    recording = write(tmp_path / "in", camera_messages(100, (160, 120)))
    disk = tmp_path / "disk"
    disk.mkdir()
    replaying = [sys.executable, "-m", "depth_anything_ros", "replay", recording, "-o", disk / "out", "--model", model, *NETWORK]
    script = 'mount -t tmpfs -o size=3m tmpfs "$0"; "$@"; code=$?; cd "$0"; find .; exit $code'
    space = ["unshare", "--mount" if os.geteuid() == 0 else "--map-root-user", "--mount"]
    command = [*space, "sh", "-c", script, disk, *replaying, "--segment", "10", "--storage", storage]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 4, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "No space left" in last or "disk is full" in last
    there = done.stdout.split()
    assert "./out" not in there and any("segments/0000" in path for path in there)
    assert not any("unfinished" in path for path in there)


def test_a_finished_output_of_other_work_is_named(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(3))
    run(recording, tmp_path / "out")
    with pytest.raises(OptionError, match=r"exists already, made with option every 1, not 2"):
        run(recording, tmp_path / "out", every=2)


def test_one_at_a_time(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(30))
    interrupted(recording, tmp_path / "out", 25, segment=10)
    code = "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print('held'); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-uc", code, tmp_path / ".out.replay" / "lock"], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OptionError, match="being written by another process"):
            run(recording, tmp_path / "out", segment=10)
    finally:
        other.kill()
        other.communicate()
    assert run(recording, tmp_path / "out", segment=10).processed == 30


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
