"""Resident memory of loading and running: weights are there once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.quantize import quantize
from depth_anything_ros.convert.seeded import write_seeded

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[2]
LOAD_AND_RUN = """
import sys
import numpy as np
from depth_anything_ros import Engine
def megabytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024
path, width, height, threads = sys.argv[1], *map(int, sys.argv[2:])
open("/proc/self/clear_refs", "w").write("5")
before = megabytes("VmRSS")
with Engine.load(path, threads=threads, resolution=max(width, height)) as engine:
    loaded = megabytes("VmHWM")
    engine.infer(np.zeros((height, width, 3), np.uint8))
print(before, loaded, megabytes("VmHWM"))
"""
MAPPED = """
import re, sys
import numpy as np
from depth_anything_ros import Engine
path = sys.argv[1]
with Engine.load(path, threads=1, resolution=112) as engine:
    engine.infer(np.zeros((84, 112, 3), np.uint8))
    mappings = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read())
print(sum(int(re.search(r"Rss: +(\\d+)", mapping)[1]) for mapping in mappings if mapping.split("\\n")[0].endswith(path)) / 1024)
"""
THE_PORT = {"f32": 614.0, "q8_0": 362.0}
"""Megabytes of the existing C++ port for BASE at 504 x 336."""


def measured(path: Path, width: int, height: int, threads: int) -> tuple[float, float, float]:
    """Megabytes before loading, at most while loading, at most until the end."""
    command = [sys.executable, "-c", LOAD_AND_RUN, str(path), *map(str, (width, height, threads))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=True)
    before, loaded, peak = map(float, done.stdout.split())
    return before, loaded, peak


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "f32.gguf"
    write_seeded(path, OFFICIAL_MODELS["da3-small"])
    return path


@pytest.mark.parametrize("type_name", ["f32", "q8_0"])
def test_weights_are_in_memory_once(small: Path, tmp_path: Path, type_name: str) -> None:
    path = small
    if type_name != "f32":
        path = tmp_path / f"{type_name}.gguf"
        quantize(small, path, type_name)
    size = path.stat().st_size / 2**20
    before, loaded, peak = measured(path, 112, 84, 1)
    print(f"{type_name}: file {size:.0f} MB, loading {loaded - before:.0f} MB, with a small picture {peak - before:.0f} MB")
    # The head's convolutions, 12 MB, are packed from the file's, whose pages are let go; buffers of a small picture take a few more.
    assert 0.05 * size < loaded - before < 1.1 * size + 16
    assert 0.6 * size < peak - before < 1.1 * size + 40


def test_packed_weights_stay_out_of_memory(small: Path) -> None:
    """Also where the system has the file in large pieces, as after reading it from a disk from front to back."""
    with small.open("rb") as file:
        os.sync()
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(2**24):
            pass
    done = subprocess.run([sys.executable, "-c", MAPPED, str(small)], cwd=ROOT, capture_output=True, text=True, timeout=280, check=True)
    print(f"{float(done.stdout):.1f} MB of the file")
    # What is used as it is: position embedding, patch embedding, the head's projections, and the camera decoder, 10 MB; of 100.
    assert 1.0 < float(done.stdout) < 16.0


@pytest.mark.slow
@pytest.mark.parametrize("type_name", THE_PORT)
def test_less_than_the_existing_port(tmp_path: Path, type_name: str) -> None:
    path = tmp_path / "f32.gguf"
    write_seeded(path, OFFICIAL_MODELS["da3-base"])
    if type_name != "f32":
        quantize(path, path.with_name("small.gguf"), type_name)
        path = path.with_name("small.gguf")
    _, _, peak = measured(path, 504, 336, 2)
    print(f"BASE {type_name} 504x336: {peak:.0f} MB, Python and NumPy included")
    assert peak < THE_PORT[type_name]
