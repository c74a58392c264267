#!/usr/bin/env python3
"""The tests with other Pythons and library versions: ``legs.py [NAME...]``, all by default.

Each leg has an environment of its own in .local/legs and a copy of the working tree with an extension of its own. A leg without ROS runs
the tests that need none. What a machine does not have is named at the end, as not run. Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OF_THIS_ENVIRONMENT = ("LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
"""Set by the wheels of ROS when Python starts, for the libraries of one environment; another one sets its own."""
WITHOUT_ROS = ("test/unit", "test/native", "test/convert", "test/models")


@dataclass(frozen=True)
class Leg:
    python: str
    pins: tuple[str, ...] = ()
    ros: bool = True


LEGS = {
    "python-3.11": Leg("3.11"),
    "python-3.12": Leg("3.12"),
    "python-3.13": Leg("3.13"),
    "python-3.14": Leg("3.14"),
    "ubuntu-24.04": Leg("3.12", ("numpy==1.26.4", "opencv-python-headless==4.6.0.66")),
    "ubuntu-22.04": Leg("3.10", ("numpy==1.21.6", "opencv-python-headless==4.5.4.60"), ros=False),
}


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in LEGS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; the legs are {', '.join(LEGS)}", file=sys.stderr)
        return 2
    outcome = {name: _run_leg(name, LEGS[name]) for name in arguments or LEGS}
    for name, result in outcome.items():
        print(f"{name}: {result}")
    return int(any(result.startswith("failed") for result in outcome.values()))


def _run_leg(name: str, leg: Leg) -> str:
    python = shutil.which(f"python{leg.python}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode != 0:
        return f"not run, there is no python{leg.python} here"
    folder = ROOT / ".local" / "legs" / name
    environment, copy = folder / "venv", folder / "copy"
    print(f"== {name}", flush=True)
    _copy_tree(copy)
    variables = {name: value for name, value in os.environ.items() if name not in OF_THIS_ENVIRONMENT}
    variables["PATH"] = f"{environment / 'bin'}:{os.environ['PATH']}"
    constraints = folder / "pins.txt"
    constraints.write_text("\n".join(leg.pins))
    variables["PIP_CONSTRAINT"] = str(constraints)
    groups = ["run", *(["ros"] if leg.ros else []), "build", "test", "demo"]
    steps = [
        [python, "tools/environment.py", str(environment), *groups],
        ["python", "setup.py", "-q", "develop", "--no-deps"],  # with the executables, which the demo starts
        ["python", "-m", "pytest", "-q", "-m", "not slow and not parity", *([] if leg.ros else WITHOUT_ROS)],
    ]
    variables["CMAKE_ARGS"] = f"'-Dggml_DIR={ROOT / '.local' / 'ggml' / 'lib' / 'cmake' / 'ggml'}'"
    for step in steps:
        if subprocess.run(step, cwd=copy, env=variables).returncode != 0:
            return f"failed at {' '.join(step[:4])}"
    return "passed"


def _copy_tree(copy: Path) -> None:
    """The working tree as git sees it, ignored files left out."""
    shutil.rmtree(copy, ignore_errors=True)
    names = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
