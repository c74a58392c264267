#!/usr/bin/env python3
"""A Python for 64-bit Arm to run under qemu on a Debian machine: ``arm64_python.py FOLDER WHEEL``; prints the command that starts it.

Takes Debian's python3.11 with its libraries by apt (as a foreign architecture in FOLDER, the machine is not changed) and installs WHEEL, an
aarch64 one for that Python, with what it depends on beside it. Standard library only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

DEBIAN_PYTHON = "3.11"
PACKAGES = (f"python{DEBIAN_PYTHON}", "libstdc++6")  # the wheels of NumPy and OpenCV want the latter


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: arm64_python.py FOLDER WHEEL", file=sys.stderr)
        return 2
    folder, wheel = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    root, packages = folder / "root", folder / "packages"
    if not root.is_dir():
        _unpack(_download(folder / "apt"), root)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", packages]
    platforms = [argument for minor in (36, 28, 27, 17) for argument in ("--platform", f"manylinux_2_{minor}_aarch64")]
    _run(*pip, "--only-binary=:all:", "--python-version", DEBIAN_PYTHON, "--platform", "manylinux2014_aarch64", *platforms, wheel)
    python = root / "usr" / "bin" / f"python{DEBIAN_PYTHON}"
    print(f"qemu-aarch64 -L {root} -E PYTHONPATH={packages} {python}")
    return 0


def _download(state: Path) -> list[Path]:
    """Debian's packages and all that they depend on, for arm64; apt keeps its state in `state`."""
    for name in ("lists/partial", "cache/archives/partial", "state"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    places = {"State": "state", "State::lists": "lists", "State::status": "status", "Cache": "cache"}
    options = [f"-oDir::{key}={state / value}" for key, value in places.items()]
    options += ["-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64", "-oAPT::Sandbox::User="]
    _run("apt-get", *options, "update")
    _run("apt-get", *options, "install", "--yes", "--no-install-recommends", "--download-only", *PACKAGES)
    return sorted((state / "cache" / "archives").glob("*.deb"))


def _unpack(archives: list[Path], root: Path) -> None:
    """Under another name first, so that an interrupted run leaves no half a root."""
    partial = root.with_name("unpacking")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for archive in archives:
        _run("dpkg-deb", "-x", archive, partial)
    partial.rename(root)


def _run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-4000:]}\n{command[0]} failed with exit code {done.returncode}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
