"""Names, facts and what a name leads to."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from depth_anything_ros import Engine
from depth_anything_ros.cli import main
from depth_anything_ros.convert.model_config import named
from depth_anything_ros.convert.seeded import SEEDED_ANY_VIEW, write_seeded
from depth_anything_ros.errors import ModelError
from depth_anything_ros.models import cache
from depth_anything_ros.models.cache import default_folder, resolve_model
from depth_anything_ros.models.registry import MODELS, get_model


def test_names_and_files_are_unique_and_hashes_whole():
    assert not [name for name, count in Counter(model.name for model in MODELS).items() if count > 1]
    published = [model.files[0] for model in MODELS if model.is_gguf and not model.is_shipped]
    assert len(published) == 65
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in published)
    assert len({file.sha256 for file in published}) == len({file.name for file in published}) == 65


@pytest.mark.parametrize(
    ("name", "checkpoint", "file", "kind", "licence", "outputs", "hint"),
    [
        ("nano", "DA3METRIC-NANO", "nano-metric.gguf", "metric", "Apache-2.0", "depth sky", ""),
        ("nano-any-view", "DA3-NANO", "nano-any-view.gguf", "relative_depth", "Apache-2.0", "depth confidence pose", ""),
        ("da3-small", "DA3-SMALL", "depth-anything-small-f32.gguf", "relative_depth", "Apache-2.0", "depth confidence pose", ""),
        ("da3-base-q8_0", "DA3-BASE", "depth-anything-base-q8_0.gguf", "relative_depth", "Apache-2.0", "depth confidence pose", ""),
        ("da3metric-large", "DA3METRIC-LARGE", "depth-anything-metric-large-f32.gguf", "metric", "Apache-2.0", "depth sky", ""),
        (
            "da3-large-1.1-official",
            "DA3-LARGE-1.1",
            "model.safetensors",
            "relative_depth",
            "CC-BY-NC-4.0",
            "depth confidence pose",
            "to convert",
        ),
        (
            "da3-giant",
            "DA3-GIANT",
            "depth-anything-giant-f32.gguf",
            "relative_depth",
            "CC-BY-NC-4.0",
            "depth confidence pose gaussians",
            "",
        ),
        (
            "da2-small-q4_k",
            "Depth-Anything-V2-Small",
            "depth-anything2-small-q4_k.gguf",
            "relative_inverse_depth",
            "Apache-2.0",
            "depth",
            "",
        ),
        (
            "da2-metric-vkitti-base-official",
            "Depth-Anything-V2-Metric-VKITTI-Base",
            "depth_anything_v2_metric_vkitti_vitb.pth",
            "metric",
            "CC-BY-NC-4.0",
            "depth",
            "to convert",
        ),
        (
            "da3nested-metric",
            "DA3NESTED-GIANT-LARGE-metric",
            "depth-anything-nested-metric.gguf",
            "metric",
            "CC-BY-NC-4.0",
            "depth sky",
            "metric model of da3nested-anyview",
        ),
    ],
)
def test_facts(name, checkpoint, file, kind, licence, outputs, hint):
    model = get_model(name)
    assert (model.checkpoint, model.files[0].name, model.fact.kind.value, model.fact.license) == (checkpoint, file, kind, licence)
    assert " ".join(model.outputs) == outputs
    assert model.hint == hint


def test_a_path_wins_then_a_fetched_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="models fetch da3-small") as refusal:
        resolve_model("da3-small", tmp_path)
    assert refusal.value.code == "model.missing"
    fetched = tmp_path / "cache" / "da3-small" / "depth-anything-small-f32.gguf"
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(b"GGUF")
    assert resolve_model("da3-small", tmp_path / "cache") == fetched
    (tmp_path / "da3-small").write_bytes(b"GGUF")
    assert resolve_model("da3-small", tmp_path / "cache").samefile(tmp_path / "da3-small")


def test_a_folder_called_like_a_model_is_not_taken_for_it(tmp_path, monkeypatch):
    (tmp_path / "nano").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_model("nano").name == "nano-metric.gguf"


@pytest.mark.parametrize("model", [model for model in MODELS if not model.is_gguf], ids=lambda model: model.name)
def test_a_fetched_checkpoint_is_converted_by_its_name(tmp_path, monkeypatch, capsys, model):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["convert", model.name, "out.gguf"]) == 3
    assert f"models fetch {model.name}" in capsys.readouterr().err
    folder = default_folder() / model.name
    folder.mkdir(parents=True)
    for file in model.files:
        (folder / file.name).touch()
    with pytest.raises(ModelError) as refusal:
        resolve_model(model.name)
    verb, checkpoint, output = str(refusal.value).partition("depth-anything-ros ")[2].split()
    taken = []
    monkeypatch.setattr("depth_anything_ros.convert.converter.convert", lambda *arguments: taken.append(arguments) or {})
    assert main([verb, checkpoint, output]) == 0
    (found, written, _, name, *_), *_ = taken
    assert Path(found) == (folder if len(model.files) > 1 else folder / model.files[0].name)
    assert str(written) == model.name.replace("-official", ".gguf") and named(name)[0].checkpoint_name == model.checkpoint


def test_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    with pytest.raises(ModelError, match="set HOME"):
        resolve_model("da3-small")
    assert resolve_model("nano").is_file(), "the package has a home"
    assert main(["models", "verify", "nano"]) == main(["models", "path", "nano"]) == main(["models", "fetch", "nano"]) == 0


def test_a_shipped_name_needs_no_fetching(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cache, "SHIPPED_FOLDER", tmp_path / "weights")
    with pytest.raises(ModelError, match=r"comes with the package, but .* is not there; install it again") as refusal:
        resolve_model("nano", tmp_path)
    assert refusal.value.code == "model.missing"
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "nano-metric.gguf").write_bytes(b"GGUF")
    assert resolve_model("nano", tmp_path) == resolve_model("nano-metric", tmp_path) == tmp_path / "weights" / "nano-metric.gguf"
    assert main(["models", "fetch", "nano"]) == 0
    assert capsys.readouterr().out.endswith("weights/nano-metric.gguf\n")
    assert main(["models", "list"]) == 0
    assert re.search(r"(?m)^nano +\d+ +metric .*Apache-2.0 *in the package$", capsys.readouterr().out)


def test_neither_path_nor_name(tmp_path):
    with pytest.raises(ModelError, match="does not exist, the name of the model is da3-small "):
        resolve_model("da3-small.gguf", tmp_path)
    with pytest.raises(ModelError, match="does not exist, nor is there a model of that name") as refusal:
        resolve_model(str(tmp_path / "none.gguf"), tmp_path)
    assert refusal.value.code == "model.missing"


@pytest.mark.parametrize("text", ["a" * 5000, "nul\0byte", "", "missing/da3-small"])
def test_texts_that_are_no_names(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError):
        resolve_model(text or "~nobody/none.gguf", tmp_path)


@pytest.mark.native
def test_a_fetched_name_stands_for_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = default_folder() / "da3-small" / "depth-anything-small-f32.gguf"
    path.parent.mkdir(parents=True)
    write_seeded(path, SEEDED_ANY_VIEW)
    with Engine.load("da3-small", threads=1) as engine:
        assert engine.info.path == str(path)
    assert main(["info", "da3-small"]) == 0
    assert str(path) in capsys.readouterr().out
    assert main(["quantize", "da3-small", str(tmp_path / "out.gguf")]) == 0
    assert main(["info", "da3-base"]) == 3
    assert "models fetch da3-base" in capsys.readouterr().err
