#!/usr/bin/env python3
"""Build ggml once and install it, so that later builds of native/ only link it: ``build_ggml.py PREFIX [--preset NAME] [-D...]``.

Static libraries with the flags of native/cmake/ggml_options.cmake, tuned for this machine or as a preset of native/CMakePresets.json says.
Use it with ``-Dggml_DIR=PREFIX/lib/cmake/ggml``. Can be run again: does nothing when PREFIX is complete and was built with the same
arguments.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
FOLDER = NATIVE / "cmake"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print("usage: build_ggml.py PREFIX [--preset NAME] [CMake arguments]", file=sys.stderr)
        return 2
    prefix, extra = Path(arguments[0]).resolve(), arguments[1:]
    if extra[:1] == ["--preset"]:
        extra = [*preset_arguments(extra[1]), *extra[2:]]
    stamp, wanted = prefix / ".built", _fingerprint(extra)
    if stamp.is_file() and stamp.read_text() == wanted:
        return 0
    print("Building ggml once (one to three minutes) ...", flush=True)
    stamp.unlink(missing_ok=True)  # what is there is no longer whole until the end
    source = subprocess.run([sys.executable, FOLDER / "fetch_ggml.py", prefix / "source"], stdout=subprocess.PIPE, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=prefix) as build:
        _cmake("-C", FOLDER / "ggml_options.cmake", "-S", source.stdout.strip(), "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}",
               "-DCMAKE_INSTALL_LIBDIR=lib", *extra)  # fmt: skip
        _cmake("--build", build, "--parallel", str(len(os.sched_getaffinity(0))))
        _cmake("--install", build)
    shutil.rmtree(prefix / "source")
    stamp.write_text(wanted)
    return 0


def preset_arguments(name: str) -> list[str]:
    """CMake's arguments for ggml alone of a preset and of all that it inherits."""
    presets = {preset["name"]: preset for preset in json.loads((NATIVE / "CMakePresets.json").read_text())["configurePresets"]}
    variables: dict[str, str] = {}
    while name:
        preset = presets[name]
        variables = {**preset.get("cacheVariables", {}), **variables}
        if "toolchainFile" in preset:
            variables.setdefault("CMAKE_TOOLCHAIN_FILE", preset["toolchainFile"].replace("${sourceDir}", str(NATIVE)))
        name = preset.get("inherits", "")
    return [f"-D{key}={value}" for key, value in sorted(variables.items()) if not key.startswith("DA_")]


def _fingerprint(extra: list[str]) -> str:
    files = [FOLDER / "ggml_options.cmake", FOLDER / "fetch_ggml.py"]
    return hashlib.sha256(b"\0".join([*(f.read_bytes() for f in files), *(e.encode() for e in extra)])).hexdigest()


def _cmake(*arguments: str | Path) -> None:
    """Run cmake; its output is shown only when it fails."""
    done = subprocess.run(["cmake", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\ncmake {' '.join(map(str, arguments))} failed with exit code {done.returncode}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
