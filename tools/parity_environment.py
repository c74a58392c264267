#!/usr/bin/env python3
"""Make the environment with PyTorch (CPU build) and the official packages: ``parity_environment.py FOLDER``. What is there is kept."""

import subprocess
import sys
from pathlib import Path

import environment

OFFICIAL = {"depth-anything-3": "0.1.1", "jkp-depth-anything-v2": "0.1.1", "evo": "1.38.1"}
"""Installed without what they ask for: most of it serves viewers, and evo (alignment of poses) is used in one function."""


def main(arguments):
    if len(arguments) != 1:
        print("usage: parity_environment.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0]).absolute()
    environment.main([str(folder), "parity"])
    python = str(folder / "bin" / "python")
    for name, version in OFFICIAL.items():
        wanted = f"from importlib.metadata import version; assert version('{name}') == '{version}'"
        if subprocess.run([python, "-c", wanted], stderr=subprocess.DEVNULL).returncode != 0:
            print(f"Installing {name} {version} ...", flush=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", f"{name}=={version}"]
            subprocess.run(install, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
