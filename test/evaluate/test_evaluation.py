"""Bags against truth: a scene of known geometry, seen by a depth image and by a laser behind a chain of transforms."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import START_NS, verb
from evaluation_bags import (
    DEPTH,
    HEIGHT,
    INFO,
    KINDS,
    LASER,
    STEP,
    TF,
    TF_STATIC,
    TRUTH,
    WIDTH,
    depth_message,
    image_bag,
    laser_bag,
    wall,
)
from replay_tools import write
from rosbags.rosbag2 import Reader

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.evaluate.alignment import Fit, FitSums
from depth_anything_ros.evaluate.evaluation import EvaluationOptions, evaluate


@pytest.mark.parametrize("encoding", ["32FC1", "16UC1"])
def test_against_a_depth_image(tmp_path: Path, encoding: str) -> None:
    result = evaluate(EvaluationOptions(image_bag(tmp_path / "bag", encoding=encoding), TRUTH))
    numbers = result.total.numbers()
    tolerance = 1e-6 if encoding == "32FC1" else 2e-4
    assert numbers["abs_rel"] == pytest.approx(0.05, abs=tolerance)
    truth = np.concatenate([wall(index).ravel() for index in range(6)])
    assert numbers["rmse"] == pytest.approx(0.05 * math.sqrt(np.mean(truth**2)), abs=10 * tolerance)
    assert (result.total.pixels, result.unpaired, len(result.frames)) == (6 * WIDTH * HEIGHT, 0, 6)
    assert (result.align, result.fit.factor) == ("none", 1.0)
    band = result.bands[(2.0, 5.0)]
    assert band.pixels == np.count_nonzero(truth < 5.0) if encoding == "32FC1" else band.pixels > 0
    assert result.frames[0].fit.factor == pytest.approx(1.0 / 1.05, rel=1e-3)


def test_against_a_laser_on_a_moving_arm(tmp_path: Path) -> None:
    result = evaluate(EvaluationOptions(laser_bag(tmp_path / "bag"), LASER))
    assert result.problems == [] and result.unpaired == 0
    assert result.total.pixels == 6 * len(range(2, HEIGHT, 3)) * len(range(2, WIDTH, 3))
    numbers = result.total.numbers()
    assert numbers["abs_rel"] == pytest.approx(0.05, abs=1e-4)
    assert numbers["coverage"] == 1.0


def test_a_laser_and_a_picture_with_distortion(tmp_path: Path) -> None:
    """Where its points lie in the picture K alone does not say: no number instead of a wrong one."""
    with pytest.raises(InputError, match=f"{DEPTH} is of a distorted picture"):
        evaluate(EvaluationOptions(laser_bag(tmp_path / "bag", d=(-0.3, 0.1, 0.0, 0.0, 0.0)), LASER))


def test_transforms_beside_the_depth_or_beside_the_laser(tmp_path: Path) -> None:
    """The bag cut in two by topics; the transforms are in one half or in the other."""
    with Reader(laser_bag(tmp_path / "bag")) as reader:
        messages = [(connection.topic, time, bytes(data)) for connection, time, data in reader.messages()]
    for number, transforms in enumerate(({DEPTH, INFO, TF, TF_STATIC}, {LASER, TF, TF_STATIC})):
        halves = [transforms, KINDS.keys() - transforms - {TRUTH}]
        for half in halves:
            part = [message for message in messages if message[0] in half]
            write(tmp_path / f"{number}{DEPTH in half}", part, kinds={name: KINDS[name] for name in half})
        options = EvaluationOptions(tmp_path / f"{number}True", LASER, truth_bag=tmp_path / f"{number}False")
        assert evaluate(options).total.numbers()["abs_rel"] == pytest.approx(0.05, abs=1e-5)


def test_truth_of_another_shape_is_not_compared(tmp_path: Path) -> None:
    """A depth sensor of 4:3 beside a camera of 16:9: their pixels see different things. What rounding does to a shape is no other one."""
    for size, fits in (((32, 24), True), ((43, 32), True), ((64, 36), False), ((48, 64), False)):
        width, height = size
        truth = np.full((height, width), 4.0)
        messages = [(DEPTH, START_NS, depth_message(START_NS, wall())), (TRUTH, START_NS, depth_message(START_NS, truth))]
        bag = write(tmp_path / f"{width}x{height}", messages, kinds={name: KINDS[name] for name in (DEPTH, TRUTH)})
        if fits:
            assert evaluate(EvaluationOptions(bag, TRUTH)).total.pixels == width * height
        else:
            with pytest.raises(InputError, match=f"truth has {width}x{height} pixels, the depth 64x48"):
                evaluate(EvaluationOptions(bag, TRUTH))


def test_truth_of_another_camera_is_told(tmp_path: Path) -> None:
    for frame in ("depth_sensor", "cam_optical"):
        messages = [
            (DEPTH, START_NS, depth_message(START_NS, wall())),
            (TRUTH, START_NS, depth_message(START_NS, wall(), frame=frame)),
        ]
        bag = write(tmp_path / frame, messages, kinds={name: KINDS[name] for name in (DEPTH, TRUTH)})
        problems = evaluate(EvaluationOptions(bag, TRUTH)).problems
        assert [("'depth_sensor'" in one and "'cam_optical'" in one) for one in problems] == [True] * (frame == "depth_sensor")


def test_a_laser_without_transforms_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no transform leads from laser to cam_optical"):
        evaluate(EvaluationOptions(laser_bag(tmp_path / "bag", with_tf=False), LASER))


def test_relative_depth_gets_one_scale(tmp_path: Path) -> None:
    bag = image_bag(tmp_path / "bag", factor=0.1)
    kinds = {"/cam/relative/image": KINDS[DEPTH], TRUTH: KINDS[TRUTH]}
    messages = []
    for index in range(4):
        stamp = START_NS + index * STEP
        messages.append(("/cam/relative/image", stamp, depth_message(stamp, wall(index) * (0.5 if index < 3 else 0.6))))
        messages.append((TRUTH, stamp, depth_message(stamp, wall(index))))
    relative = write(tmp_path / "relative", messages, kinds=kinds)
    one = evaluate(EvaluationOptions(relative, TRUTH))
    assert (one.align, one.fit.factor, one.fit.inverse) == ("recording", pytest.approx(2.0, rel=1e-5), False)
    assert one.total.numbers()["abs_rel"] == pytest.approx(0.2 / 4, rel=1e-4)
    each = evaluate(EvaluationOptions(relative, TRUTH, align="frame"))
    assert each.total.numbers()["abs_rel"] == pytest.approx(0.0, abs=1e-6)
    unaligned = evaluate(EvaluationOptions(bag, TRUTH))
    assert unaligned.total.numbers()["abs_rel"] == pytest.approx(0.9, rel=1e-4)


def inverse_bag(folder: Path) -> tuple[Path, list[np.ndarray]]:
    """A network of relative inverse depth with noise: scale and shift of its own in each frame. Gives its values too."""
    random, messages, values = np.random.default_rng(3), [], []
    for index in range(4):
        stamp = START_NS + index * STEP
        noisy = (1.0 / wall(index) - 0.03 * (1 + index)) * (20.0 + index)
        values.append((noisy + random.normal(0.0, 0.1, noisy.shape)).astype(np.float32).astype(np.float64))
        messages.append(("/cam/relative/image", stamp, depth_message(stamp, values[-1])))
        messages.append((TRUTH, stamp, depth_message(stamp, wall(index))))
    return write(folder, messages, kinds={"/cam/relative/image": KINDS[DEPTH], TRUTH: KINDS[TRUTH]}), values


def test_relative_inverse_depth_gets_scale_and_shift(tmp_path: Path) -> None:
    """As the papers have it: least squares in inverse depth per picture, here by `numpy.polyfit`."""
    bag, values = inverse_bag(tmp_path / "bag")
    truths = [wall(index).astype(np.float32).astype(np.float64) for index in range(4)]
    result = evaluate(EvaluationOptions(bag, TRUTH))
    assert (result.align, result.fit.inverse) == ("frame", True)
    errors = []
    for frame, one, true in zip(result.frames, values, truths):
        factor, shift = np.polyfit(one.ravel(), 1.0 / true.ravel(), 1)
        assert (frame.fit.factor, frame.fit.shift) == (pytest.approx(factor, rel=1e-6), pytest.approx(shift, rel=1e-6))
        errors.append(np.abs(1.0 / np.maximum(factor * one + shift, 0.01) - true) / true)
    assert result.total.numbers()["abs_rel"] == pytest.approx(np.mean(errors), rel=1e-6)
    pooled = evaluate(EvaluationOptions(bag, TRUTH, align="recording"))
    factor, shift = np.polyfit(np.ravel(values), 1.0 / np.ravel(truths), 1)
    assert (pooled.fit.factor, pooled.fit.shift) == (pytest.approx(factor, rel=1e-6), pytest.approx(shift, rel=1e-6))
    assert pooled.total.numbers()["abs_rel"] > 2 * result.total.numbers()["abs_rel"]
    taken_for_depth = evaluate(EvaluationOptions(bag, TRUTH, values="depth"))
    assert (taken_for_depth.align, taken_for_depth.fit.inverse) == ("recording", False)
    assert taken_for_depth.total.numbers()["delta1"] < result.total.numbers()["delta1"]


def test_inverse_depth_behind_the_horizon_is_as_far_as_the_last_band() -> None:
    fit = Fit(0.1, 0.05, inverse=True)
    np.testing.assert_allclose(fit.metres(np.array([1.5, -0.4, -0.45, -3.0]), 80.0), [5.0, 80.0, 80.0, 80.0])
    assert math.isnan(fit.metres(np.array([math.nan]), 80.0)[0])
    assert math.isnan(FitSums.of(np.full(9, 2.0), np.arange(1.0, 10.0)).line().factor)


def test_truth_of_another_bag_and_size_and_time(tmp_path: Path) -> None:
    bag = image_bag(tmp_path / "bag")
    messages = []
    for index in range(6):
        stamp = START_NS + index * STEP + 7_000_000
        truth = np.repeat(np.repeat(wall(index), 2, axis=0), 2, axis=1)
        messages.append((TRUTH, stamp, depth_message(stamp, truth)))
    other = write(tmp_path / "truth", messages, kinds={TRUTH: KINDS[TRUTH]})
    result = evaluate(EvaluationOptions(bag, TRUTH, truth_bag=other, tolerance=0.01))
    assert result.total.pixels == 6 * 4 * WIDTH * HEIGHT
    assert result.total.numbers()["abs_rel"] == pytest.approx(0.05, abs=1e-6)
    with pytest.raises(InputError, match="no stamps of the two are within 0 s"):
        evaluate(EvaluationOptions(bag, TRUTH, truth_bag=other))


def test_each_depth_takes_the_nearest_truth(tmp_path: Path) -> None:
    """Truth at twice the rate, and none for the last depth."""
    messages = []
    for index in range(5):
        stamp = START_NS + index * STEP
        messages.append((DEPTH, stamp + 60_000_000, depth_message(stamp, wall(index))))
        if index < 4:
            messages.append((TRUTH, stamp, depth_message(stamp + 10_000_000, wall(index))))
            messages.append((TRUTH, stamp + 50_000_000, depth_message(stamp + 50_000_000, 2.0 * wall(index))))
    bag = write(tmp_path / "bag", messages, kinds={DEPTH: KINDS[DEPTH], TRUTH: KINDS[TRUTH]})
    result = evaluate(EvaluationOptions(bag, TRUTH, tolerance=0.03))
    assert result.total.numbers()["abs_rel"] == 0.0
    assert (len(result.frames), result.unpaired) == (4, 1)


def test_table_csv_and_plots(tmp_path: Path) -> None:
    bag = image_bag(tmp_path / "bag")
    files = ("--csv", tmp_path / "errors.csv", "--plots", tmp_path / "plots")
    process = verb("evaluate", bag, "--truth", TRUTH, "--bands", 0, 4, 6, 20, *files)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{DEPTH} against {TRUTH}" in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.startswith(("all", "0", "4", "6"))}
    assert lines["all"][1:4] == [str(6 * WIDTH * HEIGHT), "0.0500", f"{0.05 * math.sqrt(np.mean([wall(i) ** 2 for i in range(6)])):.4f}"]
    rows = list(csv.DictReader((tmp_path / "errors.csv").read_text().splitlines()))
    assert [row["what"] for row in rows] == ["frame"] * 6 + ["band"] * 3 + ["all"]
    assert [int(row["stamp_ns"]) for row in rows[:6]] == [START_NS + index * STEP for index in range(6)]
    assert sum(int(row["pixels"]) for row in rows[6:9]) == int(rows[9]["pixels"]) == 6 * WIDTH * HEIGHT
    assert float(rows[9]["abs_rel"]) == pytest.approx(0.05, abs=1e-6)
    for name in ("by_distance.png", "over_time.png"):
        picture = cv2.imread(str(tmp_path / "plots" / name))
        assert picture.shape[0] > 400 and len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"truth": "/nothing"}, OptionError, "/nothing is no image or cloud topic"),
        ({"truth": INFO}, OptionError, "is no image or cloud topic"),
        ({"depth": "/nothing"}, OptionError, "/nothing is no image topic"),
        ({"depth": INFO}, OptionError, f"{INFO} is no image topic"),
        ({"depth": TRUTH}, OptionError, f"{TRUTH} cannot be its own truth"),
        ({"align": "somehow"}, OptionError, "somehow"),
        ({"values": "some"}, OptionError, "values 'some'"),
        ({"bands": (1.0,)}, OptionError, "bands"),
        ({"bands": (2.0, 1.0)}, OptionError, "bands 2 1"),
        ({"bands": (0.0, math.nan, 5.0)}, OptionError, "bands 0 nan 5"),
        ({"bands": (0.0, 5.0, math.nan)}, OptionError, "bands 0 5 nan"),
        ({"tolerance": -1.0}, OptionError, "tolerance"),
    ],
)
def test_questions_that_make_no_sense(tmp_path: Path, options: dict, error: type, message: str) -> None:
    bag = image_bag(tmp_path / "bag", count=1)
    with pytest.raises(error, match=message):
        evaluate(EvaluationOptions(bag, **{"truth": TRUTH, **options}))


def test_a_bag_without_depth(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", [(TRUTH, START_NS, depth_message(START_NS, wall()))], kinds={TRUTH: KINDS[TRUTH]})
    with pytest.raises(InputError, match="holds no depth"):
        evaluate(EvaluationOptions(bag, TRUTH))
