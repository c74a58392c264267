"""The convert verb through the front door: exit codes and one-line errors."""

import gguf
from safetensors.numpy import save_file

from depth_anything_ros.cli import main
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.convert.seeded import seeded_tensors


def test_a_checkpoint_becomes_a_file(tmp_path, capsys):
    arrays = {spec.official: array for spec, array in seeded_tensors(OFFICIAL_MODELS["da3-small"])}
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_name": "da3-small"}')
    assert main(["convert", str(tmp_path), str(tmp_path / "small.gguf"), "--type", "f16"]) == 0
    output = capsys.readouterr().out
    assert "DA3-SMALL, relative_depth, weights under Apache-2.0" in output
    assert len(gguf.GGUFReader(tmp_path / "small.gguf").tensors) == 279


def test_errors_are_one_line(tmp_path, capsys):
    (tmp_path / "bad.safetensors").write_bytes(b"not a checkpoint at all")
    assert main(["convert", str(tmp_path / "bad.safetensors"), str(tmp_path / "out.gguf")]) == 3
    assert main(["convert", str(tmp_path), str(tmp_path / "out.gguf"), "--type", "q9"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("depth-anything-ros convert: ") for line in lines)
