"""`doctor` and `verify` from the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toy_model import any_view_model, metric_model, v2_model

from depth_anything_ros import Engine
from depth_anything_ros.checks import packages
from depth_anything_ros.cli import doctor_speed, main
from depth_anything_ros.convert.seeded import SEEDED_ANY_VIEW
from depth_anything_ros.models.cache import default_folder
from depth_anything_ros.motorcycle import read_motorcycle
from depth_anything_ros.types import DepthKind, Prediction, Timings

pytestmark = pytest.mark.native

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_doctor_estimates_every_model(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    from depth_anything_ros.convert import official_models

    # A tiny network in place of DA3-SMALL, so that the run is short.
    monkeypatch.setitem(official_models.OFFICIAL_MODELS, "da3-small", SEEDED_ANY_VIEW)
    assert main(["doctor", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "ESTIMATED" in out and "kernels" in out and "huggingface_hub" in out and "models fetch da3-small" in out
    rows = dict(re.findall(r"^  (da\S+)\s+\d+x\d+\s+\d+\s+(\S+)$", out, re.MULTILINE))
    assert {"da3-small", "da3-base", "da3-giant", "da3nested-giant-large", "da2-large"} <= set(rows)
    assert float(rows["da3-base"]) > float(rows["da3-large"]) > float(rows["da3-giant"]) > float(rows["da3nested-giant-large"]) > 0


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    absent = packages.Package("no_such_module", "nothing at all", "pip install no_such_module")
    monkeypatch.setattr(packages, "PACKAGES", (*packages.PACKAGES, absent))
    assert main(["doctor", "--no-speed"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"no_such_module +MISSING +nothing at all; to get it: pip install no_such_module", out) and "ESTIMATED" not in out
    monkeypatch.setattr(packages, "PACKAGES", (packages.Package("no_such_module", "the engine", "build it", needed=True),))
    assert main(["doctor"]) == 5
    assert "no_such_module is missing" in capsys.readouterr().err


def test_doctor_runs_where_opencv_does_not(tmp_path: Path) -> None:
    (tmp_path / "cv2.py").write_text("raise ImportError('libGL.so.1: cannot open shared object file')")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "depth_anything_ros", "doctor", "--no-speed"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.search("opencv-python-headless +BROKEN .*libGL.*pip install", done.stdout)
    assert done.returncode == 5 and done.stderr.count("\n") == 1 and "cv2 cannot be imported" in done.stderr


def test_the_measured_size_suits_every_network() -> None:
    assert all(side % 14 == 0 for side in doctor_speed.MEASURED_SIZE)


@pytest.mark.parametrize("make", [any_view_model, metric_model, v2_model])
def test_random_weights_do_not_pass(make: object, home: Path, capsys: Captured) -> None:
    assert main(["verify", str(make(home)), "--resolution", "112", "--threads", "1"]) == 3
    captured = capsys.readouterr()
    assert "best plane" in captured.out and "not what a trained model gives" in captured.err
    assert ("metres as they come" in captured.out) is (make is metric_model)


def test_a_model_that_sees_the_scene_passes(monkeypatch: pytest.MonkeyPatch, home: Path, capsys: Captured) -> None:
    picture, truth = read_motorcycle()

    def infer(self: Engine, pixels: np.ndarray, **options: object) -> Prediction:
        assert np.array_equal(pixels, picture) and options["intrinsics"].fx == 994.978
        seen = np.where(np.isfinite(truth), truth, 3.0).astype(np.float32)
        return Prediction(DepthKind.METRIC, seen, None, None, None, None, Timings(0.0, 0.0, 0.0))

    monkeypatch.setattr(Engine, "infer", infer)
    assert main(["verify", str(metric_model(home))]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "passed"


def test_a_fetched_file_is_checked_first(capsys: Captured) -> None:
    assert main(["verify", "da3-small"]) == 3
    assert "models fetch da3-small" in capsys.readouterr().err
    path = default_folder() / "da3-small" / "depth-anything-small-f32.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF of somebody else")
    assert main(["verify", "da3-small"]) == 3
    assert "fetch it again" in capsys.readouterr().err


def test_without_the_photograph_it_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, home: Path, capsys: Captured) -> None:
    monkeypatch.setitem(__import__("sys").modules, "skimage.data", None)
    assert main(["verify", str(any_view_model(home))]) == 4
    assert "pip install scikit-image" in capsys.readouterr().err
