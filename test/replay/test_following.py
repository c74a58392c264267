"""Replays whose depth depends on earlier pictures: metres by each source against the room's geometry, and what cuts and kills change."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from box_room import CAMERA
from replay_tools import decoded, depth_values, read, run, stamps
from room_engine import picture_at
from room_recording import HEIGHT, IMAGE, LIDAR, ODOM, PERIOD, START_NS, TF, TF_STATIC, drifting_engines, place, record, room_engines, truth
from rosbags.rosbag2 import Reader

from depth_anything_ros.errors import CancelledError, InputError, OptionError
from depth_anything_ros.pipeline import ProcessingOptions, process
from depth_anything_ros.replay.following import Following
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.replay.state import recalled
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.scale.ground_plane import CameraHeight, CameraHeightSource
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.steady import DepthSteadier, TemporalOptions
from depth_anything_ros.scale.tracker import ScaleTracker
from depth_anything_ros.types import Frame

DEPTH, RELATIVE, SCALE = "/cam/depth/image_rect", "/cam/relative/image", "/cam/depth/scale"
OUTPUTS = ("depth/image_rect", "relative/image", "depth/scale")


def sourced(source: str, **scale: object) -> dict[str, object]:
    return {"processing": ProcessingOptions(scale_source=source), "scale": ScaleOptions(**scale)}


def replayed(recording: Path, output: Path, node: dict[str, object], engine: object = room_engines, **options: object) -> dict:
    for name in ("metric.gguf", "model.gguf"):
        if not (output.parent / name).exists():
            (output.parent / name).touch()
    if node.get("processing", ProcessingOptions()).scale_source == "metric_model":
        node = {**node, "metric_model": str(output.parent / "metric.gguf")}
    run(recording, output, engine, keep=("none",), outputs=OUTPUTS, node=node, **options)
    return read(output)


def metres(found: dict) -> dict[int, np.ndarray]:
    """Depth by number of the picture."""
    messages = found.get(DEPTH, [])
    return {(stamp - START_NS) // PERIOD: depth_values(one) for stamp, one in zip(stamps(messages), decoded(messages))}


def scale_values(found: dict, number: int) -> dict[str, str]:
    (status,) = decoded([found[SCALE][number]], "diagnostic_msgs/msg/DiagnosticArray")[0].status
    return {pair.key: pair.value for pair in status.values}


@pytest.mark.parametrize(
    ("node", "remaps", "without", "known_from"),
    [
        (sourced("camera_height", camera_height_height=HEIGHT), (), (LIDAR, ODOM, TF, TF_STATIC), 2),
        (sourced("camera_height"), (), (LIDAR, ODOM), 2),
        (sourced("range"), (("scale/points", LIDAR),), (ODOM, TF), 2),
        (sourced("odometry"), (("/cam/scale/odom", ODOM),), (LIDAR, TF), 30),
        (sourced("odometry", odometry_input="tf"), (), (LIDAR, ODOM), 30),
        (sourced("metric_model"), (), (LIDAR, ODOM, TF, TF_STATIC), 0),
    ],
    ids=["height", "height by TF", "laser", "odometry", "odometry by TF", "metric model"],
)
def test_metres_are_those_of_the_room(tmp_path: Path, node: dict, remaps: tuple, without: tuple[str, ...], known_from: int) -> None:
    found = replayed(record(tmp_path / "in", 45, without), tmp_path / "out", node, remaps=remaps)
    depths = metres(found)
    assert min(depths) <= known_from and set(depths) == set(range(min(depths), 45))
    for number, depth in depths.items():
        np.testing.assert_allclose(depth, truth(number), rtol=0.02)
    assert len(found.get(RELATIVE, [])) == min(depths)
    last = scale_values(found, -1)
    assert (last["known"], last["source"]) == ("true", node["processing"].scale_source)
    assert float(last["value"]) == pytest.approx(0.37, rel=0.02)


def test_the_scale_is_latched_and_told_when_it_changes(tmp_path: Path) -> None:
    recording = record(tmp_path / "in", 12, (LIDAR, ODOM, TF))
    found = replayed(recording, tmp_path / "out", sourced("metric_model", metric_model_every=5))
    assert [scale_values(found, number)["accepted"] for number in range(len(found[SCALE]))] == ["1", "2", "3"]
    assert stamps(found[SCALE]) == [START_NS + number * PERIOD for number in (0, 5, 10)]
    with Reader(tmp_path / "out") as reader:
        (scale,) = [one for one in reader.connections if one.topic == SCALE]
        (qos,) = scale.ext.offered_qos_profiles
        assert (qos.durability.name, qos.reliability.name) == ("TRANSIENT_LOCAL", "RELIABLE")


def test_the_same_bits_as_the_pipeline_frame_by_frame(tmp_path: Path) -> None:
    node = {**sourced("camera_height", camera_height_height=HEIGHT), "temporal": TemporalOptions(depth=True)}
    recording = record(tmp_path / "in", 25, (LIDAR, ODOM, TF, TF_STATIC))
    found = replayed(recording, tmp_path / "out", node, drifting_engines, segment=7)
    level = CameraHeight(HEIGHT, np.array([0.0, 1.0, 0.0]), np.radians(35.0))
    tracker = ScaleTracker("camera_height", CameraHeightSource(lambda frame: level), node["scale"])
    steadier, engine, depths = DepthSteadier(node["temporal"]), drifting_engines(NodeOptions(model="a")), metres(found)
    for number in range(25):
        frame = Frame(picture_at(place(number), z=HEIGHT), False, CAMERA, START_NS + number * PERIOD, "cam_optical")
        products = process(frame, engine, node["processing"], scale_of=tracker.scale_of, steady=steadier.apply)
        assert products.metric == (number in depths)
        if products.metric:
            np.testing.assert_array_equal(depths[number], products.depth)


STATEFUL = {
    "keyframes": (sourced("metric_model", metric_model_every=5, window=0.5, max_age=0.7), ()),
    "laser": (sourced("range", window=0.5, max_age=0.7), (("scale/points", LIDAR),)),
    "height": (sourced("camera_height", window=0.5, max_age=0.7), ()),
    "odometry": (sourced("odometry", window=0.5, max_age=0.7), (("scale/odom", ODOM),)),
    "steady": ({"temporal": TemporalOptions(depth=True, memory=5)}, ()),
}


def close(first: dict, second: dict) -> None:
    """The bound of the contract: 1e-3."""
    for topic in (DEPTH, RELATIVE):
        assert stamps(first.get(topic, [])) == stamps(second.get(topic, []))
        for one, other in zip(decoded(first.get(topic, [])), decoded(second.get(topic, []))):
            np.testing.assert_allclose(depth_values(one), depth_values(other), rtol=1e-3)


@pytest.mark.parametrize("kind", STATEFUL)
def test_cuts_kills_and_processes(tmp_path: Path, kind: str) -> None:
    """One pass is one pass wherever it is cut and killed; what begins in another process is within the bound."""
    node, remaps = STATEFUL[kind]
    recording = record(tmp_path / "in", 90)
    options = {"engine": drifting_engines, "remaps": remaps}
    whole = replayed(recording, tmp_path / "whole", node, segment=1000, **options)
    cut = replayed(recording, tmp_path / "cut", node, segment=13, **options)
    assert whole[DEPTH if kind != "steady" else RELATIVE]
    assert {topic: cut.get(topic) for topic in (DEPTH, RELATIVE)} == {topic: whole.get(topic) for topic in (DEPTH, RELATIVE)}
    asked = iter(range(50))
    model = {"model": str(tmp_path / "model.gguf"), "metric_model": str(tmp_path / "metric.gguf") if kind == "keyframes" else ""}
    stopped = ReplayOptions(
        output=tmp_path / "killed", node=NodeOptions(**{**node, **model}), keep=("none",), outputs=OUTPUTS, segment=13, remaps=remaps
    )
    plan = tmp_path / ".killed.replay" / "plan.json"  # there when the recording was looked through, and pictures begin to be asked about
    with pytest.raises(CancelledError):
        replay(SourceOptions(recording), stopped, lambda: plan.exists() and next(asked, None) is None, load_engine=drifting_engines)
    states = list((tmp_path / ".killed.replay" / "segments").glob("*/state.pickle"))
    assert [path.parent.name for path in states] == ["0002"], "that of the last one that was finished"
    killed = replayed(recording, tmp_path / "killed", node, segment=13, **options)
    assert {topic: killed.get(topic) for topic in (DEPTH, RELATIVE)} == {topic: whole.get(topic) for topic in (DEPTH, RELATIVE)}
    assert not list((tmp_path / "killed").glob("*.pickle"))
    if kind == "odometry":
        with pytest.raises(OptionError, match="odometry follows"):
            replayed(recording, tmp_path / "spread", node, jobs=2, **options)
        return
    spread = replayed(recording, tmp_path / "spread", node, segment=13, jobs=2, **options)
    close(spread, whole)
    assert len(list((tmp_path / "spread").glob("*.mcap"))) >= 2


def test_a_state_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.pickle").write_bytes(pickle.dumps({IMAGE: (os.system, None)}))
    with pytest.raises(InputError, match=r"state\.pickle cannot be read: .*system has no place"):
        recalled({IMAGE: Following(None, None)}, tmp_path)
    assert recalled({}, tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy.testing", "rundocs"),
        ("numpy", "load"),
        ("depth_anything_ros.scale.tracker", "threading._os.system"),
        ("depth_anything_ros.scale.tracker", "partial"),
        ("depth_anything_ros.types", "dataclass"),
        ("numpyish", "ndarray"),
    ],
)
def test_a_state_with_what_our_modules_merely_use_is_refused(tmp_path: Path, module: str, name: str) -> None:
    """A pickle, opcode by opcode: the named thing is called with a text (protocol 4: a name may have dots)."""
    texts = [b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name, "true")]
    (tmp_path / "state.pickle").write_bytes(b"\x80\x04" + texts[0] + texts[1] + b"\x93" + texts[2] + b"\x85R.")
    with pytest.raises(InputError, match=f"cannot be read: {re.escape(f'{module}.{name}')} has no place in it"):
        recalled({IMAGE: Following(None, None)}, tmp_path)


def test_a_range_of_time_hears_what_was_said_before(tmp_path: Path) -> None:
    recording = record(tmp_path / "in", 30, (ODOM, TF))
    found = replayed(recording, tmp_path / "out", sourced("range"), start=2.55, remaps=(("scale/points", LIDAR),))
    depths = metres(found)
    # The recording begins a second before the first picture, with the only transforms; three estimates must agree.
    assert set(depths) == set(range(18, 30))
    for number, depth in depths.items():
        np.testing.assert_allclose(depth, truth(number), rtol=0.02)


@pytest.mark.parametrize(
    ("node", "remaps", "without", "message"),
    [
        (sourced("range"), (), (), f"scale/scan.*{LIDAR}"),
        (sourced("range"), (("scale/scan", LIDAR),), (), "holds sensor_msgs/msg/PointCloud2"),
        (sourced("odometry"), (), (ODOM,), "scale/odom.*nothing"),
        (sourced("odometry", odometry_input="tf"), (), (TF, TF_STATIC), "/tf"),
        (sourced("camera_height"), (), (TF, TF_STATIC), "/tf"),
    ],
)
def test_a_recording_without_what_the_source_reads(
    tmp_path: Path, node: dict, remaps: tuple, without: tuple[str, ...], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        replayed(record(tmp_path / "in", 3, without), tmp_path / "out", node, remaps=remaps)
    assert not (tmp_path / "out").exists()
