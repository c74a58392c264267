"""The Dockerfiles without Docker: their steps are scripts, which run here, and the rest is checked to be what a build would find."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
FILES = sorted(DOCKER.glob("Dockerfile.*"))


def instructions(path):
    """(name, rest) of each instruction; continued lines joined, comments left out."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_steps_are_shell_and_copies_are_there(path):
    stages = {match[1] for name, rest in instructions(path) if name == "FROM" and (match := re.search(r" AS (\w+)$", rest))}
    runs = 0
    for name, rest in instructions(path):
        if name == "RUN":
            assert subprocess.run(["bash", "-n", "-c", rest]).returncode == 0, rest
            runs += 1
        elif name == "COPY":
            words = shlex.split(rest)
            origin = [word.removeprefix("--from=") for word in words if word.startswith("--from=")]
            assert (set(origin) <= stages) if origin else all((ROOT / source).exists() for source in words[:-1]), rest
        else:
            assert name in {"FROM", "ARG", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD"}, f"{name} is not exercised by any test"
    assert runs > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_last_stage_does_not_run_as_root_and_keeps_no_package_lists(path):
    last = list(instructions(path))
    last = last[max(i for i, (name, _) in enumerate(last) if name == "FROM") :]
    assert [rest for name, rest in last if name == "USER"][-1:] not in ([], ["root"])
    for name, rest in instructions(path):
        assert name != "RUN" or "apt-get install" not in rest or "rm -rf /var/lib/apt/lists/*" in rest


def test_linter_is_content():
    # DL3008: the versions of apt's packages are those of the base image's distribution.
    done = subprocess.run([Path(sys.executable).with_name("hadolint"), "--ignore", "DL3008", *FILES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_presets_named_in_the_dockerfiles_exist():
    presets = (ROOT / "native" / "CMakePresets.json").read_text()
    arguments = [rest for path in FILES for name, rest in instructions(path) if name == "ARG" and rest.startswith("PRESET=")]
    assert arguments
    for argument in arguments:
        assert f'"name": "{argument.removeprefix("PRESET=")}"' in presets


def test_build_script_makes_an_install_space_whose_node_starts(tmp_path):
    """docker/build.sh and docker/entrypoint.sh as an image runs them, with the Python of this environment."""
    venv = Path(sys.prefix)
    ggml = ROOT / ".local" / "ggml" / "lib" / "cmake" / "ggml"
    environment = {
        "PATH": f"{venv / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "AMENT_PREFIX_PATH": str(venv),
        "CMAKE_ARGS": f"-Dggml_DIR={ggml}" if ggml.is_dir() else "",
        "DEPTH_ANYTHING_PREFIX": str(tmp_path / "install"),
    }
    built = subprocess.run(
        ["bash", DOCKER / "build.sh", ROOT, tmp_path / "install", "x86-cpu"], env=environment, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    # The node by the path that `ros2 run` takes; without a model it says so and leaves.
    node = tmp_path / "install" / "lib" / "depth_anything_ros" / "depth_node"
    started = subprocess.run(
        [DOCKER / "entrypoint.sh", str(node)], env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert started.returncode == 2, started.stdout + started.stderr
    assert "model" in started.stdout + started.stderr
    where = "import depth_anything_ros; print(depth_anything_ros.__file__)"
    imported = subprocess.run(
        [DOCKER / "entrypoint.sh", "python", "-c", where], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert imported.stdout.startswith(str(tmp_path / "install")), imported.stderr
    assert list((tmp_path / "install").rglob("depth.launch.py"))
