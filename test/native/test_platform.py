"""The machine around the engine: cores that the process may use, a decimal comma, processors without new instructions, absent devices."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import toy_model

from depth_anything_ros import Engine, _native
from depth_anything_ros.errors import DeviceError, OptionError

pytestmark = pytest.mark.native
ROOT = Path(__file__).resolve().parents[2]
PICTURE = np.random.default_rng(0).integers(0, 256, (240, 320, 3), np.uint8)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model.metric_model(tmp_path_factory.mktemp("models"))


def in_process(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


COUNT = """
import os, sys
if sys.argv[2] == "one": os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from depth_anything_ros import Engine
before = len(os.listdir("/proc/self/task"))
engine = Engine.load(sys.argv[1], threads=int(sys.argv[3]))
print(1 + len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.case(54)
def test_threads_follow_the_cores_that_are_allowed(model: Path) -> None:
    cores = len(os.sched_getaffinity(0))

    def threads(where: str, asked: int) -> int:
        return int(in_process(COUNT, str(model), where, str(asked)).stdout)

    assert threads("one", 0) == 1 and threads("all", 1) == 1
    assert 1 <= threads("all", 0) <= cores, "a quota may allow fewer"
    assert threads("all", 3) == 3
    for wrong in (-1, 10_000):
        with pytest.raises(OptionError, match=str(wrong)):
            Engine.load(model, threads=wrong)


@pytest.mark.case(54)
def test_too_many_threads_cost_little(model: Path) -> None:
    """One thread, the default, four for each core: the time of all cores for a frame, which does not depend on what else runs there.

    Threads that spin or get into each other's way would show in it many times over.
    """
    cores = len(os.sched_getaffinity(0))
    engines = {threads: Engine.load(model, threads=threads, resolution=504) for threads in (1, 0, 4 * cores)}
    best = dict.fromkeys(engines, 1e9)
    for _ in range(6):
        for threads, engine in engines.items():
            started = time.process_time()
            engine.infer(PICTURE)
            best[threads] = min(best[threads], time.process_time() - started)
    assert max(best.values()) < 1.5 * min(best.values()), best


GERMAN = """
import json, locale, sys
locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == sys.argv[3], locale.localeconv()
import numpy as np
from depth_anything_ros import Engine, Intrinsics
picture = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
with Engine.load(sys.argv[1], resolution=56) as engine:
    prediction = engine.infer(picture, intrinsics=Intrinsics(80, 60, 70.5, 70.5, 39.5, 29.5))
    print(json.dumps([engine.info.parameters, prediction.depth.tobytes().hex()]))
from depth_anything_ros.cli import main
assert main(["infer", sys.argv[2], "--model", sys.argv[1], "--output", sys.argv[4], "--formats", "pfm", "--resolution", "56"]) == 0
"""


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the locale de_DE.UTF-8, for LOCPATH."""
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (folder / "de_DE.UTF-8").is_dir(), f"{done.stderr} (Debian: apt install locales)"
    return folder


@pytest.mark.case(75)
def test_a_decimal_comma_changes_nothing(model: Path, german: Path, tmp_path: Path) -> None:
    """Also set inside of the process, as Qt does; and no locale at all with a path of other letters."""
    from depth_anything_ros.files import write_png

    odd = tmp_path / "снимок שלום.png"
    write_png(odd, PICTURE[:60, :80])
    outputs = []
    for number, (point, environment) in enumerate(
        [
            (",", {"LC_ALL": "de_DE.UTF-8", "LOCPATH": str(german)}),
            (".", {"LC_ALL": "C"}),
            (".", {"LC_ALL": "", "LANG": "", "LC_CTYPE": ""}),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = in_process(GERMAN, str(model), str(odd), point, str(folder), **environment)
        assert done.returncode == 0, done.stderr
        (pfm,) = folder.rglob("*.pfm")
        outputs.append((json.loads(done.stdout.splitlines()[0]), pfm.read_bytes()))
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.case(74)
def test_new_instructions_are_in_the_kernels_only(tmp_path: Path) -> None:
    """Everything but the kernels for one instruction set must run on any x86-64: no wide registers in their objects."""
    objects = sorted((ROOT / "build").rglob("*.o"))
    ours = [path for path in objects if "kernels" not in str(path) and "native" in str(path)]
    assert len(ours) >= 10, "the extension is built from these (make build)"
    for path in ours:
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True, check=True).stdout
        wide = re.findall(r"%[yz]mm\d+", code)
        assert not wide, f"{path.name}: {wide[:3]}"


@pytest.mark.case(77)
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "vulkan", "gpu9"])
def test_a_device_that_is_not_there_is_an_error_at_the_start(model: Path, device: str) -> None:
    with pytest.raises(DeviceError, match=device) as caught:
        Engine.load(model, device=device)
    assert caught.value.code == "device.unavailable" and "cpu" in str(caught.value)
    with Engine.load(model, device="cpu") as engine:
        assert engine.info.device == "cpu"
    assert _native.__version__
