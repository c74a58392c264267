"""The front door: help, exit codes, and one line for an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from depth_anything_ros import __version__, cli
from depth_anything_ros.cli import infer, main
from depth_anything_ros.errors import ConversionError, DepthAnythingError, DeviceError, InputError, ModelError, OptionError


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == __version__


def test_the_bare_command_is_an_error_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([])
    assert "first steps:" in capsys.readouterr().err


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert f"\n    depth-anything-ros {verb}" in capsys.readouterr().out, "an example"


def test_help_shows_the_first_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    shown = set(re.findall(r"^  depth-anything-ros ([a-z]+)", out, re.MULTILINE))
    assert shown == {"doctor", "models", "infer", "demo"} and shown <= set(cli.VERBS)
    assert re.search(r"exit codes: 0 .* 2 .* 3 .* 4 .* 5 .* 130", out)


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["info"], ["play", "bag", "--rate", "fast"]])
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"), [(ModelError, 3), (ConversionError, 3), (InputError, 4), (DeviceError, 5), (OptionError, 2), (DepthAnythingError, 1)]
)
def test_errors_are_one_line(
    error: type[DepthAnythingError], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise error("some.code", "the thing is 7; make it 8.")

    monkeypatch.setattr(infer, "run", fail)
    assert main(["infer", "a.png", "--model", "m", "-o", "out"]) == code
    assert capsys.readouterr().err == "depth-anything-ros infer: the thing is 7; make it 8.\n"


@pytest.mark.parametrize("module", ["rosbags.interfaces", "apsw", "rclpy"])
def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(infer, "run", fail)
    assert main(["infer", "a.png", "--model", "m", "-o", "out"]) == 2
    said = capsys.readouterr().err
    assert f"{module} is not installed" in said and ("setup.bash" if module == "rclpy" else "pip install rosbags") in said
    assert said.count("\n") == 1


def test_without_the_extension_it_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "depth_anything_ros._native", None)
    monkeypatch.delitem(sys.modules, "depth_anything_ros.engine", raising=False)
    assert main(["info", "nano"]) == 2
    said = capsys.readouterr().err
    assert "depth_anything_ros._native is not installed" in said and "colcon build" in said and said.count("\n") == 1


def test_too_little_memory_is_5(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(arguments: object) -> int:
        raise MemoryError

    monkeypatch.setattr(infer, "run", fail)
    assert main(["infer", "a.png", "--model", "m", "-o", "out"]) == 5
    assert "memory" in capsys.readouterr().err


def test_a_module_of_nobody_is_a_programming_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise ModuleNotFoundError("No module named 'nobodys'", name="nobodys")

    monkeypatch.setattr(infer, "run", fail)
    with pytest.raises(ModuleNotFoundError):
        main(["infer", "a.png", "--model", "m", "-o", "out"])


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(infer, "run", interrupt)
    assert main(["infer", "a.png", "--model", "m", "-o", "out"]) == 130
    assert capsys.readouterr().err == ""


def test_programming_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(infer, "run", fail)
    with pytest.raises(ZeroDivisionError):
        main(["infer", "a.png", "--model", "m", "-o", "out"])


@pytest.mark.case(70)
def test_a_home_in_a_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    taken = []
    monkeypatch.setattr(infer, "run", lambda arguments: taken.append(arguments.output) or 0)
    for text in ("~/depth", "~nobody-of-that-name/depth"):
        assert main(["infer", "a.png", "--model", "m", f"--output={text}"]) == 0
    assert taken == [tmp_path / "depth", Path("~nobody-of-that-name/depth")]


def run_command(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-m", "depth_anything_ros", *arguments], cwd=root, stderr=subprocess.PIPE, **options)


def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = run_command("models", "list", stdout=writing)
    os.close(writing)
    assert process.communicate(timeout=60)[1] == b"" and process.returncode == 141


def test_output_that_finds_no_room_is_told_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        process = run_command("models", "list", stdout=full)
    assert b"disk is full" in (errors := process.communicate(timeout=60)[1]) and errors.count(b"\n") == 1
    assert process.returncode == 4


@pytest.mark.parametrize(("arguments", "code"), [("models list", 0), ("models path da3-small", 3)])
def test_closed_streams_change_nothing(arguments: str, code: int, tmp_path: Path) -> None:
    """As some services start their programs."""
    line = f'"{sys.executable}" -m depth_anything_ros {arguments} <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", line], cwd=Path(__file__).parents[2], env={**os.environ, "HOME": str(tmp_path)}).returncode == code


@pytest.mark.case(70)
def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + "/мир".encode() + b" \xff.gguf"
    shutil.copy(Path(__file__).parents[2] / "depth_anything_ros" / "weights" / "nano-metric.gguf", name)
    process = run_command("info", name, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert b"DA3METRIC-NANO" in output
