"""The Python face of the engine at its edges: odd views, other threads, other processes, no memory."""

import subprocess
import sys
import threading
import time

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


def test_asking_for_parts_lets_other_threads_run(models):
    """It waits for the inference that is running."""
    with Engine.load(any_view_model(models), threads=1, resolution=700) as loaded:
        loaded.warm_up(700, 700)
        running = threading.Thread(target=lambda: loaded.infer(np.zeros((700, 700, 3), np.uint8)))
        running.start()
        time.sleep(0.02)
        asking = threading.Thread(target=loaded.parts)
        asking.start()
        longest, last = 0.0, time.perf_counter()
        start = last
        while asking.is_alive():
            time.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        waited = last - start
        running.join()
    assert waited > 0.1 and longest < waited / 2, f"a pause of {longest:.3f} s while parts waited {waited:.3f} s"


def interpreter_was_free(action):
    """Whether a thread that waits for the interpreter got it during `action`: nothing else gives it away in this time."""
    gate, ran, usual = threading.Lock(), [], sys.getswitchinterval()
    gate.acquire()
    waiting = threading.Thread(target=lambda: (gate.acquire(), ran.append(True)))
    waiting.start()
    sys.setswitchinterval(1000.0)
    try:
        gate.release()
        action()
        return bool(ran)
    finally:
        sys.setswitchinterval(usual)
        waiting.join()


def test_closing_lets_other_threads_run(models):
    """Not each time: the other thread may be late."""
    path = any_view_model(models)
    assert any(interpreter_was_free(Engine.load(path, threads=64).close) for _ in range(50))


def test_preprocessing_lets_other_threads_run():
    assert any(interpreter_was_free(lambda: _native.preprocess(np.zeros((1000, 1500, 3), np.uint8), False, 504, 14)) for _ in range(50))


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
