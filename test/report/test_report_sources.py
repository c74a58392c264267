"""Where a report takes its truth and its pictures from."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import START_NS, STEP_NS, TYPES
from fake_engine import ANY_VIEW, FakeEngine
from replay_tools import IMAGE, INFO, KINDS, cdr, header, image, info, run, stamp, write

from depth_anything_ros.cli import main
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.report.content import CameraContent, gather
from depth_anything_ros.report.page import write_report
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.types import DepthKind

SIZE = (48, 36)
LENS = (-0.35, 0.12, 0.0, 0.0, 0.0)


def depth_image(index: int, frame: str = "cam_optical", encoding: str = "32FC1") -> bytes:
    one = TYPES.types["std_msgs/msg/Header"](stamp=header(index).stamp, frame_id=frame)
    data = np.full((24, 32 if encoding == "32FC1" else 128), 2.0, np.float32).view(np.uint8).ravel()
    size = {"height": 24, "width": 32, "step": data.size // 24}
    return cdr(KINDS[IMAGE], header=one, encoding=encoding, is_bigendian=0, data=data, **size)


def bag(folder: Path, topics: dict[str, list[bytes]]) -> Path:
    """Message number n of each topic at the same time."""
    kinds = {name: KINDS[INFO if name.endswith("info") else IMAGE] for name in topics}
    messages = [(name, START_NS + at * STEP_NS + 1, one) for name, all_ in topics.items() for at, one in enumerate(all_)]
    return write(folder, sorted(messages, key=lambda message: message[1]), kinds=kinds)


def pictures(name: str) -> dict[str, list[bytes]]:
    return {f"/{name}/camera_info": [info(index) for index in range(3)], f"/{name}/image_rect": [image(index) for index in range(3)]}


def content(source: Path, output: Path, **options: object) -> list[CameraContent]:
    summary = run(source, output, **options)
    return gather(output, SourceOptions(source), summary.cameras, summary.kind, "")


def test_another_cameras_depth_is_no_truth(tmp_path: Path) -> None:
    source = bag(tmp_path / "in", {**pictures("left"), **pictures("right")})
    found = content(source, tmp_path / "out", images=("/left/image_rect", "/right/image_rect"))
    assert len(found) == 2
    for one in found:
        assert one.evaluation is None and "no depth image in this camera's frame" in one.remark


def test_truth_is_looked_for_in_the_frame_of_the_depth(tmp_path: Path) -> None:
    """What a depth sensor beside the camera saw, or what is no depth, is passed over; named, it is compared with a warning."""
    candidates = {
        "/truth/sensor": [depth_image(index, "sensor_optical") for index in range(3)],
        "/truth/colours": [image(index) for index in range(3)],
    }
    source = bag(tmp_path / "in", {**pictures("cam"), **candidates})
    chosen = {"images": ("/cam/image_rect",)}
    (without,) = content(source, tmp_path / "out", **chosen)
    assert without.evaluation is None
    good = {"/registered/depth": [depth_image(index) for index in range(3)]}
    (found,) = content(bag(tmp_path / "in2", {**pictures("cam"), **candidates, **good}), tmp_path / "out2", **chosen)
    assert found.evaluation is not None and found.evaluation.truth == "/registered/depth" and not found.evaluation.problems
    summary = run(source, tmp_path / "out", **chosen)
    page = write_report(summary, SourceOptions(source), tmp_path / "report", truth="/truth/sensor").read_text(encoding="utf-8")
    assert re.search(r"Warning: the truth is of frame &#x27;sensor_optical&#x27;, the depth of &#x27;cam_optical&#x27;", page)


def grid(index: int) -> np.ndarray:
    """uint8 RGB [H, W, 3]: lines, which a lens bends."""
    picture = np.full((SIZE[1], SIZE[0], 3), 60, np.uint8)
    picture[::6] = picture[:, ::6] = (200, 180, 90 + index)
    return picture


@pytest.mark.parametrize("keep", ["all", "none"])
def test_pictures_and_clouds_lie_on_their_depth(tmp_path: Path, keep: str) -> None:
    """Where the rectified picture was not asked for, it is made again, from the bag or from the recording."""
    size = {"height": SIZE[1], "width": SIZE[0], "step": 3 * SIZE[0]}
    raw = [cdr(KINDS[IMAGE], header=header(at), encoding="rgb8", is_bigendian=0, data=grid(at).ravel(), **size) for at in range(2)]
    infos = [info(index, 40.0, SIZE, LENS) for index in range(2)]
    source = bag(tmp_path / "in", {"/cam/camera_info": infos, "/cam/image_raw": raw})
    (found,) = content(source, tmp_path / "out", outputs=("depth/image_rect", "depth/camera_info"), keep=(keep,))
    k = np.array([[40.0, 0, 16], [0, 40.0, 12], [0, 0, 1]])
    for index, row in enumerate(found.rows):
        shown = cv2.imdecode(np.frombuffer(row.tiles[0].jpeg, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1].astype(int)
        straight = cv2.undistort(grid(index), k, np.array(LENS), None, k)
        seen = cv2.undistort(np.full(straight.shape, 255, np.uint8), k, np.array(LENS), None, k) == 255
        assert np.abs(shown - straight)[seen].mean() < 12.0 < np.abs(shown - grid(index))[seen].mean()
    (cloud, _) = found.clouds
    v, u = (np.rint(cloud.xyz[:, axis] / cloud.xyz[:, 2] * 40.0 + centre).astype(int) for axis, centre in ((1, 12), (0, 16)))
    straight = cv2.undistort(grid(0), k, np.array(LENS), None, k)
    assert np.abs(cloud.rgb.astype(int) - straight[v, u]).mean() < 4.0


def shifted_engine(options: NodeOptions) -> FakeEngine:
    """Inverse depth of which half is below 0."""
    kind = replace(ANY_VIEW, kind=DepthKind.RELATIVE_INVERSE_DEPTH)
    return FakeEngine(kind, depth_of=lambda pixels: pixels[:, :, 0].astype(np.float32) - 127.5)


def test_all_of_inverse_depth_is_valid(tmp_path: Path) -> None:
    (found,) = content(bag(tmp_path / "in", pictures("cam")), tmp_path / "out", engine=shifted_engine)
    (share,) = [line for line in found.confidence if line.name == "share of valid depth"]
    assert list(share.values) == [1.0, 1.0, 1.0]
    assert share.seconds[1] == pytest.approx((stamp(1) - stamp(0)) * 1e-9)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--truth", "/truth"], "--truth is for --report"),
        (["--report", "report", "--outputs", "points", "depth/timing"], "--report wants depth in the bag"),
    ],
)
def test_flags_that_the_end_of_the_run_would_refuse(
    tmp_path: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--model", "nano", *flags]) == 2
    assert message in capsys.readouterr().err
