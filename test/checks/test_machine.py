"""What `doctor` finds, against what the system says by other ways."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from depth_anything_ros.checks import packages
from depth_anything_ros.checks.control_groups import ControlGroups
from depth_anything_ros.checks.packages import PACKAGES, Found, Package, find_package
from depth_anything_ros.checks.processor import this_processor
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.operations import operations, processed_size
from depth_anything_ros.convert.seeded import SEEDED_MONO, SEEDED_SWIGLU


def test_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {package.module: find_package(package) for package in PACKAGES if package.module in ("numpy", "cv2")}
    assert found["numpy"] == Found(np.__version__) and found["cv2"].version.startswith(cv2.__version__)
    assert find_package(Package("no_such_module", "nothing", "nowhere")) is None
    assert find_package(Package("no_such_package.module", "nothing", "nowhere")) is None
    (tmp_path / "half_there.py").write_text("raise ImportError('libhalf.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_package(Package("half_there", "nothing", "nowhere")) == Found(
        "yes", "ImportError: libhalf.so.1: cannot open shared object file"
    )


def test_every_import_of_the_package_is_known() -> None:
    found = set()
    for path in Path(packages.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    with_ros = {"tf2_ros", "cv_bridge", "std_srvs", "rcl_interfaces", *(name for name in found if name.endswith("_msgs"))}
    others = found - sys.stdlib_module_names - with_ros - {"depth_anything_ros", "compression"}  # compression is of Python 3.14
    assert {"cv2", "lz4", "matplotlib"} <= others
    assert [name for name in sorted(others) if not packages.how_to_get(name)] == []


def test_processor() -> None:
    processor = this_processor()
    listed = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    if "model name" in Path("/proc/cpuinfo").read_text():  # not on Arm
        assert re.search(r"^Model name:\s+(.+)$", listed, re.MULTILINE)[1].strip() == processor.name
    flags = re.search(r"^Flags:\s+(.+)$", listed, re.MULTILINE)[1].split()
    assert set(processor.features) <= set(flags) and ("avx2" in processor.features) == ("avx2" in flags)
    assert processor.allowed <= int(subprocess.check_output(["nproc"], text=True, env={"PATH": os.environ["PATH"]}))
    assert 0 < processor.memory < 1 << 45


def test_limits_of_a_container(tmp_path: Path) -> None:
    plain = this_processor(ControlGroups(tmp_path, tmp_path / "none"))
    assert plain.allowed == len(os.sched_getaffinity(0)) and plain.memory > 1 << 20
    for name, text in {"cpu.max": "50000 100000", "memory.max": "1048576", "memory.current": "1000"}.items():
        (tmp_path / name).write_text(text + "\n")
    limited = this_processor(ControlGroups(tmp_path, tmp_path / "none"))
    assert (limited.allowed, limited.memory, limited.cores) == (1, 1048576 - 1000, plain.cores)


@pytest.mark.parametrize(
    ("parameters", "counted", "not_counted"),
    [
        # Counted by PyTorch's FlopCounterMode in the official networks at 252 x 196. It does not see the fused attention of DA3 on a CPU,
        # which is 4 tokens^2 width for each block.
        (OFFICIAL_MODELS["da2-small"], 16.053138432e9, 0.0),
        (OFFICIAL_MODELS["da3-small"], 15.015831552e9, 12 * 4 * 253**2 * 384),
        (SEEDED_SWIGLU, 0.621948544e9, 8 * 4 * 253**2 * 64),
        (SEEDED_MONO, 0.999779328e9, 6 * 4 * 253**2 * 96),
    ],
    ids=["da2-small", "da3-small", "swiglu", "mono"],
)
def test_operations_are_those_that_pytorch_counts(parameters: object, counted: float, not_counted: float) -> None:
    assert operations(parameters, 252, 196) == pytest.approx(counted + not_counted, rel=1e-9)


@pytest.mark.parametrize(("name", "size"), [("da3-small", (504, 378)), ("da2-large", (686, 518)), ("da3metric-large", (504, 378))])
def test_size_of_a_camera_picture(name: str, size: tuple[int, int]) -> None:
    assert processed_size(OFFICIAL_MODELS[name], 640, 480) == size
    assert processed_size(replace(OFFICIAL_MODELS[name], resize_target=504), 504, 504) == (504, 504)
