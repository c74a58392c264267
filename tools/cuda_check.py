#!/usr/bin/env python3
"""Compile our sources and a few of ggml's CUDA sources for a GPU preset, without a GPU: ``cuda_check.py FOLDER PRESET [SOURCE.cu ...]``.

Needs nvcc. cuBLAS's headers come from its wheel on PyPI where the toolkit has none. Nothing is linked: a whole build is ``cmake --preset``.
FOLDER keeps the headers and the build, so that a second run compiles what changed. Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
SOURCES = ("norm.cu", "softmax.cu", "upscale.cu", "im2col.cu")  # what the network's own steps run on


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print("usage: cuda_check.py FOLDER PRESET [SOURCE.cu ...]", file=sys.stderr)
        return 2
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("nvcc is missing: install the CUDA toolkit (12 or 13).", file=sys.stderr)
        return 1
    folder, preset, sources = Path(arguments[0]).resolve(), arguments[1], tuple(arguments[2:]) or SOURCES
    build = folder / preset
    _run("cmake", "-S", NATIVE, "--preset", preset, "-B", build, "-G", "Ninja", "-DDA_BUILD_C_LIBRARY=OFF", "-DDA_BUILD_PYTHON=OFF",
         *_toolkit(folder, nvcc), *_cross(preset))  # fmt: skip
    _run("cmake", "--build", build, "--parallel", str(len(os.sched_getaffinity(0))), "--target", *_objects(build, sources))
    print(f"{preset}: the engine and {', '.join(sources)} compile.")
    return 0


def _objects(build: Path, sources: tuple[str, ...]) -> list[str]:
    """The object files of our engine and of ggml's `sources`; a library as target would bring all of ggml."""
    targets = subprocess.check_output(["ninja", "-C", build, "-t", "targets", "all"], text=True)
    ours = re.findall(r"^(\S*CMakeFiles/da_\w+\.dir/\S+\.o):", targets, re.MULTILINE)
    theirs = [f"ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir/{source}.o" for source in sources]
    return ours + theirs


def _toolkit(folder: Path, nvcc: str) -> list[str]:
    """CMake's arguments for cuBLAS where the toolkit is without it: headers from the wheel, and a library that is never linked."""
    release = re.search(r"release (\d+)\.(\d+)", subprocess.check_output([nvcc, "--version"], text=True))
    if release is None:
        raise SystemExit(f"{nvcc} --version does not say its release.")
    include = folder / "cublas" / "include"
    if not (include / "cublas_v2.h").is_file():
        _fetch_headers(include, f"{release[1]}.{release[2]}")
    library = folder / "cublas" / "libcublas.so"
    library.touch()
    names = ("cublas", "cublasLt", "cuda_driver")
    return [
        f"-DCMAKE_CUDA_FLAGS=-isystem {include}",
        f"-DCMAKE_CXX_FLAGS=-isystem {include}",
        *(f"-DCUDA_{name}_LIBRARY={library}" for name in names),
    ]


def _fetch_headers(include: Path, release: str) -> None:
    print(f"Fetching the headers of cuBLAS {release} (a download of 400 MB) ...", flush=True)
    with tempfile.TemporaryDirectory() as work:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, f"nvidia-cublas=={release}.*")
        include.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(next(Path(work).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if "/include/" in name and name.endswith((".h", ".hpp")):
                    (include / Path(name).name).write_bytes(wheel.read(name))


def _cross(preset: str) -> list[str]:
    """On another machine than the preset's: the cross compiler, also as nvcc's host compiler."""
    if not preset.startswith("l4t") or os.uname().machine == "aarch64":
        return []
    return [
        f"-DCMAKE_TOOLCHAIN_FILE={NATIVE / 'cmake' / 'toolchains' / 'aarch64-linux-gnu.cmake'}",
        "-DCMAKE_CUDA_HOST_COMPILER=aarch64-linux-gnu-g++",
    ]


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-8000:]}\n{' '.join(map(str, command))} failed with exit code {done.returncode}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
