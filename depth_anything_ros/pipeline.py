"""One frame to its products: the one composition that the node, the command line and the tests use.

`process` takes anything with `info` and `infer` as the engine, and computes only what is wanted: `predict`, then `Finisher.finish`, which
the node runs on two threads. The same frame and options give the same numbers in every front.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depth_anything_ros import depth as depths
from depth_anything_ros import geometry
from depth_anything_ros.colors import StreamColours
from depth_anything_ros.edges import flying_pixels
from depth_anything_ros.errors import OptionError
from depth_anything_ros.types import (
    DepthKind,
    Float32Array,
    Frame,
    InfersDepth,
    Intrinsics,
    Prediction,
    Products,
    Scale,
    UInt8Array,
    Wanted,
)
from depth_anything_ros.upsampling import GuidedUpsampler

SCALE_SOURCES = ("model", "constant", "metric_model", "camera_height", "range", "odometry")
"""Where metres come from. The first two need nothing but the frame; the others are watched over time (package `scale`)."""

ScaleOf = Callable[[Frame, Prediction], "Scale | None"]
"""The scale of a frame's depth by a source that is watched over time; None while it is not known."""
Steady = Callable[[Frame, Float32Array, bool], Float32Array]
"""Depth [h, w] of a frame, held still over time; the flag says whether it is in metres."""


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise OptionError("option.range", message + ".")


@dataclass(frozen=True)
class ProcessingOptions:
    """What becomes of a prediction. Raises OptionError ``option.range`` when values do not fit together."""

    depth_min: float = 0.0
    """Metres; nearer depth is invalid."""
    depth_max: float = 200.0
    """Metres; farther depth is invalid."""
    depth_size: str = "camera"
    """``camera`` (maps have the size of the picture) or ``network`` (the processed size)."""
    depth_upsample: str = "bilinear"
    """How depth gets the size of the picture: ``bilinear``, or ``guided`` by its edges."""
    sky_policy: str = "inf"
    """Depth of sky pixels: ``inf``, ``nan``, or ``max`` (`depth_max`; the largest valid depth in maps without unit)."""
    sky_threshold: float = 0.3
    """Network value from which a pixel is sky, for mask and policy alike."""
    confidence_threshold: float = 0.0
    """Depth whose confidence (0 to 1) is lower is invalid."""
    points_stride: int = 2
    """The cloud takes every n-th pixel of every n-th row."""
    points_max: float = 0.0
    """Metres; the cloud has no farther points. 0: as far as `depth_max`."""
    points_edge_filter: float = 0.1
    """The cloud has no points at edges where depth jumps by more than this fraction; 0 keeps all."""
    points_confidence: bool = False
    """The cloud has a field with the confidence, where the model gives one."""
    color_near: float = 0.0
    """Depth of the warm end of the coloured picture; 0 follows the pictures."""
    color_far: float = 0.0
    """Depth of the cold end; 0 follows the pictures."""
    scale_source: str = "model"
    """One of `SCALE_SOURCES`."""
    scale_value: float = 0.0
    """Metres per unit of relative depth, for ``constant``; 0 is not known."""

    def __post_init__(self) -> None:
        _check(
            0.0 <= self.depth_min < self.depth_max < np.inf,
            f"depth.min {self.depth_min:g} must be 0 or more and below depth.max {self.depth_max:g}",
        )
        _check(self.depth_size in ("camera", "network"), f"depth.size {self.depth_size!r} must be camera or network")
        _check(self.depth_upsample in ("bilinear", "guided"), f"depth.upsample {self.depth_upsample!r} must be bilinear or guided")
        _check(self.sky_policy in depths.SKY_POLICIES, f"sky.policy {self.sky_policy!r} must be one of {', '.join(depths.SKY_POLICIES)}")
        _check(0.0 < self.sky_threshold < np.inf, f"sky.threshold {self.sky_threshold:g} must be above 0")
        _check(0.0 <= self.confidence_threshold <= 1.0, f"confidence.threshold {self.confidence_threshold:g} must be 0 to 1")
        _check(self.points_stride >= 1, f"points.stride {self.points_stride} must be 1 or more")
        _check(0.0 <= self.points_max < np.inf, f"points.max {self.points_max:g} must be 0 or a number above")
        _check(0.0 <= self.points_edge_filter < np.inf, f"points.edge_filter {self.points_edge_filter:g} must be 0 or a number above")
        _check(
            0.0 <= self.color_near < np.inf and 0.0 <= self.color_far < np.inf,
            f"color.near {self.color_near:g} and color.far {self.color_far:g} must be 0 or numbers above",
        )
        _check(
            self.color_near == 0.0 or self.color_far == 0.0 or self.color_near < self.color_far,
            f"color.near {self.color_near:g} must be below color.far {self.color_far:g}",
        )
        _check(self.scale_source in SCALE_SOURCES, f"scale.source {self.scale_source!r} must be one of {', '.join(SCALE_SOURCES)}")
        _check(0.0 <= self.scale_value < np.inf, f"scale.value {self.scale_value:g} must be 0 or a number above")
        _check(
            self.scale_source != "constant" or self.scale_value > 0.0, "scale.source constant needs scale.value above 0 (metres per unit)"
        )


@dataclass(frozen=True)
class WantedProducts:
    """Which fields of `Products` are filled, as far as the model can give them."""

    depth: bool = True
    confidence: bool = True
    sky_mask: bool = True
    points: bool = True
    color: bool = False


def process(
    frame: Frame,
    engine: InfersDepth,
    options: ProcessingOptions = ProcessingOptions(),
    wanted: WantedProducts = WantedProducts(),
    *,
    scale_of: ScaleOf | None = None,
    steady: Steady | None = None,
) -> Products:
    """Everything that is wanted of one frame. Raises what `engine.infer` raises; for the rest see `predict` and `Finisher`."""
    finisher = Finisher(scale_of, steady)
    return finisher.finish(frame, predict(frame, engine, options, wanted, doubts=scale_of is not None), options, wanted)


def predict(frame: Frame, engine: InfersDepth, options: ProcessingOptions, wanted: WantedProducts, *, doubts: bool = False) -> Prediction:
    """What the network says about a frame. doubts: with confidence in any case. Raises what `engine.infer` raises."""
    return engine.infer(
        frame.pixels,
        bgr=frame.bgr,
        intrinsics=frame.intrinsics,
        wanted=Wanted(confidence=doubts or _uses_confidence(options, wanted), sky=True, pose=True),
        fill_sky=False,  # sky pixels get their value by policy, with the threshold of the options
    )


class Finisher:
    """From predictions to products, for the frames of one camera in turn.

    scale_of: asked when neither the model nor a constant gives metres. steady: gets the depth before it is resized. Both keep a state, so
    they want the frames in order; without them the result depends on the frame alone, but for the range of the colours.
    """

    def __init__(self, scale_of: ScaleOf | None = None, steady: Steady | None = None, colours: StreamColours | None = None) -> None:
        self._scale_of = scale_of
        self._steady = steady
        self._upsampler = GuidedUpsampler()
        self._colours = colours or StreamColours()

    def finish(self, frame: Frame, prediction: Prediction, options: ProcessingOptions, wanted: WantedProducts) -> Products:
        """Everything that is wanted of a frame and its prediction.

        Intrinsics are those of the frame or, where the camera has none, the network's own estimate. Points need metres and intrinsics.
        """
        started = time.perf_counter()
        height, width = frame.pixels.shape[:2] if options.depth_size == "camera" else prediction.depth.shape
        confidence, sky = _side_maps(prediction, options, wanted, width, height)
        scale = depths.known_scale(prediction.kind, options.scale_source, options.scale_value)
        if scale is None and self._scale_of is not None:
            scale = self._scale_of(frame, prediction)
        metric, intrinsics = scale is not None, _intrinsics(frame, prediction, width, height)
        depth = points = color = None
        if wanted.depth or wanted.points or wanted.color:
            network = prediction.depth if scale is None else depths.to_metres(prediction.depth, prediction.kind, scale)
            if self._steady is not None:
                network = self._steady(frame, network, metric)
            values = _range(prediction.kind, metric, options)
            depth = _marked(self._resized(frame, network, options), values, options, confidence, sky, frame.outside)
        mapped = time.perf_counter()
        if wanted.points and depth is not None and metric and intrinsics is not None:
            points = _points(frame, network, depth, intrinsics, options, confidence)
        projected = time.perf_counter()
        if wanted.color and depth is not None:
            inverse = prediction.kind is DepthKind.RELATIVE_INVERSE_DEPTH and not metric
            color = self._colours.colourise(depth, metric=metric, inverse=inverse, near=options.color_near, far=options.color_far)
        return Products(
            frame=frame,
            prediction=prediction,
            depth=depth,
            metric=metric,
            confidence=confidence if wanted.confidence else None,
            sky_mask=sky if wanted.sky_mask else None,
            intrinsics=intrinsics,
            points=points,
            color=color,
            timings={
                **vars(prediction.timings),
                "infer": sum(vars(prediction.timings).values()),
                "maps": mapped - started,
                "points": projected - mapped,
                "color": time.perf_counter() - projected,
            },
        )

    def _resized(self, frame: Frame, depth: Float32Array, options: ProcessingOptions) -> Float32Array:
        height, width = frame.pixels.shape[:2]
        if options.depth_size == "network" or depth.shape == (height, width):
            return depth
        if options.depth_upsample == "guided":
            return self._upsampler.upsample(depth, frame.pixels, bgr=frame.bgr)
        return depths.resize(depth, width, height)


def _uses_confidence(options: ProcessingOptions, wanted: WantedProducts) -> bool:
    return wanted.confidence or options.confidence_threshold > 0.0 or (wanted.points and options.points_confidence)


def _side_maps(
    prediction: Prediction, options: ProcessingOptions, wanted: WantedProducts, width: int, height: int
) -> tuple[Float32Array | None, UInt8Array | None]:
    confidence = sky = None
    if prediction.confidence is not None and _uses_confidence(options, wanted):
        confidence = depths.resize(depths.confidence_from(prediction.confidence), width, height)
    if prediction.sky is not None:
        sky = depths.sky_mask(depths.resize(prediction.sky, width, height), options.sky_threshold)
    return confidence, sky


def _range(kind: DepthKind, metric: bool, options: ProcessingOptions) -> tuple[float, float]:
    """What is valid. Of inverse depth, whose shift is unknown, 0 and less may well be distances: those of the horizon and beyond."""
    if metric:
        return options.depth_min, options.depth_max
    return (-np.inf if kind is DepthKind.RELATIVE_INVERSE_DEPTH else 0.0), np.inf


def _marked(
    values: Float32Array,
    valid: tuple[float, float],
    options: ProcessingOptions,
    confidence: Float32Array | None,
    sky: UInt8Array | None,
    outside: UInt8Array | None,
) -> Float32Array:
    """The values with invalid and sky pixels marked."""
    nearest, farthest = valid
    values = depths.mark_invalid(
        values, nearest=nearest, farthest=farthest, confidence=confidence, least_confidence=options.confidence_threshold
    )
    if sky is not None:
        values = depths.mark_sky(values, sky, options.sky_policy, farthest)
    if outside is not None:
        values = np.where(depths.resize_mask(outside, values.shape[1], values.shape[0]) > 0, np.float32(np.nan), values)
    return values


def _points(
    frame: Frame,
    network: Float32Array,
    depth: Float32Array,
    intrinsics: Intrinsics,
    options: ProcessingOptions,
    confidence: Float32Array | None,
) -> NDArray[np.void]:
    """network: the depth before it got its size."""
    return geometry.project(
        depth,
        intrinsics,
        frame.pixels,
        bgr=frame.bgr,
        stride=options.points_stride,
        farthest=options.points_max or np.inf,
        without=flying_pixels(network, options.points_edge_filter) if options.points_edge_filter > 0.0 else None,
        confidence=confidence if options.points_confidence else None,
    )


def _intrinsics(frame: Frame, prediction: Prediction, width: int, height: int) -> Intrinsics | None:
    if frame.intrinsics is not None:
        return geometry.scale_intrinsics(frame.intrinsics, width, height)
    if prediction.intrinsics is not None:
        return geometry.network_intrinsics(prediction.intrinsics, width, height)
    return None
