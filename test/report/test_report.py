"""What a report's page holds: read back with an HTML parser, the pictures with OpenCV, the cloud with the formula of the format."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_tools import START_NS, verb
from fake_engine import ANY_VIEW, FakeEngine
from replay_tools import IMAGE, INFO, any_view_engine, cdr, header, info, run, write

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.report.charts import Line, bar_chart, line_chart, round_numbers
from depth_anything_ros.report.page import write_report
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.types import DepthKind

TRUTH = "/cam/truth"
COUNT, SIZE, FOCAL, SEGMENTS = 12, (48, 36), 300.0, 3


def inverse_engine(options: NodeOptions) -> FakeEngine:
    return FakeEngine(replace(ANY_VIEW, kind=DepthKind.RELATIVE_INVERSE_DEPTH))


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.pictures: list[np.ndarray] = []
        self.names: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.html = path.read_text(encoding="utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data", "action"):
                self.addresses.append(value or "")
            if tag == "img" and name == "src":
                data = base64.b64decode((value or "").partition("base64,")[2])
                self.pictures.append(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR))
            if tag == "img" and name == "alt":
                self.names.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        elif not self._open or self._open[-1] != "style":
            self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(filter(None, self.texts))

    @property
    def clouds(self) -> list[dict]:
        return json.loads(self.scripts[0])


def shaded(index: int) -> np.ndarray:
    """uint8 [H, W, 3], smooth, of another blue in each frame; red tells the depth of the test double; a stripe of sky at the top."""
    rows, columns = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    picture = np.stack([columns * 3, rows * 5, np.full_like(rows, 20 * index)], axis=2).astype(np.uint8)
    picture[:4, :, 2] = 255
    return picture


def image(index: int) -> bytes:
    height, width = SIZE[1], SIZE[0]
    size = {"height": height, "width": width, "step": 3 * width}
    return cdr("sensor_msgs/msg/Image", header=header(index), encoding="rgb8", is_bigendian=0, data=shaded(index).ravel(), **size)


def depth_image(index: int) -> bytes:
    """The truth: what the test double makes of the picture, 10 % farther."""
    depth = (1.1 * (1.0 + shaded(index)[:, :, 0].astype(np.float32) / 255.0)).astype(np.float32)
    height, width = depth.shape
    size = {"height": height, "width": width, "step": 4 * width}
    return cdr("sensor_msgs/msg/Image", header=header(index), encoding="32FC1", is_bigendian=0, data=depth.view(np.uint8).ravel(), **size)


def recording(folder: Path, with_truth: bool = True) -> Path:
    kinds = {INFO: "sensor_msgs/msg/CameraInfo", IMAGE: "sensor_msgs/msg/Image", TRUTH: "sensor_msgs/msg/Image"}
    messages = []
    for index in range(COUNT):
        time = START_NS + index * 100_000_000
        messages += [(INFO, time, info(index, FOCAL, SIZE)), (IMAGE, time + 1, image(index))]
        messages += [(TRUTH, time + 2, depth_image(index))] if with_truth else []
    return write(folder, messages, kinds=kinds)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    source = recording(tmp_path / "in <b>&amp;")
    summary = run(source, tmp_path / "out", segment=5)
    return Page(write_report(summary, SourceOptions(source), tmp_path / "report"))


def test_nothing_comes_from_elsewhere(page: Page) -> None:
    assert page.addresses and all(address.startswith("data:image/jpeg;base64,") for address in page.addresses)
    assert not re.search(r"@import|url\(|<link|<iframe|<base", page.html[: page.html.index("<script")])
    ours = page.scripts[0] + page.scripts[2]
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|WebSocket|import\(", ours)
    assert "three.js authors" in page.text and "Permission is hereby granted" in page.text


def test_names_of_people_are_text_and_no_markup(page: Page) -> None:
    assert "b" not in page.tags
    assert "in <b>&amp;" in page.text


def test_what_the_summary_says(page: Page) -> None:
    assert f"{COUNT}: {COUNT} processed, 0 passed over, 0 refused" in page.text
    assert "Depth in metres." in page.text


def test_timelines_have_every_frame(page: Page) -> None:
    lines = re.findall(r'<polyline points="([^"]+)"', page.html)
    # engine, all steps; share of valid depth (this model has no confidence); the scale, told by each segment; best factor by the truth
    assert [len(line.split()) for line in lines] == [COUNT, COUNT, COUNT, SEGMENTS + 1, COUNT]
    xs = [float(point.split(",")[0]) for point in lines[0].split()]
    assert xs == sorted(xs) and len(set(xs)) == COUNT
    assert "engine" in page.text and "share of valid depth" in page.text


def test_accuracy_is_that_of_the_truth(page: Page) -> None:
    assert f"/cam/depth/image_rect against {TRUTH}: {COUNT} frames, no scale applied." in page.text
    cells = re.findall(r"<tr><th>all</th>(.*?)</tr>", page.html)[0]
    numbers = [float(cell.replace("\u2009", "")) for cell in re.findall(r"<td>([^<]*)</td>", cells)]
    sky = sum(int(np.count_nonzero(shaded(index)[:, :, 2] > 250)) for index in range(COUNT))
    total = COUNT * SIZE[0] * SIZE[1]
    assert numbers[0] == total - sky
    assert numbers[1] == pytest.approx(0.1 / 1.1, abs=5e-4)
    assert numbers[3:6] == [1.0, 1.0, 1.0]
    assert numbers[7] == pytest.approx((total - sky) / total, abs=5e-4)


def test_contact_sheet(page: Page) -> None:
    assert page.names[::2] == ["picture"] * 8
    deep = 1.0 + shaded(0)[4:, :, 0] / 255.0
    assert page.names[1] == f"depth: near is warm, {np.percentile(deep, 2):.1f} to {np.percentile(deep, 98):.1f} m"
    first, last = page.pictures[0], page.pictures[-2]
    for picture, index in ((first, 0), (last, COUNT - 1)):
        seen = shaded(index)[:, :, ::-1]
        assert picture.shape == seen.shape
        assert np.mean(np.abs(picture.astype(int) - seen)[6:]) < 5


def test_clouds_are_the_geometry_of_the_depth(page: Page) -> None:
    assert len(page.clouds) == 5 and page.clouds[0]["name"] == f"{IMAGE} at 0.00 s"
    cloud = page.clouds[-1]
    steps = np.frombuffer(base64.b64decode(cloud["xyz"]), "<i2").reshape(-1, 3)
    rgb = np.frombuffer(base64.b64decode(cloud["rgb"]), np.uint8).reshape(-1, 3)
    xyz = steps * cloud["step"]
    assert len(xyz) == len(rgb) > 100
    u = np.rint(xyz[:, 0] / xyz[:, 2] * FOCAL + 16.0).astype(int)
    v = np.rint(xyz[:, 1] / xyz[:, 2] * FOCAL + 12.0).astype(int)
    picture = shaded(COUNT - 1)
    np.testing.assert_array_equal(rgb, picture[v, u])
    np.testing.assert_allclose(xyz[:, 2], 1.0 + picture[v, u, 0] / 255.0, atol=cloud["step"])


def test_pictures_that_were_not_kept_come_from_the_recording(tmp_path: Path) -> None:
    source = recording(tmp_path / "in", with_truth=False)
    summary = run(source, tmp_path / "out", keep=("none",), engine=any_view_engine)
    page = Page(write_report(summary, SourceOptions(source), tmp_path / "report"))
    assert page.names == ["picture", "depth: near is warm", "confidence: sure is warm"] * 8
    assert "Depth in units without scale." in page.text
    assert "holds no depth image in this camera's frame and no laser" in page.text
    assert "confidence, mean" in page.text


def test_without_calibration_there_is_no_cloud(tmp_path: Path) -> None:
    messages = [(IMAGE, START_NS + index, image(index)) for index in range(3)]
    source = write(tmp_path / "in", messages)
    summary = run(source, tmp_path / "out")
    assert Page(write_report(summary, SourceOptions(source), tmp_path / "report")).clouds == []


def test_wrong_wishes(tmp_path: Path) -> None:
    source = recording(tmp_path / "in")
    summary = run(source, tmp_path / "out")
    with pytest.raises(OptionError, match="/nothing"):
        write_report(summary, SourceOptions(source), tmp_path / "report", truth="/nothing")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        write_report(summary, SourceOptions(source), tmp_path / "file")
    only_sky = run(source, tmp_path / "sky", outputs=("depth/sky_mask",))
    with pytest.raises(InputError, match="holds no depth"):
        write_report(only_sky, SourceOptions(source), tmp_path / "report")


@pytest.mark.native
def test_with_the_replay_on_the_command_line(tmp_path: Path) -> None:
    from toy_model import SMALLEST_ANY_VIEW, write_toy_model

    source, model = recording(tmp_path / "in"), write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    arguments = ("--model", model, "-p", "resolution:=56", "--report", tmp_path / "report", "--truth", TRUTH)
    for _ in range(2):  # the second time only the page is made
        process = verb("replay", source, "-o", tmp_path / "out", *arguments)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert f"report: {tmp_path / 'report' / 'report.html'}" in out
    assert "relative depth" in Page(tmp_path / "report" / "report.html").text
    assert "at one scale" in Page(tmp_path / "report" / "report.html").text


def test_inverse_depth_is_warm_where_it_is_large_and_makes_no_cloud(tmp_path: Path) -> None:
    source = recording(tmp_path / "in", with_truth=False)
    summary = run(source, tmp_path / "out", engine=inverse_engine)
    page = Page(write_report(summary, SourceOptions(source), tmp_path / "report"))
    assert "Depth in units of inverse depth" in page.text and page.clouds == []
    # Depth of the test double rises to the right; the far end of the colours is blue, the near one red.
    depth = page.pictures[1].astype(int)
    assert depth[10:, -6:, 2].mean() > depth[10:, -6:, 0].mean() and depth[10:, :6, 0].mean() > depth[10:, :6, 2].mean()


def test_charts_have_round_numbers_at_their_sides() -> None:
    assert round_numbers(0.0, 355.7, 4) == pytest.approx([0, 100, 200, 300, 400])
    assert round_numbers(0.93, 1.088, 4) == pytest.approx([0.9, 0.95, 1.0, 1.05, 1.1])
    assert round_numbers(-3.0, 12.0, 8) == pytest.approx([-4, -2, 0, 2, 4, 6, 8, 10, 12])
    texts = re.findall(r'class="left"[^>]*>([^<]*)<', line_chart("T", [Line("a", [0, 9], [5.339, 5.2])], from_zero=False))
    assert texts == ["5", "5.2", "5.4", "5.6"]
    (points,) = re.findall(r'points="([^"]+)"', line_chart("T", [Line("a", [2, 4], [1.0, 1.0])], span=(0.0, 4.0)))
    left, right = (float(point.split(",")[0]) for point in points.split())
    assert left == pytest.approx((58 + right) / 2, abs=0.1)


def test_charts_leave_gaps_and_scale_to_their_values() -> None:
    chart = line_chart("T <i>", [Line("a", [0, 1, 2, 3], [0.0, float("nan"), 4.0, 2.0]), Line("b", [0, 3], [1.0, float("inf")])])
    runs = re.findall(r'points="([^"]+)"', chart)
    assert [len(set(points.split())) for points in runs] == [1, 2, 1]
    ys = [float(point.split(",")[1]) for points in runs for point in points.split()]
    top, bottom = min(ys), max(ys)
    assert float(runs[1].split()[1].split(",")[1]) == pytest.approx((top + bottom) / 2, abs=0.1)
    assert "T &lt;i&gt;" in chart
    assert "no values" in line_chart("T", []) and "no values" in bar_chart("T", [("a", float("nan"))])
    heights = [float(height) for height in re.findall(r'height="([\d.]+)" fill', bar_chart("T", [("a", 1.0), ("b", 2.0)]))]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.2)
