"""Depth of a bag against the truth of the same bag or another one."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.evaluate.alignment import Fit, FitSums, factor_of, fit_of
from depth_anything_ros.evaluate.metrics import Drift, ErrorSums, in_band, known_truth
from depth_anything_ros.evaluate.pairing import Arrival, pair
from depth_anything_ros.evaluate.truth import at_size, points_of, projected
from depth_anything_ros.ros.bag_messages import BagMessages
from depth_anything_ros.ros.bag_reader import BagMessage, BagReader
from depth_anything_ros.ros.calibration import sibling
from depth_anything_ros.ros.message_types import ros2_types
from depth_anything_ros.ros.messages import calibration_from, stamp_ns
from depth_anything_ros.ros.sensor_values import depth_values
from depth_anything_ros.ros.transform_tree import TransformTree
from depth_anything_ros.types import Float32Array, Intrinsics

IMAGE, CLOUD, INFO, TF = "sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/CameraInfo", "tf2_msgs/msg/TFMessage"
DEPTH_NAMES = ("depth/image_rect", "depth/image_raw", "relative/image")
ALIGNMENTS = ("auto", "none", "recording", "frame")
VALUES = ("auto", "depth", "inverse")
Numbers = dict[str, float]
_PATIENCE_NS = 500_000_000
"""So late may transforms and calibrations be recorded."""
_CAMERAS = 256
"""Calibrations that are remembered."""


@dataclass(frozen=True)
class EvaluationOptions:
    """Raises OptionError where a value makes no sense."""

    bag: Path
    truth: str
    """Topic: Image (32FC1, 16UC1), or PointCloud2 of a laser, which wants TF and the camera_info of the depth."""
    truth_bag: Path | None = None
    """None: the same."""
    depth: str = ""
    """Topic; empty takes the only one that there is."""
    align: str = "auto"
    """Fit before comparing: ``none``, one of the ``recording``, one of each ``frame``.

    ``auto``: none for metres, recording for relative depth, frame for inverse depth, whose shift is another one in each picture.
    """
    values: str = "auto"
    """What relative values are: ``depth`` (fitted by a factor), ``inverse`` depth (by factor and shift); ``auto``: told by the truth."""
    bands: tuple[float, ...] = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    """Borders of the bands of distance, metres; the last one is also the farthest depth that inverse depth is fitted to."""
    tolerance: float = 0.0
    """Seconds between a depth and its truth."""

    def __post_init__(self) -> None:
        if self.align not in ALIGNMENTS:
            raise OptionError("option.range", f"align {self.align!r} must be one of {', '.join(ALIGNMENTS)}.")
        if self.values not in VALUES:
            raise OptionError("option.range", f"values {self.values!r} must be one of {', '.join(VALUES)}.")
        rising = all(low < high for low, high in zip(self.bands, self.bands[1:]))  # false with any NaN
        if len(self.bands) < 2 or not rising or self.bands[0] < 0.0:
            raise OptionError("option.range", f"bands {' '.join(f'{one:g}' for one in self.bands)} must be two or more rising distances.")
        if not 0.0 <= self.tolerance < math.inf:
            raise OptionError("option.range", f"tolerance {self.tolerance} must be 0 or more seconds.")


@dataclass(frozen=True)
class FrameErrors:
    """Of one depth map."""

    stamp_ns: int
    fit: Fit
    """That suits it best."""
    numbers: Numbers


@dataclass
class Evaluation:
    """Numbers by name as in `metrics.ErrorSums.numbers`."""

    depth: str
    truth: str
    align: str
    fit: Fit
    """That was applied to the whole recording; factor 1 without alignment, NaN when each frame had its own."""
    farthest: float
    """See `alignment.Fit.metres`."""
    frames: list[FrameErrors] = field(default_factory=list)
    unpaired: int = 0
    """Depth maps without truth."""
    total: ErrorSums = field(default_factory=ErrorSums)
    bands: dict[tuple[float, float], ErrorSums] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def drift(self) -> Drift:
        return Drift.of([frame.stamp_ns * 1e-9 for frame in self.frames], [frame.fit.factor for frame in self.frames])


def evaluate(options: EvaluationOptions) -> Evaluation:
    """Raises InputError (bags, no common stamps), OptionError (topics)."""
    with ExitStack() as stack:
        bag = stack.enter_context(BagReader(options.bag))
        truths = bag if options.truth_bag is None else stack.enter_context(BagReader(options.truth_bag))
        comparison = _Comparison(bag, truths, options)
        align, fit = _fit(comparison, options)
        result = Evaluation(comparison.depth, options.truth, align, fit, options.bands[-1])
        result.bands = {(low, high): ErrorSums() for low, high in zip(options.bands, options.bands[1:])}
        for stamp, predicted, true in comparison.pixels():
            _add(result, stamp, predicted, true)
        result.unpaired, result.problems = comparison.unpaired, sorted({*comparison.problems, *bag.warnings, *truths.warnings})
    if not result.total.pixels:
        reasons = "; ".join(result.problems) or f"no stamps of the two are within {options.tolerance:g} s of each other"
        raise InputError("input.bag", f"Nothing of {result.depth} can be compared with {options.truth}: {reasons}.")
    return result


def _fit(comparison: _Comparison, options: EvaluationOptions) -> tuple[str, Fit]:
    """How the depth is brought to the truth, and the fit of the whole recording; NaN where each frame has its own."""
    relative = comparison.depth.endswith(DEPTH_NAMES[-1])
    if options.align == "none" or (options.align == "auto" and not relative):
        return "none", Fit(1.0)
    sums, factors = FitSums(), []
    for _, values, true in comparison.pixels():
        sums += FitSums.of(values, true)
        factors.append(factor_of(values, true).factor)
    inverse = relative and (sums.inverse if options.values == "auto" else options.values == "inverse")
    align = options.align if options.align != "auto" else "frame" if inverse else "recording"
    if align == "frame":
        return align, Fit(math.nan, math.nan, inverse)
    if inverse:
        return align, sums.line()
    return align, Fit(float(np.nanmedian(factors)) if np.isfinite(factors).any() else 1.0)


def _add(result: Evaluation, stamp: int, values: NDArray[np.float64], true: NDArray[np.float64]) -> None:
    best = fit_of(values, true, inverse=result.fit.inverse)
    predicted = (best if result.align == "frame" else result.fit).metres(values, result.farthest)
    sums = ErrorSums.of(predicted, true)
    result.frames.append(FrameErrors(stamp, best, sums.numbers()))
    result.total += sums
    for (low, high), of_band in result.bands.items():
        chosen = in_band(true, low, high)
        of_band += ErrorSums.of(predicted[chosen], true[chosen])


class _Comparison:
    """Streams the pairs of one depth topic and one truth topic past, any number of times."""

    def __init__(self, bag: BagReader, truths: BagReader, options: EvaluationOptions) -> None:
        self._bag, self._truths, self._options = bag, truths, options
        self._messages = BagMessages(ros2_types())
        topic = truths.topics.get(options.truth)
        if topic is None or topic.type not in (IMAGE, CLOUD):
            found = [name for name, one in truths.topics.items() if one.type in (IMAGE, CLOUD)]
            raise OptionError(
                "option.unknown", f"{options.truth} is no image or cloud topic of the bag; it has {', '.join(found) or 'none'}."
            )
        self._truth_type = topic.type
        self.depth = options.depth or _only_depth(bag, options.truth if truths is bag else "")
        if self.depth not in bag.topics or bag.topics[self.depth].type != IMAGE:
            raise OptionError("option.unknown", f"{self.depth} is no image topic of the bag.")
        if truths is bag and self.depth == options.truth:
            raise OptionError("option.range", f"{self.depth} cannot be its own truth; name another topic or --truth-bag.")
        self._transforms = TransformTree()
        self._cameras: OrderedDict[int, Any] = OrderedDict()
        """CameraInfo by stamp."""
        self._frame = ""
        self.problems: set[str] = set()
        self.unpaired = 0

    def pixels(self) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """(stamp, predicted [n], true [n]) of the pixels with truth, per depth map."""
        self.unpaired = 0
        tolerance = round(self._options.tolerance * 1e9)
        for stamp, depth, truth in pair(self._arrivals(), tolerance, tolerance + _PATIENCE_NS):
            true = None if truth is None else self._true_depth(stamp, truth)
            seen = None if true is None else self._guarded(lambda depth=depth, true=true: at_size(depth, true.shape))
            if true is None or seen is None:
                self.unpaired += 1
                continue
            yield stamp, *known_truth(seen, true)

    def _arrivals(self) -> Iterator[Arrival[Float32Array, Any]]:
        info = sibling(self.depth)
        self._transforms, self._cameras = TransformTree(), OrderedDict()
        for message in self._streams(info):
            kind = self._kind(message.topic, info)
            value = self._read(message, kind)
            if value is None:
                continue
            if message.topic == self.depth:
                stamp = stamp_ns(value.header.stamp)
                depth = self._guarded(lambda value=value: depth_values(value))
                if depth is not None:
                    self._frame = value.header.frame_id
                    yield Arrival(stamp, depth, None)
            elif message.topic == info:
                self._cameras[stamp_ns(value.header.stamp)] = value
                if len(self._cameras) > _CAMERAS:
                    self._cameras.popitem(last=False)
            elif kind == TF:
                self._transforms.add(value, static=message.topic.endswith("tf_static"))
            else:
                yield Arrival(stamp_ns(value.header.stamp), None, value)

    def _streams(self, info: str) -> Iterator[BagMessage]:
        """Of both bags in the order of their recording."""
        ours, theirs = {self.depth, info}, {self._options.truth}
        if self._truth_type == CLOUD:
            for names, bag in ((ours, self._bag), (theirs, self._truths)):
                names.update(name for name, topic in bag.topics.items() if topic.type == TF)
        if self._truths is self._bag:
            return self._bag.messages(ours | theirs)
        return heapq.merge(self._bag.messages(ours), self._truths.messages(theirs), key=lambda message: message.stamp_ns)

    def _kind(self, topic: str, info: str) -> str:
        if topic == info:
            return INFO
        return {self.depth: IMAGE, self._options.truth: self._truth_type}.get(topic, TF)

    def _read(self, message: BagMessage, kind: str) -> Any:
        return self._guarded(lambda: self._messages.read(message.data, kind))

    def _true_depth(self, stamp: int, truth: Any) -> Float32Array | None:
        if self._truth_type == IMAGE:
            if truth.header.frame_id.lstrip("/") != self._frame.lstrip("/"):
                frames = f"{truth.header.frame_id!r}, the depth of {self._frame!r}"
                self.problems.add(f"the truth is of frame {frames}: pixels are compared as if one camera had seen both")
            return self._guarded(lambda: depth_values(truth))
        camera = self._guarded(lambda: _intrinsics(self._cameras.get(stamp), self.depth))
        if camera is None:
            return None
        matrix = self._transforms.lookup(self._frame, truth.header.frame_id, stamp)
        if not isinstance(matrix, np.ndarray):
            self.problems.add(f"no transform leads from {truth.header.frame_id} to {self._frame} at all of the times")
            return None
        points = self._guarded(lambda: points_of(truth))
        return None if points is None else projected(points, matrix, camera)

    def _guarded(self, make: Any) -> Any:
        """None, and a problem, for a message that cannot be used."""
        try:
            return make()
        except InputError as error:
            self.problems.add(str(error).rstrip("."))
            return None


def _intrinsics(info: Any, depth: str) -> Intrinsics:
    """Of a depth map, by its CameraInfo. Raises InputError where the points of a laser cannot be projected with it."""
    fx, fy, cx, cy = (0.0,) * 4 if info is None else (float(info.k[index]) for index in (0, 4, 2, 5))
    if fx <= 0.0 or fy <= 0.0:
        raise InputError("input.intrinsics", f"the depth comes without calibrated {sibling(depth)}, which the points are projected with")
    if calibration_from(info).distorted:
        raise InputError("input.intrinsics", f"{depth} is of a distorted picture, which points are not projected into: use rectify auto")
    return Intrinsics(info.width, info.height, fx, fy, cx, cy)


def _only_depth(bag: BagReader, truth: str) -> str:
    for name in DEPTH_NAMES:
        found = [
            topic for topic, one in bag.topics.items() if topic.endswith(f"/{name}") and one.type == IMAGE and one.count and topic != truth
        ]
        if len(found) > 1:
            raise OptionError("option.range", f"The bag has several depth topics: {', '.join(found)}; choose with --depth.")
        if found:
            return found[0]
    raise InputError("input.bag", f"{bag.path} holds no depth (no topic that ends with {', '.join(DEPTH_NAMES)}); name it with --depth.")
