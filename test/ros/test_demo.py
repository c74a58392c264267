"""The demo from end to end: pictures in, bag, node and bag in processes of their own, results out."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import verb
from toy_model import any_view_model, metric_model

from depth_anything_ros.ros.bag_reader import BagReader

pytestmark = [pytest.mark.ros, pytest.mark.native]


@pytest.fixture
def pictures(tmp_path: Path, photo: np.ndarray) -> Path:
    folder = tmp_path / "my pictures"
    folder.mkdir()
    for index in range(3):
        cv2.imwrite(str(folder / f"{index}.png"), cv2.resize(photo, (160, 120)) // (index + 1))
    return folder


def finish(process: subprocess.Popen[str], timeout: float = 120.0) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # which takes the children along
        process.communicate(timeout=20)
        raise
    assert "Traceback" not in err, err
    return process.returncode, out, err


def test_own_pictures_through_a_random_model(tmp_path: Path, pictures: Path) -> None:
    code, out, err = finish(verb("demo", "--images", pictures, "--model", any_view_model(tmp_path), "-o", tmp_path / "out"))
    assert (code, err) == (0, "")
    assert "NOT FOR A ROBOT" in out and "random weights: its depth means nothing" in out and "ASSUMED" in out
    assert "AbsRel" not in out
    frames, processed, dropped = map(int, re.search(r"(\d+) in, (\d+) processed, (\d+) dropped", out).groups())
    assert frames == 3 and processed >= 1 and dropped == frames - processed
    assert float(re.search(r"p50 (\d+) ms", out).group(1)) > 0
    for name in ("contact_sheet.png", "cloud.png"):
        assert str(tmp_path / "out" / name) in out
        picture = cv2.imread(str(tmp_path / "out" / name))
        colours = np.unique(picture.reshape(-1, 3), axis=0)
        assert (np.ptp(colours.astype(int), axis=1) > 0).sum() > 100, "more than text on grey"
    with BagReader(tmp_path / "out" / "depth") as reader:
        stamps = {name: [message.data[4:12] for message in reader.messages([name])] for name in reader.topics}
    assert len(stamps["/camera/image_rect"]) == 3
    assert len(stamps["/camera/depth/image_rect"]) == processed
    assert stamps["/camera/points"] == stamps["/camera/depth/image_rect"]
    # A busy machine may skip pictures, but never the newest.
    assert stamps["/camera/depth/image_rect"][-1] == stamps["/camera/image_rect"][-1]


def test_the_model_in_the_package_sees_a_drive(tmp_path: Path) -> None:
    """The demo as it comes: metres against the exact depth, and both clouds."""
    code, out, err = finish(verb("demo", "-o", tmp_path / "out"))
    assert (code, err) == (0, "")
    assert "NOT FOR A ROBOT" in out and "trained on computed scenes" in out and "models fetch" in out
    line = r"AbsRel (\S+) against the true depth \(metres by the model\); (\d+)% within 25 %, depth for (\S+)%"
    abs_rel, within, covered = map(float, re.search(line, out).groups())
    assert abs_rel <= 0.25 and within >= 60 and covered >= 95
    with BagReader(tmp_path / "out" / "camera") as reader:
        assert {"/camera/truth/depth", "/tf"} <= set(reader.topics)
    for name in ("contact_sheet.png", "cloud.png"):
        assert cv2.imread(str(tmp_path / "out" / name)).shape[1] >= 1400, "true depth and true cloud beside the model's"


def test_metric_model_needs_no_scale(tmp_path: Path, pictures: Path) -> None:
    code, out, err = finish(verb("demo", "--images", pictures, "--model", metric_model(tmp_path), "-o", tmp_path / "out"))
    assert (code, err) == (0, "") and "3 in" in out
    assert "scale" not in (tmp_path / "out" / "parameters.yaml").read_text()


def test_mistakes_are_one_line(tmp_path: Path, pictures: Path) -> None:
    code, _, err = finish(verb("demo", "--images", pictures, "--model", tmp_path / "none.gguf", "-o", tmp_path / "out"))
    assert (code, err.count("\n")) == (3, 1)
    code, _, err = finish(verb("demo", "--images", tmp_path / "none", "-o", tmp_path / "out"))
    assert (code, err.count("\n")) == (4, 1)
    code, _, err = finish(verb("demo", "--images", pictures, "--fov", "0", "-o", tmp_path / "out"))
    assert (code, err.count("\n")) == (2, 1) and "--fov 0" in err
    own = tmp_path / "own" / "depth" / "of years.txt"
    own.parent.mkdir(parents=True)
    own.write_text("kept")
    code, _, err = finish(verb("demo", "--images", pictures, "--model", metric_model(tmp_path), "-o", tmp_path / "own"))
    assert (code, err.count("\n")) == (2, 1) and "depth is there, and not from a demo" in err and own.read_text() == "kept"


@pytest.mark.case(50)
def test_interrupt_takes_the_children_along(tmp_path: Path, pictures: Path) -> None:
    process = verb("demo", "--images", pictures, "-o", tmp_path / "out")
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "node.log").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert finish(process, 15)[0] == 130
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in listed
