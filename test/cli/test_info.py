"""`info`: what a model file is, without its weights."""

from __future__ import annotations

import json
import os
import resource
from dataclasses import asdict
from pathlib import Path

import pytest
from toy_model import any_view_model, metric_model, mono_model, v2_model

from depth_anything_ros import Engine
from depth_anything_ros.cli import main
from depth_anything_ros.convert.gguf_file import TensorInfo, TensorType, file_bytes, header
from depth_anything_ros.convert.layout import metadata, tensors
from depth_anything_ros.convert.official_models import OFFICIAL_MODELS
from depth_anything_ros.engine import inspect_model

pytestmark = pytest.mark.native

Captured = pytest.CaptureFixture[str]


def facts_of(model: object, capsys: Captured) -> dict[str, object]:
    assert main(["info", str(model), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_tells_what_the_model_is(tmp_path: Path, capsys: Captured) -> None:
    model = metric_model(tmp_path)
    facts = facts_of(model, capsys)
    assert (facts["kind"], facts["needs_focal"], facts["has_sky"], facts["has_pose"]) == ("metric", True, True, False)
    assert facts["file_bytes"] == model.stat().st_size
    assert main(["info", str(model)]) == 0
    assert "seeded-metric" in capsys.readouterr().out


@pytest.mark.parametrize("make", [any_view_model, mono_model, metric_model, v2_model])
def test_it_says_what_the_engine_says(tmp_path: Path, make: object) -> None:
    model = make(tmp_path)
    found = asdict(inspect_model(model))
    with Engine.load(model, threads=1) as engine:
        expected = asdict(engine.info)
    assert (found.pop("device"), found.pop("instruction_set")) == ("", "")
    assert found == {name: expected[name] for name in found} and len(found) == len(expected) - 2


def test_a_giant_is_told_of_without_its_weights(tmp_path: Path, capsys: Captured) -> None:
    """The file is a header and a hole of five gigabytes."""
    items = metadata(OFFICIAL_MODELS["da3-giant"])
    infos = [TensorInfo(spec.name, spec.extents, TensorType.F32) for spec in tensors(OFFICIAL_MODELS["da3-giant"])]
    (tmp_path / "giant.gguf").write_bytes(header(items, infos))
    os.truncate(tmp_path / "giant.gguf", file_bytes(items, infos))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts = facts_of(tmp_path / "giant.gguf", capsys)
    assert (facts["checkpoint"], facts["parameters"], facts["has_gaussians"]) == ("DA3-GIANT", 1_226_566_065, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"
    assert not {"device", "instruction_set"} & facts.keys(), "it is not loaded"


def test_a_file_that_no_engine_takes_is_one_line(tmp_path: Path, capsys: Captured) -> None:
    model = any_view_model(tmp_path)
    os.truncate(model, model.stat().st_size // 2)
    assert main(["info", str(model)]) == 3
    said = capsys.readouterr().err
    assert str(model) in said and said.count("\n") == 1


def test_a_name_stands_for_its_file(capsys: Captured) -> None:
    assert facts_of("nano", capsys)["checkpoint"] == "DA3METRIC-NANO"
