"""Bags as people have them: whole, split, compressed, cut, without metadata. What must come out is what was put in."""

from __future__ import annotations

import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from bag_tools import START_NS, some_messages, write_bag, write_mcap, write_unclosed_sqlite
from mcap.writer import CompressionType

from depth_anything_ros.errors import InputError
from depth_anything_ros.ros.bag_reader import BagReader

ALL = ("/image", "/text")
STORAGES = ("mcap", "sqlite3")


def read(path: Path, topics: tuple[str, ...] = ALL) -> tuple[list[tuple[str, int, bytes]], list[str]]:
    with BagReader(path) as reader:
        messages = [tuple(message) for message in reader.messages(topics)]
        return messages, reader.warnings


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("compression", ["none", "file", "message"])
@pytest.mark.case(59)
def test_whole_bags_of_every_compression(tmp_path: Path, storage: str, compression: str) -> None:
    messages = some_messages()
    assert read(write_bag(tmp_path / "bag", messages, storage, compression)) == (messages, [])


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.case(59)
def test_bare_mcap_of_another_writer(tmp_path: Path, compression: CompressionType) -> None:
    messages = some_messages()
    assert read(write_mcap(tmp_path / "a.mcap", messages, compression)) == (messages, [])


def test_topics_and_selection(tmp_path: Path) -> None:
    messages = some_messages(4)
    path = write_bag(tmp_path / "bag", messages)
    with BagReader(path) as reader:
        assert {(topic.name, topic.type, topic.count) for topic in reader.topics.values()} == {
            ("/image", "sensor_msgs/msg/Image", 4),
            ("/text", "std_msgs/msg/String", 4),
        }
    assert read(path, ("/text",))[0] == [message for message in messages if message[0] == "/text"]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("metadata", [None, "", "nonsense: [", "rosbag2_bagfile_information: {version: 9}"])
@pytest.mark.case(57)
def test_folder_without_usable_metadata(tmp_path: Path, storage: str, metadata: str | None) -> None:
    messages = some_messages()
    path = write_bag(tmp_path / "bag", messages, storage)
    (path / "metadata.yaml").unlink()
    if metadata is not None:
        (path / "metadata.yaml").write_text(metadata)
    found, warnings = read(path)
    assert found == messages
    assert len(warnings) == 1 and "metadata" in warnings[0].lower() and "reindex" in warnings[0]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(57)
def test_storage_file_as_argument(tmp_path: Path, storage: str) -> None:
    messages = some_messages()
    folder = write_bag(tmp_path / "bag", messages, storage)
    file = next(child for child in folder.iterdir() if child.suffix in (".mcap", ".db3"))
    assert read(file) == (messages, [])


@pytest.mark.case(57)
def test_write_ahead_log_beside_the_database(tmp_path: Path) -> None:
    messages = some_messages()
    path = write_unclosed_sqlite(tmp_path / "a.db3", messages)
    found, warnings = read(path)
    assert found == messages
    assert len(warnings) == 1 and "write-ahead log" in warnings[0]


@pytest.mark.parametrize("kind", ["write-ahead log", "zstd"])
def test_no_room_for_a_temporary_copy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = tmp_path / "a.db3"
    if kind == "zstd":
        path = write_bag(tmp_path / "bag", some_messages(), "mcap", "file")
    else:
        write_unclosed_sqlite(path, some_messages())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))
    with pytest.raises(InputError, match=r"temporary copy.*No such file.*TMPDIR") as refusal:
        read(path)
    assert refusal.value.code == "input.file"


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b""),
        lambda path: path.with_suffix(".mcap").write_bytes(b"not a bag at all" * 10),
        lambda path: path.with_suffix(".db3").write_bytes(b"not a bag at all" * 10),
        lambda path: path.with_suffix(".db3").write_bytes(b""),
        lambda path: path.with_suffix(".mcap").write_bytes(b""),
    ],
    ids=["absent", "empty folder", "no suffix", "foreign mcap", "foreign db3", "empty db3", "empty mcap"],
)
@pytest.mark.case(57)
def test_what_is_no_bag_is_refused_by_name(tmp_path: Path, make: object) -> None:
    make(tmp_path / "thing")
    path = next(tmp_path.iterdir(), tmp_path / "thing")
    with pytest.raises(InputError, match="thing") as caught:
        BagReader(path)
    assert caught.value.code == "input.bag"


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.case(58)
def test_cut_mcap_gives_all_before_the_cut(tmp_path: Path, share: float, compression: CompressionType) -> None:
    messages = some_messages(40)
    whole = write_mcap(tmp_path / "whole.mcap", messages, compression).read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole[: int(len(whole) * share)])
    found, warnings = read(cut)
    assert found == messages[: len(found)]
    assert len(warnings) == 1 and "cut.mcap" in warnings[0]
    if compression is CompressionType.NONE:
        assert len(found) == sum(whole.find(data) + len(data) <= int(len(whole) * share) for _, _, data in messages)
    else:
        # One message may be incomplete and the compressor holds back at most a block.
        assert len(found) >= len(messages) * share * 0.8


@pytest.mark.parametrize("cut", [1, 8, 12, 20, 30])
@pytest.mark.case(58)
def test_cut_inside_the_footer_loses_nothing(tmp_path: Path, cut: int) -> None:
    messages = some_messages()
    path = write_mcap(tmp_path / "a.mcap", messages)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(path)[0] == messages


@pytest.mark.case(58)
def test_senseless_length_needs_no_memory(tmp_path: Path) -> None:
    messages = some_messages(20)
    path = write_mcap(tmp_path / "a.mcap", messages)
    data = bytearray(path.read_bytes())
    second_chunk = data.index(b"\x06", data.index(messages[6][2]) + len(messages[6][2]))
    data[second_chunk + 1 : second_chunk + 9] = struct.pack("<Q", 1 << 60)
    path.write_bytes(data[:-100])
    code = (
        "import resource, sys; from pathlib import Path; from depth_anything_ros.ros.bag_reader import BagReader\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "with BagReader(Path(sys.argv[1])) as reader: count = sum(1 for _ in reader.messages(('/image', '/text')))\n"
        "print(count, len(reader.warnings), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True, preexec_fn=_limit_memory)
    count, warnings, grown = map(int, done.stdout.split())
    assert 0 < count < len(messages) and warnings == 1
    assert grown < 100 * 1024


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(59)
def test_cut_zstd_file_is_named(tmp_path: Path, storage: str) -> None:
    path = write_bag(tmp_path / "bag", some_messages(40), storage, "file")
    packed = next(child for child in path.iterdir() if child.suffix == ".zstd")
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    try:
        found, warnings = read(path)
    except InputError as error:
        assert packed.stem in str(error)
    else:
        assert found == some_messages(40)[: len(found)]
        assert any("zstd" in warning for warning in warnings)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(62)
def test_split_bag_without_metadata_is_read_in_order(tmp_path: Path, storage: str) -> None:
    messages = some_messages(9)
    folder = tmp_path / "bag"
    folder.mkdir()
    # Names whose alphabetical order is not that of time.
    for name, part in (("bag_10", messages[12:]), ("bag_2", messages[:6]), ("bag_3", messages[6:12])):
        file = next(child for child in write_bag(tmp_path / name, part, storage).iterdir() if child.suffix in (".mcap", ".db3"))
        shutil.move(file, folder / file.name)
    found, _ = read(folder)
    assert found == messages


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.case(62)
def test_empty_bag_has_topics_and_no_messages(tmp_path: Path, storage: str) -> None:
    with BagReader(write_bag(tmp_path / "bag", [], storage)) as reader:
        assert set(reader.topics) == set(ALL)
        assert list(reader.messages(ALL)) == []


@pytest.mark.case(70)
@pytest.mark.parametrize("name", ["with space", "שלום", "мир", "📷", "it's", "n" * 240, "trailing "])
def test_names_in_any_script(tmp_path: Path, name: str) -> None:
    messages = some_messages(2)
    assert read(write_bag(tmp_path / name, messages)) == (messages, [])


def test_stamps_are_those_of_the_recording(tmp_path: Path) -> None:
    found, _ = read(write_bag(tmp_path / "bag", some_messages(1)))
    assert [stamp for _, stamp, _ in found] == [START_NS, START_NS + 10_000_000]


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
