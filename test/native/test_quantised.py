"""Quantised files: what they compute, in integers and in floats, against files of the weights that they stand for."""

import gguf
import numpy as np
import pytest
from gguf_decoder import decoded

from depth_anything_ros import Engine
from depth_anything_ros.convert import gguf_file
from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType
from depth_anything_ros.convert.output import Content, write_files
from depth_anything_ros.convert.quantize import quantize
from depth_anything_ros.convert.seeded import SEEDED_ANY_VIEW, SEEDED_SWIGLU, write_seeded

pytestmark = pytest.mark.native


def depth(path, photo, **options):
    with Engine.load(path, resolution=112, **{"threads": 1, **options}) as engine:
        return engine.infer(photo).depth.astype(np.float64)


def mean_error(found, expected):
    return np.mean(np.abs(found / expected - 1))


def write_decoded(quantised, path):
    """An f32 file of the weights that a quantised one stands for, as the `gguf` package reads them."""
    model = gguf_file.read(quantised)
    arrays = [decoded(tensor) for tensor in gguf.GGUFReader(quantised).tensors]
    infos = [TensorInfo(info.name, info.extents, TensorType.F32) for info in model.infos]
    write_files([Content(path, model.items, infos, arrays)])


@pytest.fixture(scope="module", params=["q8_0", "q4_k"])
def files(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    names = [folder / f"{name}.gguf" for name in ("f32", "quantised", "decoded")]
    write_seeded(names[0], SEEDED_ANY_VIEW)
    quantize(names[0], names[1], request.param)
    write_decoded(names[1], names[2])
    return names


def test_exact_is_the_network_of_the_decoded_weights(files, photo):
    _, quantised, decoded = files
    assert np.allclose(depth(quantised, photo, exact=True), depth(decoded, photo), rtol=1e-5, atol=0)


def test_integers_add_less_than_the_weights_lost(files, photo):
    plain, quantised, decoded = files
    expected, of_weights, found = depth(plain, photo), depth(decoded, photo), depth(quantised, photo)
    assert 1e-6 < mean_error(found, of_weights) < 8e-3  # the lower bound: they were computed in integers, with AMX of 16 bits
    assert mean_error(found, expected) < mean_error(of_weights, expected) + 8e-3


def test_the_same_bits_with_any_number_of_threads(files, photo):
    one = depth(files[1], photo)
    for threads in (2, 3, 7):
        assert np.array_equal(depth(files[1], photo, threads=threads), one)


def test_operations_are_counted_once(files, photo):
    """A layer has a node that gives floats and one that gives integers, of which mostly one alone is computed."""

    def operations(model):
        with Engine.load(model, resolution=112) as engine:
            engine.infer(photo)
            return {part.name: part.operations for part in engine.parts() if part.operations}

    assert operations(files[1]) == operations(files[0])


def test_gated_blocks(tmp_path, photo):
    write_seeded(tmp_path / "f32.gguf", SEEDED_SWIGLU)
    quantize(tmp_path / "f32.gguf", tmp_path / "q8_0.gguf", "q8_0")
    expected, found = depth(tmp_path / "f32.gguf", photo), depth(tmp_path / "q8_0.gguf", photo)
    assert 1e-5 < mean_error(found, expected) < 1e-2


def test_an_f32_file_is_computed_to_the_precision_of_floats(files, photo):
    """With AMX in whole numbers of 24 bits, else in floats anyway."""
    assert np.allclose(depth(files[0], photo, exact=True), depth(files[0], photo), rtol=1e-5, atol=0)


def test_exact_changes_nothing_in_an_f32_file_without_amx(files, photo):
    with Engine.load(files[0], resolution=112) as engine:
        chosen = engine.info.instruction_set.replace("amx", "vnni")
    found = [depth(files[0], photo, exact=exact, instruction_set=chosen) for exact in (True, False)]
    assert np.array_equal(*found)
