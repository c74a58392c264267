#!/usr/bin/env python3
"""Wheels that run on other machines: ``wheels.py FOLDER x86-cpu|arm64-cross``, with the Python that runs this.

ggml and the C++ runtime are inside, the kernels choose their instruction set at run time, and the tag names the glibc that the extension
needs (manylinux). arm64-cross builds for 64-bit Arm on x86_64 (apt: g++-aarch64-linux-gnu); Python's headers are the same there. Needs the
packages of requirements/build.txt (``tools/environment.py``). Standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC_RUNTIME = "-DCMAKE_MODULE_LINKER_FLAGS=-static-libstdc++ -static-libgcc"


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[1] not in ("x86-cpu", "arm64-cross"):
        print("usage: wheels.py FOLDER x86-cpu|arm64-cross", file=sys.stderr)
        return 2
    folder, preset = Path(arguments[0]).resolve(), arguments[1]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        built = _build(Path(work), preset)
        print(_tagged(built, folder))
    return 0


def _build(work: Path, preset: str) -> Path:
    """The wheel as pip builds it, in `work`, from a copy of the sources: a build leaves files behind."""
    source = work / "source"
    names = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    flags = ["--preset", preset, f"'{STATIC_RUNTIME}'", *_ggml(preset)]
    environment = {**os.environ, **_platform(preset, flags), "CMAKE_ARGS": " ".join(flags)}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(work), str(source)], env=environment, check=True)
    return next(work.glob("*.whl"))


def _ggml(preset: str) -> list[str]:
    """ggml built once for all Pythons."""
    prefix = ROOT / ".local" / f"ggml-{preset}"
    subprocess.run([sys.executable, ROOT / "tools" / "build_ggml.py", prefix, "--preset", preset], check=True)
    return [f"'-Dggml_DIR={prefix / 'lib' / 'cmake' / 'ggml'}'"]


def _platform(preset: str, flags: list[str]) -> dict[str, str]:
    """What setuptools is told when it builds for another machine; `flags` gets what CMake is told."""
    if preset != "arm64-cross":
        return {}
    suffix = f".cpython-{sys.version_info[0]}{sys.version_info[1]}-aarch64-linux-gnu.so"
    flags += [f"-DPYTHON_MODULE_EXTENSION={suffix}", f"'-DPython_INCLUDE_DIR={sysconfig.get_path('include')}'"]
    return {"_PYTHON_HOST_PLATFORM": "linux-aarch64", "SETUPTOOLS_EXT_SUFFIX": suffix}


def _tagged(wheel: Path, folder: Path) -> Path:
    """The wheel in `folder` under the tag of the oldest glibc that its extension runs with."""
    with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(wheel) as archive:
        extension = archive.extract(next(name for name in archive.namelist() if name.endswith(".so")), work)
        symbols = subprocess.check_output(["readelf", "--dyn-syms", "--wide", extension], text=True)
    minor = max(int(number) for number in re.findall(r"GLIBC_2\.(\d+)", symbols))
    architecture = wheel.stem.rpartition("linux_")[2]
    command = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", f"manylinux_2_{minor}_{architecture}", str(wheel)]
    name = subprocess.check_output(command, text=True).strip().splitlines()[-1]
    target = folder / name
    (wheel.parent / name).replace(target)
    return target


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
