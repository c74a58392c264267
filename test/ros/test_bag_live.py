"""`play` and `record` as processes on the real middleware."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import rclpy
from bag_tools import Messages, some_messages, verb, write_bag, write_mcap, write_unclosed_sqlite
from std_msgs.msg import Header, String

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros import bag_recorder
from depth_anything_ros.ros.bag_reader import BagReader
from depth_anything_ros.ros.bag_writer import BagWriter
from depth_anything_ros.ros.middleware import middleware

pytestmark = pytest.mark.ros
STORAGES = ("mcap", "sqlite3")


@pytest.fixture
def domain() -> int:
    """A ROS domain that no other test run on this machine is likely to use."""
    return 1 + os.getpid() % 100


@pytest.fixture
def verbs(domain: int) -> Iterator[object]:
    """Starts a verb; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        started.append(verb(*arguments, domain=domain))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str], timeout: float = 30.0) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    assert "Traceback" not in err
    return process.returncode, out, err


def content(bag: Path) -> dict[str, list[bytes]]:
    """Bytes of the messages per topic."""
    with BagReader(bag) as reader:
        found: dict[str, list[bytes]] = {name: [] for name in reader.topics}
        for message in reader.messages(found):
            found[message.topic].append(message.data)
        return found


def expected(messages: Messages) -> dict[str, list[bytes]]:
    return {topic: [data for name, _, data in messages if name == topic] for topic in ("/image", "/text")}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(62)
def test_round_trip_keeps_every_byte(tmp_path: Path, verbs: object, storage: str) -> None:
    messages = some_messages(40)
    bag = write_bag(tmp_path / "in", messages, storage)
    recorder = verbs("record", "-o", tmp_path / "out", "--storage", storage, "--count", len(messages), "/image", "/text")
    player = verbs("play", bag, "--wait-for", "/image", "/text", "--wait", 20)
    assert finish(player)[0] == 0
    assert finish(recorder)[0] == 0
    assert content(tmp_path / "out") == expected(messages)
    with BagReader(tmp_path / "out") as reader, BagReader(bag) as original:
        assert {name: topic.type for name, topic in reader.topics.items()} == {name: topic.type for name, topic in original.topics.items()}
        offers = [offer for topic in reader.topics.values() for offer in topic.qos]
        assert [offer.reliability.name for offer in offers] == ["RELIABLE", "RELIABLE"]
        stamps = [message.stamp_ns for message in reader.messages(("/image",))]
    # Recorded with the time of arrival: as far apart as in the original (0.78 s), and now.
    assert stamps == sorted(stamps)
    assert (stamps[-1] - stamps[0]) * 1e-9 == pytest.approx(0.78, abs=0.15)
    assert abs(time.time_ns() - stamps[-1]) < 60e9


def test_rate_loop_remap_and_selection(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(40)
    bag = write_bag(tmp_path / "in", messages)
    recorder = verbs("record", "-o", tmp_path / "out", "--until-idle", 1.5, "/robot/image", "/text")
    began = time.monotonic()
    player = verbs("play", bag, "--rate", 4, "--loop", 3, "--topics", "/image", "--remap", "/image:=/robot/image", "--wait", 20)
    assert finish(player)[0] == 0
    assert time.monotonic() - began < 20
    assert finish(recorder)[0] == 0
    assert content(tmp_path / "out") == {"/robot/image": expected(messages)["/image"] * 3}
    with BagReader(tmp_path / "out") as reader:
        stamps = [message.stamp_ns for message in reader.messages(("/robot/image",))]
    assert (stamps[-1] - stamps[0]) * 1e-9 == pytest.approx(3 * 0.78 / 4, abs=0.2)


def test_waits_for_the_second_reader(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(5)
    player = verbs("play", write_bag(tmp_path / "in", messages), "--wait-for", "/image", "/text", "--readers", 2, "--wait", 30)
    first = verbs("record", "-o", tmp_path / "a", "--count", len(messages), "/image", "/text")
    assert "recording" in first.stdout.readline() and "recording" in first.stdout.readline()
    time.sleep(1.0)
    assert player.poll() is None and first.poll() is None
    second = verbs("record", "-o", tmp_path / "b", "--count", len(messages), "/image", "/text")
    assert [finish(process)[0] for process in (player, first, second)] == [0, 0, 0]
    assert content(tmp_path / "a") == content(tmp_path / "b") == expected(messages)


def test_clock_tells_the_recorded_time(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(40)
    bag = write_bag(tmp_path / "in", messages)
    recorder = verbs("record", "-o", tmp_path / "out", "--until-idle", 1.5, "/clock")
    assert finish(verbs("play", bag, "--clock", "--wait", 2))[0] == 0
    assert finish(recorder)[0] == 0
    clocks = [
        int.from_bytes(data[4:8], "little") * 10**9 + int.from_bytes(data[8:12], "little") for data in content(tmp_path / "out")["/clock"]
    ]
    assert len(clocks) > 20
    assert clocks == sorted(clocks)
    assert messages[0][1] <= clocks[0] and clocks[-1] <= messages[-1][1]


@pytest.mark.case(61)
def test_unknown_type_is_skipped_with_one_message(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(10)
    types = {"/image": "sensor_msgs/msg/Image", "/text": "std_msgs/msg/String", "/strange": "their_msgs/msg/Thing", "/bare": ""}
    strange = [("/strange", stamp, b"\0\1\0\0abcd") for _, stamp, _ in messages[::2]]
    bare = [("/bare", stamp, b"\0\1\0\0abcd") for _, stamp, _ in messages[::2]]
    bag = write_mcap(tmp_path / "in.mcap", messages + strange + bare, types=types)
    recorder = verbs("record", "-o", tmp_path / "out", "--count", len(messages), "/image", "/text")
    code, out, _ = finish(verbs("play", bag, "--wait-for", "/image", "/text", "--wait", 20))
    assert code == 0
    assert out.count("their_msgs/msg/Thing") == 1 and out.count("skipping") == 2
    assert finish(recorder)[0] == 0
    assert content(tmp_path / "out") == expected(messages)


@pytest.mark.case(61)
@pytest.mark.parametrize("others", [False, True])
def test_recording_of_types_that_are_not_installed(tmp_path: Path, domain: int, monkeypatch: pytest.MonkeyPatch, others: bool) -> None:
    """Beside others one is skipped; alone it ends the recording, and no empty bag is left."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setattr(bag_recorder, "message_class", lambda name: String if "String" in name else None)
    said: list[str] = []
    with middleware(args=[]):
        node = rclpy.create_node("publishers")
        node.create_publisher(Header, "/strange", 1)
        node.create_publisher(String, "/text", 1)
        topics = ("/strange", "/text")[: 1 + others]
        options = bag_recorder.RecordOptions(topics, duration=5.0 if not others else 1.5)
        with ExitStack() as stack:
            if not others:
                stack.enter_context(pytest.raises(InputError, match="/strange cannot be recorded, and no other topic is left"))
            writer = stack.enter_context(BagWriter(tmp_path / "out"))
            bag_recorder.record(writer, options, lambda: False, said.append)
        node.destroy_node()
    assert (tmp_path / "out").exists() == others and not list(tmp_path.glob(".*"))
    assert [line.split(":")[0] for line in said if line.startswith("skipping")] == ["skipping /strange"] * others


@pytest.mark.case(58)
def test_damaged_bag_is_played_as_far_as_it_goes(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(40)
    bag = write_mcap(tmp_path / "in.mcap", messages)
    bag.write_bytes(bag.read_bytes()[: bag.stat().st_size * 6 // 10])
    recorder = verbs("record", "-o", tmp_path / "out", "--until-idle", 1.5, "/image", "/text")
    code, _, err = finish(verbs("play", bag, "--wait-for", "/image", "/text", "--wait", 20))
    assert code == 0
    assert err.count("warning:") == 1
    assert finish(recorder)[0] == 0
    found = content(tmp_path / "out")
    count = len(found["/image"])
    assert count > 15
    assert found["/image"] == expected(messages)["/image"][:count]


@pytest.mark.case(57)
def test_write_ahead_log_is_played(tmp_path: Path, verbs: object) -> None:
    messages = some_messages(10)
    recorder = verbs("record", "-o", tmp_path / "out", "--count", len(messages), "/image", "/text")
    assert (
        finish(verbs("play", write_unclosed_sqlite(tmp_path / "in.db3", messages), "--wait-for", "/image", "/text", "--wait", 20))[0] == 0
    )
    assert finish(recorder)[0] == 0
    assert content(tmp_path / "out") == expected(messages)


@pytest.mark.case(57)
@pytest.mark.case(62)
@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_bytes(b"")])
def test_no_bag_is_one_line_and_exit_code_4(tmp_path: Path, verbs: object, make: object) -> None:
    make(tmp_path / "thing")
    code, out, err = finish(verbs("play", tmp_path / "thing"))
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert str(tmp_path / "thing") in err


@pytest.mark.case(62)
def test_bag_without_messages_ends_at_once(tmp_path: Path, verbs: object) -> None:
    for loops in (1, 0):  # 0 is without end
        code, out, _ = finish(verbs("play", write_bag(tmp_path / f"in{loops}", []), "--wait", 0, "--loop", loops))
        assert code == 0
        assert "/image: 0 messages" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.case(50)
def test_signal_ends_both_in_order(tmp_path: Path, verbs: object, number: int) -> None:
    messages = some_messages(40)
    bag = write_bag(tmp_path / "in", messages)
    recorder = verbs("record", "-o", tmp_path / "out", "/image", "/text")
    player = verbs("play", bag, "--loop", 0, "--wait-for", "/image", "/text", "--wait", 20)
    assert "recording" in recorder.stdout.readline() and "recording" in recorder.stdout.readline()
    time.sleep(1.5)
    for process in (player, recorder):
        process.send_signal(number)
        process.send_signal(number)
        began = time.monotonic()
        assert finish(process, 10)[0] == 0
        assert time.monotonic() - began < 5
    found = content(tmp_path / "out")
    assert len(found["/image"]) > 20
    assert found["/image"][:20] == expected(messages)["/image"][:20]
    assert [child.name for child in tmp_path.iterdir() if child.name.startswith(".")] == []


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["with space", "שלום 📷", "it's"])
def test_paths_in_any_script(tmp_path: Path, verbs: object, name: str) -> None:
    messages = some_messages(3)
    bag = write_bag(tmp_path / f"{name} in", messages)
    recorder = verbs("record", "-o", tmp_path / f"{name} out", "--count", len(messages), "/image", "/text")
    assert finish(verbs("play", bag, "--wait-for", "/image", "/text", "--wait", 20))[0] == 0
    assert finish(recorder)[0] == 0
    assert content(tmp_path / f"{name} out") == expected(messages)


def test_existing_output_is_not_touched(tmp_path: Path, verbs: object) -> None:
    bag = write_bag(tmp_path / "out", some_messages(1))
    before = {child.name: child.read_bytes() for child in bag.iterdir()}
    code, _, err = finish(verbs("record", "-o", bag, "/image"))
    assert code == 2 and "exists already" in err
    assert {child.name: child.read_bytes() for child in bag.iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rate", "0"),
        ("--rate", "nan"),
        ("--loop", "-1"),
        ("--readers", "0"),
        ("--wait", "nan"),
        ("--topics", "/nothing"),
        ("--remap", "/image"),
        ("--remap", "/image:=not valid"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(tmp_path: Path, verbs: object, arguments: tuple[str, str]) -> None:
    code, _, err = finish(verbs("play", write_bag(tmp_path / "in", some_messages(1)), *arguments))
    assert (code, err.count("\n")) == (2, 1)
