"""Writes the seeds of the fuzz targets again: PYTHONPATH=.:test:test/convert python test/fuzz/make_seeds.py, from the repository root"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import numpy as np
import torch_zip
from safetensors.numpy import save
from toy_model import SMALLEST_ANY_VIEW

from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType, header, write
from depth_anything_ros.convert.hyper_parameters import HyperParameters, Identity, Size, depth_anything_v2, mono, with_rays
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.quantize import stored_type

NATIVE, PYTHON = Path("native/test/seeds"), Path("test/fuzz/seeds")
_SIZE = Size(32, 4, 2, (0, 1, 2, 3), 8, (4, 4, 8, 8), pos_embed_grid=5)
_IDENTITY = Identity("seed", "relative_depth", "CC0-1.0")
MODELS = {
    "any_view": (SMALLEST_ANY_VIEW, TensorType.F32),
    "any_view_q8_0": (SMALLEST_ANY_VIEW, TensorType.Q8_0),
    "gated_rays": (with_rays(replace(SMALLEST_ANY_VIEW, ffn_type="swiglu", mlp_hidden=64)), TensorType.F16),
    "mono": (mono(_SIZE, _IDENTITY), TensorType.F32),
    "v2": (depth_anything_v2(_SIZE, _IDENTITY, max_depth=20.0), TensorType.F32),
}


def main() -> None:
    for folder in (NATIVE / "gguf", NATIVE / "model", PYTHON / "gguf", PYTHON / "safetensors", PYTHON / "torch"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, (parameters, type_) in MODELS.items():
        (NATIVE / "model" / name).write_bytes(model_header(parameters, type_))
    _write_containers()
    for type_ in (TensorType.F32, TensorType.F16, TensorType.Q8_0):
        _write_own(PYTHON / "gguf" / type_.name.lower(), type_)
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b.weight": np.ones(4, np.float16), "c": np.array(3, np.float32)}
    (PYTHON / "safetensors" / "three").write_bytes(save(arrays))
    (PYTHON / "safetensors" / "text").write_bytes(save(arrays, {"format": "pt"}))
    (PYTHON / "safetensors" / "none").write_bytes(save({}))
    floats = {name: array.astype(np.float32) for name, array in arrays.items()}
    torch_zip.write(PYTHON / "torch" / "three", floats)
    torch_zip.write(PYTHON / "torch" / "one", {"a": floats["a"]})
    # What PyTorch itself writes is larger by its padding.
    (PYTHON / "torch" / "pytorch").write_bytes(Path("test/data/checkpoint.pth").read_bytes())


def model_header(parameters: HyperParameters, type_: TensorType) -> bytes:
    """A model file without its data."""
    specs = list(tensors(parameters))
    types = [stored_type(spec.extents[0], type_) if spec.narrow else TensorType.F32 for spec in specs]
    return header(metadata(parameters), [TensorInfo(spec.name, spec.extents, one) for spec, one in zip(specs, types)])


def _write_containers() -> None:
    """Small GGUF files by another writer: every type of value, arrays, an alignment of their own, no tensors at all."""
    with TemporaryDirectory() as folder:
        for name, alignment in (("values", 32), ("aligned", 64)):
            writer = gguf.GGUFWriter(Path(folder) / name, "depthanything3")
            writer.add_custom_alignment(alignment)
            for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
                getattr(writer, f"add_{kind}")(kind, 7)
            writer.add_float32("float32", 0.5)
            writer.add_float64("float64", 0.25)
            writer.add_bool("bool", True)
            writer.add_string("string", "text")
            for number, values in enumerate(([1, 2, 3], [0.5, 1.5], ["a", "bc"])):
                writer.add_array(f"array{number}", values)
            writer.add_tensor("f32", np.ones((2, 3), np.float32))
            writer.add_tensor("f16", np.ones(4, np.float16))
            writer.add_tensor("q8_0", np.zeros((2, 34), np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            (NATIVE / "gguf" / name).write_bytes((Path(folder) / name).read_bytes())
    (NATIVE / "gguf" / "nothing").write_bytes(header([], []))


def _write_own(path: Path, type_: TensorType) -> None:
    """The metadata of a model with two tensors."""
    infos = [TensorInfo("vit.norm.bias", (5,), TensorType.F32), TensorInfo("vit.blk.0.mlp_fc1.weight", (32, 2), type_)]
    with path.open("wb") as stream:
        write(stream, metadata(SMALLEST_ANY_VIEW), infos, (np.ones(info.stored_shape, info.type.dtype) for info in infos))


if __name__ == "__main__":
    main()
