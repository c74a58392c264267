#!/usr/bin/env python3
"""Make a virtual environment and keep it up to date: ``environment.py FOLDER GROUP...``, a group being requirements/GROUP.txt.

A group is installed when its file changed since the last time (or when it was interrupted then); otherwise nothing happens. Where ROS 2 is
sourced, the environment sees ROS's own Python packages, the group `ros` is left out, and NumPy keeps the version ROS was built against.
Standard library only; runs on any Python 3 to be able to say that it is too old.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = (3, 10), (3, 14)
ROOT = Path(__file__).resolve().parent.parent


def main(arguments):
    if len(arguments) < 2:
        print("usage: environment.py FOLDER GROUP...", file=sys.stderr)
        return 2
    folder, groups = Path(arguments[0]).absolute(), arguments[1:]
    sourced = _ros_is_sourced()
    constraints = _create(folder, sourced)
    for group in groups:
        if not (sourced and group == "ros"):
            _install(folder, group, constraints)
    if "ros" in groups and not _succeeds(folder / "bin" / "python", "import rclpy"):
        raise SystemExit(f"rclpy cannot be imported in {folder}. With ROS sourced, use ROS's own python3; otherwise remove the folder.")
    return 0


def _ros_is_sourced():
    return bool(os.environ.get("AMENT_PREFIX_PATH")) and _succeeds(sys.executable, "import rclpy")


def _create(folder, sourced):
    """Make the environment if it is not there; returns pip's arguments that hold for every group."""
    done, constraints = folder / ".created", folder / "constraints.txt"
    if not done.exists():
        python = sys.executable if sourced else _supported_python()
        print(f"Creating {os.path.relpath(folder)} with {python} ...", flush=True)
        options = ["--system-site-packages"] if sourced else []
        _run([python, "-m", "venv", *options, str(folder)], "Python's venv module failed; on Debian and Ubuntu: apt install python3-venv.")
        constraints.write_text(_numpy_pin(python) if sourced else "")
        done.touch()
    return ["--constraint", str(constraints)]


def _supported_python():
    names = [sys.executable, *(f"python3.{minor}" for minor in (12, 11, 13, 10, 14))]
    for python in filter(None, map(shutil.which, names)):
        if _succeeds(python, f"import sys; sys.exit(not {OLDEST} <= sys.version_info[:2] <= {NEWEST})"):
            return python
    raise SystemExit(f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed; found only {sys.version.split()[0]}. Give one: make PYTHON=...")


def _numpy_pin(python):
    """ROS's message packages are compiled against this NumPy; another major version makes them crash."""
    return "numpy==" + subprocess.check_output([python, "-c", "import numpy; print(numpy.__version__)"], text=True)


def _install(folder, group, constraints):
    requirements, stamp = ROOT / "requirements" / f"{group}.txt", folder / f".installed-{group}"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"Installing requirements/{group}.txt ...", flush=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *constraints]
    _run([*pip, "-r", str(requirements)], f"pip could not install requirements/{group}.txt.")
    stamp.write_text(digest)


def _run(command, failure):
    """Run quietly; show all of the output when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\n{failure}")


def _succeeds(python, code):
    return subprocess.run([str(python), "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
