"""Runs every fuzz target for so many seconds, one after the other: run_all.py BUILD SECONDS (`make fuzz`). Stops at a finding.

BUILD: folder of the C++ targets; inputs that reach something new are kept in BUILD/corpus, and a finding lies in BUILD.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import targets

ROOT = Path(__file__).parents[2]
NATIVE = {"read_gguf": Path("native/test/seeds/gguf"), "load_model": Path("native/test/seeds/model")}
# Nothing in the seeds needs a tenth of it.
LIMITS = ["-malloc_limit_mb=100", "-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=1"]


def main(build: Path, seconds: int) -> int:
    for name, seeds in NATIVE.items():
        _run(build, name, [str(build / "test" / f"fuzz_{name}"), str(_corpus(build, name)), str(seeds)], seconds)
    for name in targets.TARGETS:
        words = [f"-dict={ROOT / 'test/fuzz/safetensors.dict'}"] if name.startswith("safetensors") else []
        _run(build, name, [sys.executable, "test/fuzz/fuzz.py", name, str(_corpus(build, name)), *words], seconds)
    return 0


def _corpus(build: Path, name: str) -> Path:
    folder = build / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(build: Path, name: str, command: list[str], seconds: int) -> None:
    print(f"{name}: {seconds} s ...", end=" ", flush=True)
    line = [*command, f"-max_total_time={seconds}", f"-artifact_prefix={build}/", *LIMITS]
    done = subprocess.run(line, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[-4000:])
        raise SystemExit(f"{name}: a finding; the input lies in {build}")
    inputs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    print(f"{inputs.group(1) if inputs else 'no'} inputs, no finding", flush=True)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).resolve(), int(sys.argv[2])))
