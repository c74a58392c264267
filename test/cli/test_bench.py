"""The bench verb: a whole run with a tiny model, its protocol with a made-up rival, and wrong options."""

import platform
import re
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from toy_model import SMALLEST_ANY_VIEW, v2_model, write_toy_model

from depth_anything_ros.bench import studies
from depth_anything_ros.bench.contender import resolution_at
from depth_anything_ros.bench.race import ATTEMPTS, Contender, beside_busy, race, table
from depth_anything_ros.cli import main
from depth_anything_ros.errors import OptionError

RIVAL = """
    import sys, time
    import numpy as np
    from depth_anything_ros.bench.contender import serve
    def frame():
        time.sleep(float(sys.argv[1]))
        return np.full((2, 2), float(sys.argv[2]), np.float32)
    print("a library says hello")
    serve({"rival": "1.2"}, frame)
"""


@pytest.fixture
def rival(tmp_path):
    script = tmp_path / "rival.py"
    script.write_text(textwrap.dedent(RIVAL))

    def make(name, seconds, depth):
        return Contender(name, 1, [sys.executable, str(script), str(seconds), str(depth)])

    return make


def test_contenders_are_measured_in_turn(rival, tmp_path):
    contenders = [rival("slow", 0.06, 2.0), rival("fast", 0.02, 2.1)]
    for contender in contenders:
        contender.start()
    depths = [contender.depth(tmp_path / "depth.npy") for contender in contenders]
    race(contenders, 3)
    lines = table(contenders, depths).splitlines()
    for contender in contenders:
        contender.stop()
    slow, fast = contenders
    assert slow.facts["rival"] == "1.2" and len(slow.milliseconds) == len(fast.milliseconds) == 3
    assert min(slow.milliseconds) >= 60 and 20 <= min(fast.milliseconds) < 60
    assert slow.peak_megabytes > 5
    assert lines[1].split()[:2] == ["slow", "1"] and "5.0e-02" in lines[2]


def test_a_contender_that_dies_is_named(tmp_path):
    contender = Contender("broken", 1, [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(OptionError, match=r"broken ended \(exit code 3\)"):
        contender.start()


def test_a_contender_that_cannot_be_run_is_named(tmp_path):
    with pytest.raises(OptionError, match="abacus cannot be run: No such file"):
        Contender("torch", 1, [str(tmp_path / "abacus")]).start()


def test_a_contender_is_stopped_in_the_middle_of_its_work(tmp_path):
    contender = Contender("sleepy", 1, ["sh", "-c", f"echo ready '{{}}'; sleep 600 & echo $! >{tmp_path}/child; wait"])
    contender.start()
    child = _within_5_s(lambda: (tmp_path / "child").is_file() and (tmp_path / "child").read_text().strip())
    contender.stop()
    contender.stop()
    assert _within_5_s(lambda: _has_ended(child))


def _has_ended(process):
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"  # not every first process buries what it inherits


def _within_5_s(condition):
    end = time.monotonic() + 5.0
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_a_busy_machine_is_reported(rival, monkeypatch):
    contender = rival("busy", 0.0, 1.0)
    clock = iter(np.arange(0.0, 1e6, 1e3))
    monkeypatch.setattr(Contender, "_others_busy", lambda self: next(clock))
    contender.start()
    race([contender], 2)
    contender.stop()
    assert contender.disturbed == 2 and ATTEMPTS > 1


@pytest.mark.native
def test_whole_run(tmp_path, capsys):
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    plainest = "neon" if platform.machine() == "aarch64" else "sse42"
    size = ["--size", "42x28", "--threads", "1,2", "--rounds", "2"]
    assert main(["bench", "--model", str(model), *size, "--instruction-set", plainest]) == 0
    output = capsys.readouterr().out
    assert output.count(f"kernels {plainest}") == output.count("device cpu") == 2
    assert len(re.findall(r"^this engine +[12] +[\d.]+ +[\d.]+ +[\d.]+ +1\.000 +\d+ +- +\d/2$", output, re.MULTILINE)) == 2


@pytest.mark.native
def test_studies(tmp_path, capsys, monkeypatch):
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    monkeypatch.setattr(studies, "GROWTH_SIDES", (28, 56))
    assert (
        main(["bench", "--model", str(model), "--size", "42x28", "--threads", "1", "--rounds", "2", "--study", "parts,growth,load,around"])
        == 0
    )
    output = capsys.readouterr().out
    parts = dict(re.findall(r"^(products|attention|convolutions|whole frame) +([\d.]+) ", output, re.MULTILINE))
    assert len(parts) == 4 and sum(map(float, parts.values())) < 2.01 * float(parts["whole frame"]) + 0.4  # tenths are rounded
    assert re.search(r"^28x28 +4 +[\d.]+ +[\d.]+$", output, re.MULTILINE)
    assert "load to first depth" in output and re.search(r"1280x720: [\d.]+ ms", output)
    assert main(["bench", "--model", str(model), "--study", "feelings"]) == 2
    assert "feelings" in capsys.readouterr().err


@pytest.mark.native
def test_v2_runs_at_the_size_that_is_printed(tmp_path, capsys, monkeypatch):
    model, sizes = v2_model(tmp_path), []
    monkeypatch.setattr(studies, "_median", lambda rounds, action: sizes.append(action().depth.shape[::-1]) or 1.0)
    assert main(["bench", "--model", str(model), "--size", "42x28", "--threads", "1", "--rounds", "1", "--study", "load"]) == 0
    assert sizes == [(42, 28)]
    assert main(["bench", "--model", str(model), "--size", "42x28", "--threads", "1", "--rounds", "1"]) == 0
    assert resolution_at(model, (42, 28)) == 28


@pytest.mark.native
def test_a_model_or_device_that_is_missing_is_an_error_of_its_own(capsys):
    assert main(["bench", "--model", "nano", "--device", "abacus"]) == 5
    assert "abacus" in capsys.readouterr().err
    for options in ([], ["--study", "load"]):
        assert main(["bench", "--model", "absent.gguf", *options]) == 3
        assert "absent.gguf" in capsys.readouterr().err


def test_beside_a_busy_process(rival):
    contender = rival("calm", 0.02, 1.0)
    contender.start()
    race([contender], 1)
    line = beside_busy([contender], 2).splitlines()[-1].split()
    contender.stop()
    assert line[:2] == ["calm", "1"] and float(line[2]) >= 20 and float(line[3]) > 0.3


@pytest.mark.parametrize(
    "options",
    [
        ["--size", "504"],
        ["--size", "500x336"],
        ["--size", "0x14"],
        ["--threads", "two"],
        ["--rounds", "0"],
        ["--study", "parts", "--device", "cuda"],
        ["--study", "parts", "--exact"],
        ["--against", "onnxruntime"],
    ],
)
def test_wrong_options_are_usage_errors(options, capsys):
    assert main(["bench", "--model", "absent.gguf", *options]) == 2
    assert options[0] in capsys.readouterr().err
