"""What `make` prepares (virtual environments, ggml) is done once, again after a change, and again after an interruption."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


class Tool:
    """A script of tools/ with its globals, some of which are replaced."""

    def __init__(self, name, **replaced):
        self.names = runpy.run_path(str(TOOLS / name))
        self.main = self.names["main"]
        self.main.__globals__.update(replaced)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """tools/environment.py with requirements of its own and an environment whose Python only notes what it is asked for."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "thing.txt").write_text("one\n")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    for name in (".created", "constraints.txt"):
        (venv / name).touch()
    (tmp_path / "exit").write_text("0")
    python = venv / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/asked"\necho "no network"\nexit $(cat "{tmp_path}/exit")\n')
    python.chmod(0o755)
    return Tool("environment.py", ROOT=tmp_path)


def test_a_group_is_installed_when_its_file_changed_or_it_was_interrupted(environment, tmp_path):
    def asked_after_a_run():
        assert environment.main([str(tmp_path / "venv"), "thing"]) == 0
        return len((tmp_path / "asked").read_text().splitlines())

    assert [asked_after_a_run(), asked_after_a_run()] == [1, 1]
    (tmp_path / "requirements" / "thing.txt").write_text("two\n")
    (tmp_path / "exit").write_text("1")
    with pytest.raises(SystemExit, match=r"no network\n+pip could not install requirements/thing.txt"):
        asked_after_a_run()
    (tmp_path / "exit").write_text("0")
    assert [asked_after_a_run(), asked_after_a_run()] == [3, 3]


def test_ggml_is_built_again_after_an_interrupted_build(tmp_path):
    calls = []

    def cmake(*arguments):
        calls.append(arguments[0])
        if arguments[0] == "--install" and "-DBROKEN=ON" in built_with:
            raise KeyboardInterrupt

    def fetched(command, **_):
        (tmp_path / "ggml" / "source").mkdir(parents=True, exist_ok=True)
        return SimpleNamespace(stdout=str(tmp_path / "ggml" / "source"))

    tool = Tool("build_ggml.py", _cmake=cmake, subprocess=SimpleNamespace(run=fetched, PIPE=-1))

    def cmake_calls_for(*arguments):
        nonlocal built_with
        built_with = arguments
        calls.clear()
        assert tool.main([str(tmp_path / "ggml"), *arguments]) == 0
        return len(calls)

    built_with = ()
    assert [cmake_calls_for("-DA=1"), cmake_calls_for("-DA=1"), cmake_calls_for("-DA=2")] == [3, 0, 3]
    with pytest.raises(KeyboardInterrupt):
        cmake_calls_for("-DBROKEN=ON")
    assert cmake_calls_for("-DA=2") == 3, "what is there is a mixture"


def test_an_arm64_root_that_was_cut_is_made_again(tmp_path):
    def run(*command):
        if command[0] == "dpkg-deb":
            (Path(command[3]) / Path(command[2]).name).touch()
            if "second" in str(command[2]) and interrupted:
                raise KeyboardInterrupt

    archives = [tmp_path / "first.deb", tmp_path / "second.deb"]
    tool = Tool("arm64_python.py", _run=run, _download=lambda state: archives)
    interrupted = True
    with pytest.raises(KeyboardInterrupt):
        tool.main([str(tmp_path), "wheel"])
    interrupted = False
    assert not (tmp_path / "root").exists()
    assert tool.main([str(tmp_path), "wheel"]) == 0
    assert sorted(path.name for path in (tmp_path / "root").iterdir()) == ["first.deb", "second.deb"]
