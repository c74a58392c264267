"""What a replay refuses or tells at once, instead of giving something else than it was asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import START_NS, STEP_NS
from fake_engine import ANY_VIEW, FakeEngine
from replay_tools import (
    IMAGE,
    INFO,
    KINDS,
    any_view_engine,
    camera_messages,
    cdr,
    decoded,
    header,
    image,
    info,
    metric_engine,
    pixels,
    read,
    run,
    write,
)
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

from depth_anything_ros.cli import main
from depth_anything_ros.errors import CancelledError, InputError, OptionError
from depth_anything_ros.pipeline import ProcessingOptions
from depth_anything_ros.replay.options import ReplayOptions
from depth_anything_ros.replay.run import replay
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.ros.parameters import NodeOptions

COMPRESSED = "sensor_msgs/msg/CompressedImage"


def pairs(image_topic: str, info_topic: str, calibration: bytes, count: int = 2) -> list[tuple[str, int, bytes]]:
    """A calibration and a picture, again and again."""
    times = [START_NS + index * STEP_NS for index in range(count)]
    return [one for at, time in enumerate(times) for one in ((info_topic, time, calibration), (image_topic, time + 1, image(at)))]


def recorded(folder: Path, image_topic: str, info_topic: str, calibration: bytes) -> Path:
    return write(folder, pairs(image_topic, info_topic, calibration), kinds={image_topic: KINDS[IMAGE], info_topic: KINDS[INFO]})


def test_two_cameras_with_the_same_outputs(tmp_path: Path) -> None:
    kinds = {"/cam/left": KINDS[IMAGE], "/cam/right": KINDS[IMAGE]}
    recording = write(tmp_path / "in", [(topic, START_NS, image(0)) for topic in kinds], kinds=kinds)
    with pytest.raises(OptionError, match="/cam/left and of /cam/right would both be /cam/depth/image_rect"):
        run(recording, tmp_path / "out", images=tuple(kinds))
    run(recording, tmp_path / "out", images=("/cam/right",), namespace="/cam/right", node={"focal": 300.0})
    assert len(read(tmp_path / "out")["/cam/right/depth/image_rect"]) == 1


def test_outputs_never_take_the_place_of_the_cameras_own_topics(tmp_path: Path) -> None:
    """The layout of old Kinect drivers, in the namespace that they had."""
    recording = recorded(tmp_path / "in", "/cam/rgb/image_raw", "/cam/rgb/camera_info", info(0))
    with pytest.raises(OptionError, match=r"/cam/rgb/camera_info would take the place.*--namespace"):
        run(recording, tmp_path / "out", namespace="/cam")
    assert not (tmp_path / "out").exists()
    summary = run(recording, tmp_path / "out", namespace="/cam", outputs=("depth/image_rect",))
    found = read(tmp_path / "out")
    assert len(found["/cam/rgb/camera_info"]) == len(found["/cam/depth/image_rect"]) == 2 and not summary.warnings


def test_recorded_depth_that_gives_way_is_told(tmp_path: Path) -> None:
    depth = "/cam/depth/image_rect"
    kinds = {**KINDS, depth: KINDS[IMAGE]}
    recording = write(tmp_path / "in", [*camera_messages(2), (depth, START_NS + 2 * STEP_NS, image(9))], kinds=kinds)
    summary = run(recording, tmp_path / "out", images=(IMAGE,), segment=1)
    assert summary.warnings == (f"recorded topics that new ones take the place of: {depth}",)
    assert len(read(tmp_path / "out")[depth]) == 2
    assert not run(recording, tmp_path / "else", images=(IMAGE,), namespace="/else").warnings


@pytest.mark.case(21)
@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("topic", "calibration", "node", "message"),
    [
        ("image_rect", info(0, size=(32, 10)), {}, "describes a picture of 32x10 pixels, but the image has 32x24"),
        ("image_rect", info(0, focal=0.0), {}, "not calibrated"),
        ("image_raw", info(0, d=(0.1, 0.0, 0.0, 0.0, 0.0)), {"rectify": "off"}, "stays distorted .*cloud is approximate"),
        ("image_raw", info(0, d=(0.1,) * 7), {}, "must be 4 or 5 finite terms"),
    ],
)
def test_what_is_wrong_with_a_calibration_is_told_once(tmp_path: Path, topic: str, calibration: bytes, node: dict, message: str) -> None:
    recording = recorded(tmp_path / "in", f"/cam/{topic}", INFO, calibration)
    summary = run(recording, tmp_path / "out", node=node, segment=1)
    (warning,) = summary.warnings
    assert re.match(f"/cam/{topic}: .*{message}", warning), warning


def test_a_calibration_that_is_good_or_not_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert not run(recorded(tmp_path / "in", IMAGE, INFO, info(0)), tmp_path / "out").warnings
    bare = write(tmp_path / "bare", [(IMAGE, START_NS, image(0))])
    assert not run(bare, tmp_path / "out_bare", any_view_engine).warnings


def test_a_remap_that_nobody_reads(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(1))
    with pytest.raises(OptionError, match=r"--remap image: scale.source model reads no topic \(pictures: --image"):
        run(recording, tmp_path / "out", remaps=(("image", "/other"),))
    with pytest.raises(OptionError, match=r"--remap scale/scan: scale\.source odometry reads .*scale/odom"):
        run(
            recording,
            tmp_path / "out",
            any_view_engine,
            remaps=(("scale/scan", "/scan"), ("scale/odom", "/text")),
            node={"processing": ProcessingOptions(scale_source="odometry")},
        )


def packed(stamp: int, form: str, picture: np.ndarray) -> bytes:
    return cdr(COMPRESSED, header=header(stamp), format=form, data=cv2.imencode(".png", picture)[1].ravel())


@pytest.mark.parametrize("transport", ["raw", "compressed"])
@pytest.mark.parametrize("name", ["/cam/color/jpeg", "/cam/color/image_raw/compressed"])
def test_compressed_pictures_beside_compressed_depth(tmp_path: Path, name: str, transport: str) -> None:
    """image_transport's names for depth: PNG of 16 bits, and compressedDepth, which no picture reader takes."""
    grey = np.full((24, 32), 1000, np.uint16)
    messages = [
        ("/cam/depth/image_raw/compressed", START_NS, packed(0, "16UC1; png compressed ", grey)),
        ("/cam/depth/image_raw/compressedDepth", START_NS + 1, packed(0, "16UC1; compressedDepth png", grey)),
        (name, START_NS + 2, packed(0, "rgb8; png compressed bgr8", pixels(3)[:, :, ::-1])),
    ]
    recording = write(tmp_path / "in", messages, kinds={topic: COMPRESSED for topic, _, _ in messages})
    run(recording, tmp_path / "out", node={"focal": 300.0, "image_transport": transport}, keep=("none",))
    (depth,) = decoded(read(tmp_path / "out")["/cam/color/depth/image_rect"])
    assert (depth.height, depth.width) == (24, 32)


def test_an_option_that_did_not_fit_can_be_corrected(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(2))
    for wrong in ({"outputs": ("depht",)}, {"start": 1e6}):
        with pytest.raises((OptionError, InputError), match=r"--outputs depht|no pictures in the range"):
            run(recording, tmp_path / "out", **wrong)
    assert run(recording, tmp_path / "out", outputs=("depth/image_rect",)).processed == 2
    assert sorted(child.name for child in tmp_path.iterdir()) == ["in", "model.gguf", "out"]


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_ranges_that_end_after_all_time(tmp_path: Path, storage: str) -> None:
    recording = write(tmp_path / "in", camera_messages(3), storage)
    for number, stop in enumerate((float("inf"), 1e300, 1e10)):
        assert run(recording, tmp_path / f"out{number}", stop=stop, storage=storage).processed == 3


def test_a_recording_that_cannot_be_replayed_leaves_nothing(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(2))
    with pytest.raises(InputError, match="no pictures in the range"):
        run(recording, tmp_path / "out", start=1e6)
    assert sorted(child.name for child in tmp_path.iterdir()) == ["in", "model.gguf"]


def doubtful_engine(options: NodeOptions) -> FakeEngine:
    return FakeEngine(replace(ANY_VIEW, checkpoint="DA3-NANO"))


def test_a_model_that_is_for_demos_is_told(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(1))
    (warning,) = run(recording, tmp_path / "out", doubtful_engine).warnings
    assert warning.startswith("DA3-NANO ")


def test_a_stop_is_heard_while_the_recording_is_looked_through(tmp_path: Path) -> None:
    recording, model = write(tmp_path / "in", camera_messages(50)), tmp_path / "model.gguf"
    model.touch()
    calls: list[int] = []

    def stopping() -> bool:
        calls.append(1)
        return len(calls) > 30

    with pytest.raises(CancelledError):
        replay(
            SourceOptions(recording), ReplayOptions(tmp_path / "out", NodeOptions(model=str(model))), stopping, load_engine=metric_engine
        )
    assert len(calls) == 31, "in the first pass, which has a hundred heads"
    assert sorted(child.name for child in tmp_path.iterdir()) == ["in", "model.gguf"]


@pytest.mark.native
def test_what_nothing_came_of_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Metres of a model without, by a source that measures none here; a rectified picture of a camera without distortion."""
    recording, model = write(tmp_path / "in", camera_messages(2)), write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    common = ["replay", str(recording), "--model", str(model), "-p", "resolution:=56"]
    assert main([*common, "-o", str(tmp_path / "never"), "--outputs", "depth/image_rect", "points"]) == 2
    assert "nothing would come of it" in capsys.readouterr().err and not (tmp_path / "never").exists()
    source = ["-p", "scale.source:=camera_height", "-p", "scale.camera_height.height:=1.0"]
    assert main([*common, "-o", str(tmp_path / "out"), *source, "--outputs", "relative/image", "points", "rgb/camera_info"]) == 0
    err = capsys.readouterr().err
    assert "2 pictures without metres; depth/scale says why scale.source camera_height" in err
    assert "nothing came of --outputs points rgb/camera_info" in err
