"""Which topics are kept, which come new, of which camera, and what is said when nothing would come."""

from __future__ import annotations

from pathlib import Path

import pytest
from bag_tools import START_NS
from replay_tools import (
    IMAGE,
    INFO,
    TEXT,
    TF_STATIC,
    any_view_engine,
    camera_messages,
    decoded,
    image,
    metric_engine,
    read,
    run,
    stamp,
    stamps,
    write,
)

from depth_anything_ros.errors import OptionError
from depth_anything_ros.pipeline import ProcessingOptions

DEPTH, SCALE = "/cam/depth/image_rect", "/cam/depth/scale"
NEW = {DEPTH, "/cam/depth/camera_info", "/cam/depth/sky_mask", "/cam/depth/timing", SCALE}


@pytest.mark.parametrize(
    ("keep", "kept"),
    [(("all",), {IMAGE, INFO, TEXT, TF_STATIC}), (("none",), set()), ((TEXT,), {TEXT, TF_STATIC})],
)
def test_which_recorded_topics_are_kept(tmp_path: Path, keep: tuple[str, ...], kept: set[str]) -> None:
    run(write(tmp_path / "in", camera_messages(4)), tmp_path / "out", keep=keep)
    assert set(read(tmp_path / "out")) - NEW == kept


def test_which_outputs_are_written(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(3))
    run(recording, tmp_path / "some", keep=("none",), outputs=("points",))
    assert set(read(tmp_path / "some")) == {"/cam/points"}
    run(recording, tmp_path / "all", keep=("none",), outputs=("all",), engine=any_view_engine)
    names = (
        "relative/image",
        "relative/camera_info",
        "depth/confidence",
        "depth/timing",
        "depth/scale",
        "intrinsics",
        "depth/color",
        "depth/color/compressed",
    )
    assert set(read(tmp_path / "all")) == {f"/cam/{name}" for name in names}
    run(recording, tmp_path / "elsewhere", keep=("none",), namespace="/robot/eye")
    names = ("image_rect", "camera_info", "sky_mask", "timing", "scale")
    assert set(read(tmp_path / "elsewhere")) == {f"/robot/eye/depth/{name}" for name in names}


def test_nothing_of_what_was_asked_for(tmp_path: Path) -> None:
    """A relative model gives no cloud, a metric one without a focal length none either: said, at once or when it is known, and nothing is
    left that stands in the way of another try."""
    recording = write(tmp_path / "in", [one for one in camera_messages(3) if one[0] == IMAGE])
    for engine, message in (any_view_engine, "points: nothing would come.*relative_depth"), (metric_engine, r"--outputs.*scale\.source"):
        with pytest.raises(OptionError, match=message):
            run(recording, tmp_path / "out", keep=("none",), outputs=("points",), engine=engine)
        assert sorted(child.name for child in tmp_path.iterdir()) == ["in", "model.gguf"]
    run(recording, tmp_path / "out", keep=("none",), outputs=("relative/image",), engine=any_view_engine)
    assert set(read(tmp_path / "out")) == {"/cam/relative/image"}


@pytest.mark.parametrize(
    ("engine", "processing", "expected"),
    [
        (metric_engine, ProcessingOptions(), ("true", "model", "1", "")),
        (any_view_engine, ProcessingOptions(scale_source="constant", scale_value=2.5), ("true", "constant", "2.5", "")),
        (metric_engine, ProcessingOptions(scale_source="constant", scale_value=2.5), ("true", "model", "1", "constant is not used")),
        (any_view_engine, ProcessingOptions(), ("false", "model", "", "relative_depth; a metric model wants camera_info")),
    ],
    ids=["metric", "constant", "constant for a metric model", "relative"],
)
def test_the_scale_is_told_once_where_it_needs_no_watching(
    tmp_path: Path, engine: object, processing: ProcessingOptions, expected: tuple[str, str, str, str]
) -> None:
    run(write(tmp_path / "in", camera_messages(5)), tmp_path / "out", keep=("none",), engine=engine, node={"processing": processing})
    (message,) = decoded(read(tmp_path / "out")[SCALE], "diagnostic_msgs/msg/DiagnosticArray")
    values = {pair.key: pair.value for pair in message.status[0].values}
    assert (values["known"], values["source"], values["value"]) == expected[:3] and expected[3] in values["reason"]
    assert (message.header.stamp.sec, message.header.frame_id) == (1_600_000_000, "cam_optical")


def test_depth_that_was_recorded_makes_room_for_the_new_one(tmp_path: Path) -> None:
    kinds = {IMAGE: "sensor_msgs/msg/Image", DEPTH: "sensor_msgs/msg/Image"}
    messages = [(topic, START_NS + index, image(index)) for index in range(3) for topic in (IMAGE, DEPTH)]
    recording = write(tmp_path / "in", messages, kinds=kinds)
    run(recording, tmp_path / "out", images=(IMAGE,), node={"focal": 300.0})
    assert [one.encoding for one in decoded(read(tmp_path / "out")[DEPTH])] == ["32FC1"] * 3


def test_two_cameras_at_once(tmp_path: Path) -> None:
    kinds = {"/a/image_rect": "sensor_msgs/msg/Image", "/b/image_rect": "sensor_msgs/msg/Image"}
    messages = [(f"/{'ab'[index % 2]}/image_rect", START_NS + index, image(index)) for index in range(9)]
    recording = write(tmp_path / "in", messages, kinds=kinds)
    run(recording, tmp_path / "out", images=("/a/image_rect", "/b/image_rect"), node={"focal": 300.0}, segment=2)
    found = read(tmp_path / "out")
    assert stamps(found["/a/depth/image_rect"]) == [stamp(index) for index in (0, 2, 4, 6, 8)]
    assert stamps(found["/b/depth/image_rect"]) == [stamp(index) for index in (1, 3, 5, 7)]
