"""Recordings as people have them: damaged, compressed, split, with unknown types, under any name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import cv2
import pytest
from bag_tools import START_NS, TYPES, verb, write_bag, write_mcap, write_unclosed_sqlite
from bag_tools import some_messages as bag_messages
from mcap.writer import CompressionType
from replay_tools import IMAGE, INFO, KINDS, camera_messages, cdr, header, image, pixels, read, run, stamp, stamps, write
from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import Reader
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

from depth_anything_ros.errors import InputError, OptionError

DEPTH = "/depth/image_rect"
FOCAL = {"node": {"focal": 300.0}}
STORAGES = ("mcap", "sqlite3")


def picture_stamps(count: int) -> list[int]:
    """Of the pictures of `bag_tools.some_messages`."""
    return [(1_600_000_000 + index) * 10**9 + index for index in range(count)]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(57)
def test_bag_without_metadata(tmp_path: Path, storage: str) -> None:
    recording = write_bag(tmp_path / "in", bag_messages(), storage)
    (recording / "metadata.yaml").unlink()
    summary = run(recording, tmp_path / "out", **FOCAL)
    assert stamps(read(tmp_path / "out")[DEPTH]) == picture_stamps(10)
    assert len(summary.warnings) == 1 and "metadata.yaml is missing" in summary.warnings[0]


@pytest.mark.case(57)
def test_bare_files_and_a_log_that_was_left(tmp_path: Path) -> None:
    run(write_mcap(tmp_path / "a.mcap", bag_messages()), tmp_path / "a", **FOCAL)
    summary = run(write_unclosed_sqlite(tmp_path / "b.db3", bag_messages()), tmp_path / "b", **FOCAL)
    assert stamps(read(tmp_path / "a")[DEPTH]) == stamps(read(tmp_path / "b")[DEPTH]) == picture_stamps(10)
    assert "write-ahead log" in summary.warnings[0]


def test_single_damaged_messages_do_not_end_it(tmp_path: Path) -> None:
    """The first picture and the first camera_info: the rest is as if they were not there."""
    messages = camera_messages(6)
    damaged = {(IMAGE, 0): b"\0\1\0\0 no picture", (INFO, 0): b"\7\7\7\7", (INFO, 3): b""}
    seen = {IMAGE: 0, INFO: 0}
    for at, (topic, time, data) in enumerate(messages):
        if topic in seen:
            cut = damaged.get((topic, seen[topic]))
            messages[at] = (topic, time, data if cut is None else cut + data[4:] if topic == INFO and cut else cut)
            seen[topic] += 1
    summary = run(write(tmp_path / "in", messages), tmp_path / "out")
    assert (summary.pictures, summary.processed, summary.refused) == (6, 5, 1) and f"{IMAGE} at" in summary.refusals[0]
    (warning,) = summary.warnings
    assert f"{INFO} at" in warning and "passed over" in warning
    found = read(tmp_path / "out")
    assert stamps(found["/cam/depth/image_rect"]) == [stamp(index) for index in range(1, 6)], "in metres: the others have their calibration"


@pytest.mark.parametrize("name", ["nothing", "empty", "text.txt"])
@pytest.mark.case(57)
def test_what_is_no_recording(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("no bag")
    with pytest.raises(InputError, match=name):
        run(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.case(58)
def test_cut_mcap_gives_depth_for_all_before_the_cut(tmp_path: Path, share: float, compression: CompressionType) -> None:
    whole = write_mcap(tmp_path / "whole.mcap", bag_messages(40), compression).read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: int(len(whole) * share)])
    summary = run(tmp_path / "cut.mcap", tmp_path / "out", segment=5, **FOCAL)
    found = read(tmp_path / "out")
    assert stamps(found[DEPTH]) == stamps(found["/image"]) == picture_stamps(summary.processed)
    assert summary.processed >= int(40 * share * 0.8)
    assert len(summary.warnings) == 1 and "cut" in summary.warnings[0]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("compression", ["none", "file", "message"])
@pytest.mark.case(59)
def test_compressed_bags(tmp_path: Path, storage: str, compression: str) -> None:
    run(write_bag(tmp_path / "in", bag_messages(), storage, compression), tmp_path / "out", segment=4, **FOCAL)
    put = [(time, data) for topic, time, data in bag_messages() if topic == "/image"]
    found = read(tmp_path / "out")
    assert found["/image"] == put and stamps(found[DEPTH]) == picture_stamps(10)


@pytest.mark.parametrize("compression", [CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.case(59)
def test_compressed_chunks_of_the_mcap_package(tmp_path: Path, compression: CompressionType) -> None:
    run(write_mcap(tmp_path / "in.mcap", bag_messages(), compression), tmp_path / "out", **FOCAL)
    assert stamps(read(tmp_path / "out")[DEPTH]) == picture_stamps(10)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(61)
def test_unknown_types_are_copied_and_stop_nothing(tmp_path: Path, storage: str) -> None:
    types = {"/image": "sensor_msgs/msg/Image", "/text": "std_msgs/msg/String", "/strange": "their_msgs/msg/Thing", "/bare": ""}
    strange = [(topic, START_NS + 5, b"\0\1\0\0abcd") for topic in ("/strange", "/bare")]
    recording = write_mcap(tmp_path / "in.mcap", bag_messages() + strange, types=types)
    run(recording, tmp_path / "out", storage=storage, **FOCAL)
    found = read(tmp_path / "out")
    assert stamps(found[DEPTH]) == picture_stamps(10)
    assert found["/strange"] == found["/bare"] == [(START_NS + 5, b"\0\1\0\0abcd")]
    with Reader(tmp_path / "out") as reader:
        kinds = {one.topic: (one.msgtype, one.digest) for one in reader.connections}
        assert kinds["/strange"] == ("their_msgs/msg/Thing", "INVALID")
        assert kinds["/image"] == ("sensor_msgs/msg/Image", TYPES.hash_rihs01("sensor_msgs/msg/Image"))


@pytest.mark.case(61)
def test_a_definition_of_their_own_goes_with_the_topic(tmp_path: Path) -> None:
    """The text of an older Image, with other comments and names, stays the one of the bag; its pictures are read all the same."""
    text = "# An old one\n" + TYPES.generate_msgdef("sensor_msgs/msg/Image", ros_version=2)[0].replace("is_bigendian", "bigendian")
    from mcap.writer import Writer

    with (tmp_path / "in.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="test")
        channel = writer.register_channel("/image", "cdr", writer.register_schema("sensor_msgs/msg/Image", "ros2msg", text.encode()))
        for index in range(3):
            writer.add_message(channel, log_time=START_NS + index, publish_time=START_NS + index, data=image(index))
        writer.finish()
    run(tmp_path / "in.mcap", tmp_path / "out", **FOCAL)
    assert stamps(read(tmp_path / "out")[DEPTH]) == [stamp(index) for index in range(3)]
    with Reader(tmp_path / "out") as reader:
        (one,) = [one for one in reader.connections if one.topic == "/image"]
        assert one.msgdef.format is MessageDefinitionFormat.MSG and one.msgdef.data == text


@pytest.mark.case(62)
def test_no_pictures_and_too_many_image_topics(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no pictures; its image topics: /image \(0 messages\)"):
        run(write_bag(tmp_path / "empty", []), tmp_path / "out")
    texts = [one for one in bag_messages() if one[0] == "/text"]
    with pytest.raises(InputError, match="holds no pictures"):
        run(write_bag(tmp_path / "texts", texts), tmp_path / "out")
    kinds = {"/left/image": KINDS[IMAGE], "/right/image": KINDS[IMAGE], "/left/depth": KINDS[IMAGE]}
    both = [(topic, START_NS, image(0, "32FC1" if "depth" in topic else "rgb8")) for topic in kinds]
    recording = write(tmp_path / "both", both, kinds=kinds)
    with pytest.raises(OptionError, match=r"several image topics: /left/image, /right/image; choose with --image"):
        run(recording, tmp_path / "out")
    assert run(recording, tmp_path / "out", images=("/right/image",)).processed == 1


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(62)
def test_split_bag(tmp_path: Path, storage: str) -> None:
    messages = camera_messages(30)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        part = write(tmp_path / f"part{number}", messages[number * 30 : (number + 1) * 30 + number // 2], storage)
        file = next(child for child in part.iterdir() if child.suffix in (".mcap", ".db3"))
        shutil.move(file, folder / file.name)
    summary = run(folder, tmp_path / "out", segment=8, storage=storage)
    assert summary.processed == 30
    found = read(tmp_path / "out")
    assert found[IMAGE] == [(time, data) for topic, time, data in messages if topic == IMAGE]
    assert stamps(found["/cam/depth/image_rect"]) == [stamp(index) for index in range(30)]
    # What was written in segments is a split bag itself.
    again = run(tmp_path / "out", tmp_path / "again", images=(IMAGE,))
    per_segment = {"/cam/depth/scale"}
    assert again.processed == 30 and again.topics.keys() == summary.topics.keys()
    assert all(again.topics[name] == count for name, count in summary.topics.items() if name not in per_segment)


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["with space", "שלום", "мир", "📷", "it's", "n" * 250, "ш" * 120, "trailing "])
def test_names_in_any_script(tmp_path: Path, name: str) -> None:
    recording = write(tmp_path / f"{name[:240]}", camera_messages(4))
    models = tmp_path / "m" / name
    models.parent.mkdir()
    models.touch()
    outputs = tmp_path / "o" / name
    run(recording, outputs, model=models, segment=2)
    assert stamps(read(outputs)["/cam/depth/image_rect"]) == [stamp(index) for index in range(4)]
    assert [child.name for child in outputs.parent.iterdir()] == [name]


@pytest.mark.native
@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["it's 📷 мир ", "שלום"])
def test_names_on_the_command_line(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    home.mkdir()
    write(home / "in", camera_messages(3))
    (tmp_path / "link").symlink_to(home / "in")
    write_toy_model(home, SMALLEST_ANY_VIEW).rename(home / f"{name}.gguf")
    parameters = home / f"{name}.yaml"
    parameters.write_text("/**: {ros__parameters: {resolution: 56}}", encoding="utf-8")
    environment = {"HOME": str(home), "PYTHONPATH": os.getcwd()}
    arguments = ("--model", f"~/{name}.gguf", "--params-file", parameters)
    for recording, output, folder in (("~/in", "~/out", tmp_path), (tmp_path / "link", "relative out", home)):
        process = verb("replay", recording, "-o", output, *arguments, cwd=folder, extra=environment)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert read(home / "out").keys() == read(home / "relative out").keys()
    assert len(read(home / "out")["/cam/relative/image"]) == 3


def compressed(index: int) -> bytes:
    """The picture as PNG, which loses nothing."""
    data = cv2.imencode(".png", pixels(index)[:, :, ::-1])[1].ravel()
    return cdr("sensor_msgs/msg/CompressedImage", header=header(index), format="rgb8; png compressed bgr8", data=data)


def test_compressed_pictures(tmp_path: Path) -> None:
    plain, packed = "/cam/image_rect", "/cam/image_rect/compressed"
    kinds = {plain: KINDS[IMAGE], packed: "sensor_msgs/msg/CompressedImage"}
    both = [(packed, START_NS + index, compressed(index)) for index in range(4)] + [(plain, START_NS + 9, image(5))]
    recording = write(tmp_path / "in", both, kinds=kinds)
    run(recording, tmp_path / "packed", node={"focal": 300.0, "image_transport": "compressed"}, keep=("none",))
    run(recording, tmp_path / "named", images=(packed,), node={"focal": 300.0}, keep=("none",))
    assert read(tmp_path / "packed")["/cam/depth/image_rect"] == read(tmp_path / "named")["/cam/depth/image_rect"]
    assert stamps(read(tmp_path / "named")["/cam/depth/image_rect"]) == [stamp(index) for index in range(4)]
    run(recording, tmp_path / "plain", node={"focal": 300.0}, keep=("none",))
    assert stamps(read(tmp_path / "plain")["/cam/depth/image_rect"]) == [stamp(5)]
    raw = write(tmp_path / "raw", [(plain, START_NS + index, image(index)) for index in range(4)], kinds={plain: KINDS[IMAGE]})
    run(raw, tmp_path / "of_raw", node={"focal": 300.0}, keep=("none",))
    assert read(tmp_path / "of_raw")["/cam/depth/image_rect"] == read(tmp_path / "named")["/cam/depth/image_rect"]


def test_cameras_of_the_parameter(tmp_path: Path) -> None:
    kinds = {f"/robot/{name}/image": KINDS[IMAGE] for name in ("front", "left", "back")}
    recording = write(tmp_path / "in", [(topic, START_NS + index, image(index)) for index, topic in enumerate(kinds)], kinds=kinds)
    node = {"cameras": ("front", "left"), "focal": 300.0}
    run(recording, tmp_path / "out", namespace="/robot", node=node, keep=("none",))
    found = read(tmp_path / "out")
    assert stamps(found["/robot/front/depth/image_rect"]) == [stamp(0)]
    assert not any(topic.startswith("/robot/back") for topic in found) and any(topic.startswith("/robot/left/") for topic in found)
    with pytest.raises(OptionError, match="/front/image is no image topic"):
        run(recording, tmp_path / "nothing", node=node)
