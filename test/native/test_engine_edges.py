"""The Python face of the engine at its edges: odd views, other processes, no memory."""

import subprocess
import sys

import numpy as np
import pytest
from toy_model import any_view_model, v2_model

from depth_anything_ros import Engine, OptionError, _native

pytestmark = pytest.mark.native

PICTURE = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def engine(models):
    with Engine.load(any_view_model(models), threads=1, resolution=56) as loaded:
        yield loaded


@pytest.mark.parametrize(
    "view",
    [PICTURE[::-1][:1], PICTURE[:, ::-1][:, :1], PICTURE[::-1, ::-1][:1, :1], PICTURE[::2][:1], PICTURE[:, ::3][:1, :1]],
    ids=["last row", "last column", "last pixel", "first row of every second", "first pixel of every third"],
)
def test_an_axis_of_length_one_may_have_any_stride(engine, view):
    """NumPy takes most of these for contiguous: its own ascontiguousarray gives them back as they are."""
    assert np.array_equal(engine.infer(np.ascontiguousarray(view)).depth, engine.infer(view.copy()).depth)
    if view.flags.c_contiguous:
        assert np.array_equal(engine.infer(view).depth, engine.infer(view.copy()).depth)


def test_a_patch_of_nothing_is_refused():
    with pytest.raises(OptionError, match="patch"):
        _native.preprocess(PICTURE, False, 504, 0)


FORK = """
import os, sys, time
import numpy as np
from depth_anything_ros import Engine

picture = np.zeros((90, 120, 3), np.uint8)
engine = Engine.load(sys.argv[1], threads=3, resolution=112)
expected = engine.infer(picture).depth
time.sleep(0.05)
child = os.fork()
if child == 0:
    same = np.array_equal(engine.infer(picture).depth, expected)
    engine.close()
    os._exit(0 if same else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(engine.infer(picture).depth, expected)
"""


def test_a_forked_process_can_use_the_engine_and_close_it(models):
    done = subprocess.run([sys.executable, "-c", FORK, str(any_view_model(models))], timeout=100, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


TABLES = """
import resource, sys
import numpy as np
from depth_anything_ros import DeviceError, Engine

engine = Engine.load(sys.argv[1], threads=1, resolution=4088, memory_limit=20_000_000)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (24 << 20),) * 2)
try:
    engine.infer(np.zeros((64, 64, 3), np.uint8))
except DeviceError as error:
    assert "memory_limit" in str(error), error
else:
    raise SystemExit("no error")
"""


def test_what_will_not_fit_is_refused_before_its_tables_are_made(models):
    """Position tables of 85,000 patches: 44 MB of this small network, and gigabytes of a large one with many views."""
    done = subprocess.run([sys.executable, "-c", TABLES, str(any_view_model(models))], timeout=100, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


NO_MEMORY = """
import resource, sys
import numpy as np
from depth_anything_ros import DeviceError, Engine

engine = Engine.load(sys.argv[1], threads=1, resolution=112)
small, large = np.zeros((256, 64, 3), np.uint8), np.zeros((16384, 4096, 3), np.uint8)
expected = engine.infer(small).depth
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (10 << 20),) * 2)
try:
    engine.infer(large)
except DeviceError as error:
    assert error.code == "device.memory", error.code
else:
    raise SystemExit("no error")
assert np.array_equal(engine.infer(small).depth, expected)
"""


def test_a_picture_without_memory_for_its_rows_is_one_of_our_errors(models):
    done = subprocess.run([sys.executable, "-c", NO_MEMORY, str(v2_model(models))], timeout=100, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
