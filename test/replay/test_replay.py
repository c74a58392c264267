"""Every picture of a recording gets its depth, once, with its own stamp; the rest is copied byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bag_tools import START_NS, STEP_NS
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from replay_tools import (
    BEST_EFFORT,
    IMAGE,
    INFO,
    LATCHED,
    TEXT,
    TF_STATIC,
    camera_messages,
    decoded,
    depth_values,
    failing_engine,
    image,
    info,
    pixels,
    read,
    run,
    stamp,
    stamps,
    write,
)
from rosbags.rosbag2 import Reader

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.pipeline import ProcessingOptions

DEPTH, DEPTH_INFO, SKY, TIMING = "/cam/depth/image_rect", "/cam/depth/camera_info", "/cam/depth/sky_mask", "/cam/depth/timing"
SCALE = "/cam/depth/scale"
STORAGES = ("mcap", "sqlite3")


def by_topic(messages: list[tuple[str, int, bytes]]) -> dict[str, list[tuple[int, bytes]]]:
    found: dict[str, list[tuple[int, bytes]]] = {}
    for topic, time, data in messages:
        found.setdefault(topic, []).append((time, data))
    return found


def expected_depth(index: int, focal: float = 300.0) -> np.ndarray:
    """Of `fake_engine.brightness` with the official rule for focal lengths, computed here again."""
    return (1.0 + pixels(index)[:, :, 0].astype(np.float32) / 255.0) * np.float32(focal / 300.0)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_thousand_pictures_come_out_exactly(tmp_path: Path, storage: str) -> None:
    messages = camera_messages(1000)
    summary = run(write(tmp_path / "in", messages, storage), tmp_path / "out", storage=storage)
    assert (summary.pictures, summary.processed, summary.passed_over, summary.refused) == (1000, 1000, 0, 0)
    found, put = read(tmp_path / "out"), by_topic(messages)
    assert {topic: found[topic] for topic in put} == put
    assert set(found) - set(put) == {DEPTH, DEPTH_INFO, SKY, TIMING, SCALE}
    times = [time for time, _ in put[IMAGE]]
    for topic in (DEPTH, DEPTH_INFO, SKY, TIMING):
        assert stamps(found[topic]) == [stamp(index) for index in range(1000)]
        assert [time for time, _ in found[topic]] == times
    assert {topic: len(one) for topic, one in found.items()} == summary.topics
    sky = [pixels(index)[:, :, 2] > 250 for index in (0, 500, 999)]
    for index, of_sky in zip((0, 500, 999), sky):
        depth = decoded(found[DEPTH][index : index + 1])[0]
        assert depth.header.frame_id == "cam_optical"
        np.testing.assert_array_equal(depth_values(depth)[~of_sky], expected_depth(index)[~of_sky])
        assert np.isposinf(depth_values(depth)[of_sky]).all()


@pytest.mark.parametrize("storage", STORAGES)
def test_qos_and_types_stay(tmp_path: Path, storage: str) -> None:
    run(write(tmp_path / "in", camera_messages(3), storage), tmp_path / "out", storage=storage)
    with Reader(tmp_path / "in") as before, Reader(tmp_path / "out") as after:
        recorded = {one.topic: (one.msgtype, one.digest, one.ext.offered_qos_profiles) for one in before.connections}
        copied = {one.topic: (one.msgtype, one.digest, one.ext.offered_qos_profiles) for one in after.connections}
        assert {topic: copied[topic] for topic in recorded} == recorded
        assert recorded[TF_STATIC][2] == [LATCHED] and recorded[IMAGE][2] == [BEST_EFFORT]
        (ours,) = copied[DEPTH][2]
        assert (ours.reliability.name, ours.durability.name, ours.depth) == ("RELIABLE", "VOLATILE", 5)


def test_the_mcap_package_reads_what_was_written(tmp_path: Path) -> None:
    run(write(tmp_path / "in", camera_messages(12)), tmp_path / "out", segment=5)
    parts = sorted((tmp_path / "out").glob("*.mcap"))
    assert len(parts) == 3
    found = []
    for part in parts:
        with part.open("rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            found += [message for *_, message in reader.iter_decoded_messages(topics=[DEPTH])]
    assert [one.header.stamp.sec for one in found] == [1_600_000_000 + index for index in range(12)]
    values = np.frombuffer(found[4].data, np.float32).reshape(24, 32)
    solid = np.isfinite(values)
    np.testing.assert_array_equal(values[solid], expected_depth(4)[solid])


def test_segments_and_processes_change_no_byte(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(40))
    run(recording, tmp_path / "one", segment=1000, outputs=("depth/image_rect", "points"))
    run(recording, tmp_path / "many", segment=7, outputs=("depth/image_rect", "points"))
    run(recording, tmp_path / "spread", segment=7, jobs=2, outputs=("depth/image_rect", "points"))
    assert len(list((tmp_path / "many").glob("*.mcap"))) == 6
    assert read(tmp_path / "one") == read(tmp_path / "many") == read(tmp_path / "spread")


def test_calibration_of_the_same_stamp_even_if_recorded_later(tmp_path: Path) -> None:
    messages = []
    for index in range(6):
        time = START_NS + index * STEP_NS
        messages += [(IMAGE, time, image(index)), (INFO, time + 15_000_000, info(index, focal=300.0 + 100 * index))]
    run(write(tmp_path / "in", messages), tmp_path / "out", segment=2)
    found = read(tmp_path / "out")
    assert [one.k[0] for one in decoded(found[DEPTH_INFO], "sensor_msgs/msg/CameraInfo")] == [300.0 + 100 * index for index in range(6)]
    depth = depth_values(decoded(found[DEPTH])[5])
    solid = np.isfinite(depth)
    np.testing.assert_array_equal(depth[solid], expected_depth(5, focal=800.0)[solid])


@pytest.mark.case(13)
@pytest.mark.case(43)
def test_a_camera_that_begins_anew_with_the_same_stamps(tmp_path: Path) -> None:
    """Its clock counts from 0 again, and it has another mode: pictures go with the calibration beside them, before or after."""
    messages = []
    for session, (focal, size) in enumerate(((300.0, (32, 24)), (600.0, (64, 48)), (300.0, (32, 24)))):
        for index in range(3):
            time = START_NS + (10 * session + index) * STEP_NS
            messages += [(IMAGE, time, image(index, size=size)), (INFO, time + (-1) ** session * 9_000_000, info(index, focal, size))]
    messages.sort(key=lambda message: message[1])
    summary = run(write(tmp_path / "in", messages), tmp_path / "out")
    found = decoded(read(tmp_path / "out")[DEPTH_INFO], "sensor_msgs/msg/CameraInfo")
    expected = [(32, 300.0)] * 3 + [(64, 600.0)] * 3 + [(32, 300.0)] * 3
    assert [(one.width, one.k[0]) for one in found] == expected and not summary.warnings


def test_latched_calibration_serves_all_that_follows_and_nothing_before(tmp_path: Path) -> None:
    messages = [(IMAGE, START_NS + index * STEP_NS, image(index)) for index in range(6)]
    messages.insert(2, (INFO, START_NS + 2 * STEP_NS - 5, info(99, focal=600.0)))
    run(write(tmp_path / "in", messages), tmp_path / "out", segment=3)
    found = read(tmp_path / "out")
    # Without a focal length the metric network gives no metres.
    assert stamps(found["/cam/relative/image"]) == [stamp(0), stamp(1)]
    assert stamps(found[DEPTH]) == [stamp(index) for index in range(2, 6)]
    assert {one.k[0] for one in decoded(found[DEPTH_INFO], "sensor_msgs/msg/CameraInfo")} == {600.0}


def test_every_nth_picture(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(20))
    summary = run(recording, tmp_path / "out", every=3, segment=4)
    assert (summary.pictures, summary.processed, summary.passed_over) == (20, 7, 13)
    found = read(tmp_path / "out")
    assert stamps(found[DEPTH]) == [stamp(index) for index in range(0, 20, 3)]
    assert len(found[IMAGE]) == 20


def test_a_range_of_time_with_what_was_latched_before(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(20))
    summary = run(recording, tmp_path / "out", start=0.1, stop=0.2)
    assert summary.pictures == 5
    found = read(tmp_path / "out")
    assert stamps(found[DEPTH]) == [stamp(index) for index in range(5, 10)]
    assert stamps(found[IMAGE]) == [stamp(index) for index in range(5, 10)]
    assert [time for time, _ in found[TF_STATIC]] == [START_NS + 100_000_000]
    with pytest.raises(InputError, match="no pictures in the range"):
        run(recording, tmp_path / "nothing", start=5.0)


def test_parameters_are_those_of_the_node(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(2))
    run(recording, tmp_path / "out", node={"depth_encoding": "16UC1"})
    (first, _) = decoded(read(tmp_path / "out")[DEPTH])
    values = first.data.view(np.uint16).reshape(24, 32)
    sky = pixels(0)[:, :, 2] > 250
    np.testing.assert_array_equal(values, np.where(sky, 0, np.rint(expected_depth(0) * 1000.0)).astype(np.uint16))


def test_bad_pictures_are_counted_and_named(tmp_path: Path) -> None:
    messages = camera_messages(10)
    at = [index for index, (topic, _, _) in enumerate(messages) if topic == IMAGE]
    messages[at[2]] = (IMAGE, messages[at[2]][1], image(2, encoding="foo"))
    messages[at[4]] = (IMAGE, messages[at[4]][1], image(4)[:200])
    messages[at[6]] = (IMAGE, messages[at[6]][1], b"\0\1\0\0")
    summary = run(write(tmp_path / "in", messages), tmp_path / "out", engine=failing_engine)
    # The engine's fifth picture is number 5 + 3 - 1.
    assert (summary.pictures, summary.processed, summary.refused) == (10, 6, 4)
    assert stamps(read(tmp_path / "out")[DEPTH]) == [stamp(index) for index in (0, 1, 3, 5, 8, 9)]
    assert len(summary.refusals) == 4 and "foo" in summary.refusals[0] and all(IMAGE in text for text in summary.refusals)


def test_without_one_usable_picture_there_is_no_output(tmp_path: Path) -> None:
    messages = [(IMAGE, START_NS + index, image(index, encoding="foo")) for index in range(3)]
    with pytest.raises(InputError, match=r"None of the 3 pictures.*foo"):
        run(write(tmp_path / "in", messages), tmp_path / "out")
    assert sorted(child.name for child in tmp_path.iterdir()) == ["in", "model.gguf"]


def test_pictures_of_one_time_of_recording_stay_together(tmp_path: Path) -> None:
    messages = [(IMAGE, START_NS + index // 4, image(index)) for index in range(20)]
    summary = run(write(tmp_path / "in", messages), tmp_path / "out", segment=3, node={"focal": 300.0})
    assert summary.processed == 20
    assert sorted(stamps(read(tmp_path / "out")[DEPTH])) == [stamp(index) for index in range(20)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "Every 0"),
        ({"start": -1.0}, "From -1"),
        ({"start": 2.0, "stop": 1.0}, "To 1.0"),
        ({"storage": "tape"}, "tape"),
        ({"segment": 0}, "Segment 0"),
        ({"jobs": 0}, "Jobs 0"),
        ({"jobs": -1, "cluster": "local"}, "Jobs -1"),
        ({"keep": ("/nothing",)}, "/nothing"),
        ({"outputs": ("depth/colour",)}, "depth/colour"),
        ({"images": ("/nothing",)}, "/nothing"),
        ({"images": (TEXT,)}, TEXT),
        ({"node": {"processing": ProcessingOptions(scale_source="range")}}, "scale/points"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: dict, message: str) -> None:
    recording = write(tmp_path / "in", camera_messages(2))
    with pytest.raises(OptionError, match=message):
        run(recording, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
