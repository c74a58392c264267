"""The extension leaves the interpreter to other threads while it works: whatever takes longer than a moment gives it away."""

import os
import sys
import threading

import numpy as np
import pytest
from toy_model import any_view_model

from depth_anything_ros import Wanted, _native

pytestmark = pytest.mark.native

PICTURE = np.zeros((120, 160, 3), np.uint8)


@pytest.fixture
def engine(models):
    return _native.NativeEngine(os.fsencode(any_view_model(models)), _native.EngineOptions(threads=1, resolution=112))


def interpreter_was_free(action):
    """Whether a thread that waits for the interpreter got it during `action`: nothing but native code gives it away in this time."""
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


def sometimes_free(action, times=50):
    """Not each time: the other thread may be late."""
    return any(interpreter_was_free(action) for _ in range(times))


def test_the_measurement_knows_what_keeps_the_interpreter():
    assert not sometimes_free(lambda: sum(range(10_000)))


def test_loading(models):
    path, options = os.fsencode(any_view_model(models)), _native.EngineOptions(threads=1)
    assert sometimes_free(lambda: _native.NativeEngine(path, options))


def infer(engine):
    options = _native.InferOptions(focal=None, **vars(Wanted()), ray_pose=False, seed=0, fill_sky=True, stages=[], cameras=[])
    engine.infer_views([PICTURE], False, options)


def test_inference(engine):
    assert sometimes_free(lambda: infer(engine))


def test_preprocessing():
    picture = np.zeros((1000, 1500, 3), np.uint8)
    assert sometimes_free(lambda: _native.preprocess(picture, False, 504, 14))


def test_asking_for_parts_which_waits_for_a_running_inference(engine):
    ended = threading.Event()

    def work():
        while not ended.is_set():
            infer(engine)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert sometimes_free(engine.parts)
    finally:
        ended.set()
        thread.join()


def test_measuring_the_peak(engine):
    assert sometimes_free(engine.peak, 5)


def test_closing(models):
    """With the many threads that are to be ended."""
    path, options = os.fsencode(any_view_model(models)), _native.EngineOptions(threads=64)
    engines = [_native.NativeEngine(path, options)]

    def once():
        free = interpreter_was_free(engines.clear)
        engines.append(_native.NativeEngine(path, options))
        return free

    assert any(once() for _ in range(50))
