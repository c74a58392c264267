"""The wheels of `make wheels`: on old and new processors (emulated), beside another ggml, and for Arm. They build what they test."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from toy_model import any_view_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("wheel_depth.py")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def environment():
    """Without what would bring in another Python's packages or libraries, or this tree in the place of the wheel."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_", "_ROS"))}


def build(preset, folder):
    return Path(run(sys.executable, ROOT / "tools" / "wheels.py", folder, preset).strip().splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("x86-cpu", tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel, what it depends on, and another package with a ggml inside."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, "pywhispercpp", env=environment())
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return any_view_model(tmp_path_factory.mktemp("model"))


def depth(python, model, tmp_path, *neighbours, emulator=()):
    result = tmp_path / "result.npz"
    output = run(*emulator, python, PROGRAM, model, result, *neighbours, cwd=tmp_path, env=environment())
    found = np.load(result)
    return found["depth"], str(found["instruction_set"]), output


def test_shows_no_symbol_but_its_entry_and_carries_no_library(wheel):
    assert re.search(r"-manylinux_2_\d+_x86_64\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        (extension,) = [name for name in archive.namelist() if ".so" in name]
        path = archive.extract(extension, wheel.parent)
    defined = [line.split() for line in run("nm", "--dynamic", "--defined-only", path).splitlines()]
    assert [words[-1] for words in defined] == ["PyInit__native"]
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", run("readelf", "-d", path)))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}, needed


def test_another_ggml_in_the_process_changes_nothing(python, model, tmp_path):
    alone, instruction_set, _ = depth(python, model, tmp_path)
    beside, same_set, shown = depth(python, model, tmp_path, "_pywhispercpp")
    assert "WHISPER" in shown and instruction_set == same_set
    assert np.array_equal(alone, beside)


@pytest.mark.parametrize("processor, expected", [("Nehalem", "sse42"), ("Haswell", "avx2")])
def test_runs_on_an_emulated_processor_with_its_best_kernels(python, model, tmp_path, processor, expected):
    emulator = shutil.which("qemu-x86_64")
    assert emulator, "qemu-x86_64 is missing; on Debian and Ubuntu: apt install qemu-user"
    here, _, _ = depth(python, model, tmp_path)
    there, instruction_set, _ = depth(python, model, tmp_path, emulator=(emulator, "-cpu", processor))
    assert instruction_set == expected
    np.testing.assert_allclose(there, here, rtol=1e-4)


@pytest.fixture(scope="module")
def arm_wheel(tmp_path_factory):
    return build("arm64-cross", tmp_path_factory.mktemp("arm_wheels"))


def test_arm_wheel_is_of_its_kind(arm_wheel, tmp_path):
    assert re.search(rf"-cp{sys.version_info[0]}{sys.version_info[1]}-.*-manylinux_2_\d+_aarch64\.whl$", arm_wheel.name)
    with zipfile.ZipFile(arm_wheel) as archive:
        (extension,) = [name for name in archive.namelist() if ".so" in name]
        assert extension.endswith("-aarch64-linux-gnu.so")
        path = archive.extract(extension, tmp_path)
    assert "AArch64" in run("readelf", "-h", path)
    names = run("readelf", "--dyn-syms", "--wide", path)
    assert "PyInit__native" in names and not re.search(r"\bggml_\w+$", names, re.MULTILINE)


@pytest.fixture(scope="module")
def arm_python(arm_wheel):
    """The words that start an emulated Python with the wheel; the first ones are the emulator's."""
    shown = run(sys.executable, ROOT / "tools" / "arm64_python.py", ROOT / ".local" / "arm64-python", arm_wheel)
    return shown.strip().splitlines()[-1].split(" ")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Debian 12 has this Python for Arm, and no other")
# Raspberry Pi 4 and 5; all that the emulator knows.
@pytest.mark.parametrize("processor, expected", [("cortex-a72", "neon"), ("cortex-a76", "neon_dotprod"), ("max", "neon_i8mm")])
def test_arm_wheel_runs_emulated_with_its_best_kernels(arm_python, python, model, tmp_path, processor, expected):
    here, _, _ = depth(python, model, tmp_path)
    emulator, *options, interpreter = arm_python
    there, instruction_set, _ = depth(interpreter, model, tmp_path, emulator=(emulator, "-cpu", processor, *options))
    assert instruction_set == expected
    np.testing.assert_allclose(there, here, rtol=1e-4)
