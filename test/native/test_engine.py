"""The Python face of the engine: what it takes, what it refuses and how."""

import threading
import time

import numpy as np
import pytest
from toy_model import any_view_model, metric_model, mono_model

from depth_anything_ros import (
    CancelledError,
    DepthAnythingError,
    DepthKind,
    DeviceError,
    Engine,
    EngineOptions,
    InputError,
    Intrinsics,
    KnownCamera,
    ModelError,
    OptionError,
    Wanted,
)

pytestmark = pytest.mark.native

PICTURE = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def engine(models):
    with Engine.load(any_view_model(models), threads=1, resolution=112) as loaded:
        yield loaded


def refusal(kind, code, action):
    with pytest.raises(kind) as caught:
        action()
    assert isinstance(caught.value, DepthAnythingError) and caught.value.code == code
    return str(caught.value)


def test_prediction_of_an_any_view_model(engine):
    prediction = engine.infer(PICTURE)
    assert prediction.kind is DepthKind.RELATIVE_DEPTH
    assert prediction.depth.dtype == np.float32 and prediction.depth.shape == (84, 112) == prediction.confidence.shape
    assert (prediction.width, prediction.height) == engine.processed_size(120, 90) == (112, 84)
    assert (prediction.depth > 0).all() and (prediction.confidence >= 1).all() and prediction.sky is None
    assert (prediction.intrinsics.width, prediction.intrinsics.height) == (112, 84)
    rotation = prediction.extrinsics[:, :3]
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-5) and np.isclose(np.linalg.det(rotation), 1, atol=1e-5)
    assert prediction.timings.compute > 0


def test_only_what_is_wanted_is_given(engine):
    bare = engine.infer(PICTURE, wanted=Wanted(confidence=False, sky=False, pose=False))
    assert bare.confidence is None and bare.intrinsics is None and bare.extrinsics is None
    assert np.array_equal(bare.depth, engine.infer(PICTURE).depth)


def test_mono_model_gives_sky_and_no_camera(models):
    with Engine.load(mono_model(models), threads=1, resolution=112) as mono:
        prediction = mono.infer(PICTURE)
    assert prediction.sky.shape == prediction.depth.shape and (prediction.sky >= 0).all()
    assert prediction.confidence is None and prediction.intrinsics is None


@pytest.mark.case(27)
def test_metres_are_proportional_to_the_focal_length(models, engine):
    def depth(loaded, focal):
        return loaded.infer(PICTURE, intrinsics=Intrinsics(120, 90, focal, focal, 60, 45))

    with Engine.load(metric_model(models), threads=1, resolution=112) as metric:
        assert metric.info.needs_focal and metric.infer(PICTURE).kind is DepthKind.RELATIVE_DEPTH
        near, far = depth(metric, 300.0), depth(metric, 900.0)
        assert near.kind is far.kind is DepthKind.METRIC
        assert np.allclose(far.depth, 3 * near.depth, rtol=1e-6)
        assert "positive" in refusal(InputError, "input.intrinsics", lambda: depth(metric, 0.0))
    assert np.array_equal(depth(engine, 300.0).depth, depth(engine, 900.0).depth)


def test_intrinsics_of_another_size_are_refused(models):
    half = Intrinsics(60, 45, 150.0, 150.0, 29.5, 22.0)
    with Engine.load(metric_model(models), threads=1, resolution=112) as metric:
        for pictures in ([PICTURE], [PICTURE[:45, :60], PICTURE]):
            text = refusal(InputError, "input.intrinsics", lambda pictures=pictures: metric.infer_views(pictures, intrinsics=half))
            assert "60x45" in text and "120x90" in text
        assert metric.infer(PICTURE[:45, :60], intrinsics=half).kind is DepthKind.METRIC
        known = KnownCamera(half, np.eye(3, 4))
        assert "60x45" in refusal(InputError, "input.intrinsics", lambda: metric.infer(PICTURE, cameras=[known]))


@pytest.mark.parametrize("size", [(0, 90), (120, -1), (1 << 20, 90)])
def test_sizes_that_no_picture_has(engine, size):
    assert f"{size[0]}x{size[1]}" in refusal(InputError, "input.shape", lambda: engine.processed_size(*size))


def test_a_closed_engine_says_so(models):
    path = any_view_model(models)
    with Engine.load(path, threads=1) as loaded:
        loaded.close()
        loaded.cancel()
        assert str(path) in refusal(OptionError, "option.closed", lambda: loaded.infer(PICTURE))
        refusal(OptionError, "option.closed", lambda: loaded.processed_size(4, 3))
        assert loaded.info.has_pose


def test_pictures_that_are_refused(engine):
    def message(code, picture):
        return refusal(InputError, code, lambda: engine.infer(picture))

    assert "NoneType" in message("input.shape", None)  # what cv2.imread gives for a file that is not there
    assert "list" in message("input.shape", PICTURE.tolist())
    assert "float32" in message("input.shape", PICTURE.astype(np.float32))
    assert "[90, 120]" in message("input.shape", PICTURE[:, :, 0])
    assert "[90, 120, 4]" in message("input.shape", np.zeros((90, 120, 4), np.uint8))
    assert "no pixels" in message("input.shape", PICTURE[:0])
    assert "ascontiguousarray" in message("input.stride", PICTURE[:, ::2])
    assert "ascontiguousarray" in message("input.stride", PICTURE[::-1])
    assert "ascontiguousarray" in message("input.stride", PICTURE[:, :, ::-1])
    assert engine.infer(PICTURE).depth.shape == (84, 112)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_seeds_that_are_refused(engine, seed):
    assert f"seed is {seed!r}" in refusal(OptionError, "option.range", lambda: engine.infer(PICTURE, seed=seed))


def test_views_may_come_one_by_one(engine):
    assert len(engine.infer_views(picture for picture in (PICTURE, PICTURE))) == 2


def test_options_that_are_refused(models):
    path = any_view_model(models)
    assert "thread" in refusal(OptionError, "option.unknown", lambda: Engine.load(path, treads=2))
    refusal(OptionError, "option.range", lambda: Engine.load(path, threads=-1))
    refusal(OptionError, "option.range", lambda: Engine.load(path, resolution=1_000_000))
    wrong = {"threads": 10**12, "resolution": "504", "cached_sizes": 1.5, "memory_limit": -1, "device": None, "instruction_set": 2,
             "exact": "no"}  # fmt: skip
    for name, value in wrong.items():
        text = refusal(OptionError, "option.range", lambda name=name, value=value: Engine.load(path, **{name: value}))
        assert text.startswith(f"{name} is {value!r}")
    assert "from 0 to" in refusal(OptionError, "option.range", lambda: Engine.load(path, memory_limit=-1))
    refusal(DeviceError, "device.unavailable", lambda: Engine.load(path, device="cuda"))
    assert "memory_limit" in refusal(DeviceError, "device.memory", lambda: Engine.load(path, EngineOptions(memory_limit=1000)))


@pytest.mark.case(69)
def test_files_that_are_no_models(tmp_path):
    refusal(ModelError, "model.missing", lambda: Engine.load(tmp_path / "none.gguf"))
    assert "folder" in refusal(ModelError, "model.format", lambda: Engine.load(tmp_path))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 64)
    assert str(broken) in refusal(ModelError, "model.format", lambda: Engine.load(broken))


@pytest.mark.case(70)
@pytest.mark.parametrize(
    "name", ["with space.gguf", "מודל.gguf", "модель.gguf", "🤖.gguf", "quo'te\".gguf", "a" * 245 + ".gguf", "trailing .gguf "]
)
def test_paths_in_any_script(models, tmp_path, name):
    path = tmp_path / name
    path.symlink_to(any_view_model(models))
    with Engine.load(path, threads=1) as loaded:
        assert loaded.info.path == str(path)


@pytest.mark.case(68)
def test_text_in_a_file_need_not_be_utf8(models, tmp_path):
    data = any_view_model(models).read_bytes()
    assert data.count(b"seeded-any-view") == 1
    path = tmp_path / "bytes.gguf"
    path.write_bytes(data.replace(b"seeded-any-view", b"seeded-\xff\xfe\xfd-view"))
    with Engine.load(path, threads=1) as loaded:
        assert loaded.info.checkpoint == "seeded-\ufffd\ufffd\ufffd-view"


def test_cancel_raises_in_the_running_call_and_the_next_one_works(models):
    with Engine.load(any_view_model(models), threads=1, resolution=1400) as loaded:
        caught = []

        def run():
            try:
                loaded.infer(np.zeros((1400, 1400, 3), np.uint8))
            except CancelledError as error:
                caught.append(error.code)

        thread = threading.Thread(target=run)
        thread.start()
        deadline = time.monotonic() + 30
        while thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.2)
            loaded.cancel()
        thread.join(1)
        assert caught == ["engine.cancelled"]
        loaded.cancel()  # without a running call it does nothing
        assert loaded.infer(PICTURE[:28, :28]).depth.shape == (1400, 1400)


def test_instruction_set_is_told_and_can_be_chosen(models, engine):
    assert engine.info.instruction_set in (
        "avx512_amx",
        "avx512_vnni",
        "avx512",
        "avx2_vnni",
        "avx2",
        "sse42",
        "neon_i8mm",
        "neon_dotprod",
        "neon",
    )
    path = any_view_model(models)
    with Engine.load(path, threads=1, resolution=112, instruction_set=engine.info.instruction_set) as same:
        assert np.array_equal(same.infer(PICTURE).depth, engine.infer(PICTURE).depth)
    text = refusal(DeviceError, "device.unavailable", lambda: Engine.load(path, instruction_set="mmx"))
    assert "mmx" in text and engine.info.instruction_set in text
