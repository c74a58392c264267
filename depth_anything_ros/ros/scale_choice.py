"""The source of the scale that the parameters ask for, with what it reads. Live and in bags; imports no ROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from depth_anything_ros.errors import OptionError
from depth_anything_ros.ros.parameters import NodeOptions
from depth_anything_ros.ros.scale_readings import OdometryReadings, RangeReadings, Readings, ground_by_tf, pose_by_tf
from depth_anything_ros.ros.transform_tree import Transforms
from depth_anything_ros.scale.estimate import ScaleSource
from depth_anything_ros.scale.ground_plane import CameraHeightSource
from depth_anything_ros.scale.metric_model import MetricModelSource
from depth_anything_ros.scale.odometry import OdometrySource
from depth_anything_ros.scale.ranges import RangeSource

BACKGROUND_SOURCES = ("metric_model", "odometry")
"""They want a network of their own, which works beside the live one."""


class BackgroundNet(Protocol):
    """Where keyframes are looked at: a network, and somebody who does it."""

    def net(self) -> Any: ...
    def run(self, job: Callable[[], None]) -> bool: ...


def chosen_source(
    options: NodeOptions, transforms: Callable[[], Transforms], background: BackgroundNet | None
) -> tuple[ScaleSource | None, Readings | None]:
    """The source, None where none is watched (or the network that it wants is missing), and the messages that it reads.

    transforms: asked by sources that need them.
    """
    name, scale = options.processing.scale_source, options.scale
    if name == "camera_height":
        return CameraHeightSource(ground_by_tf(transforms(), scale)), None
    if name == "range":
        ranges = RangeReadings(transforms(), scale.range_tolerance)
        return RangeSource(ranges.measured), ranges
    if name not in BACKGROUND_SOURCES or background is None:
        return None, None
    if name == "metric_model":
        return MetricModelSource(background.net, scale.metric_model_every, background.run, scale.metric_model_focal), None
    frames, odometry = transforms(), None
    pose = pose_by_tf(frames, scale.odometry_frame)
    if scale.odometry_input == "topic":
        odometry = OdometryReadings(frames)
        pose = odometry.pose
    return OdometrySource(background.net, pose, background.run, views=scale.odometry_views, baseline=scale.odometry_baseline), odometry


def background_options(options: NodeOptions) -> NodeOptions | None:
    """Of the network beside the first one, None where the source wants none: the metric model, or the model itself once more.

    The model is there twice for odometry, so that looking at several keyframes holds up no frame.
    """
    if options.processing.scale_source not in BACKGROUND_SOURCES:
        return None
    model = options.metric_model if options.processing.scale_source == "metric_model" else options.model
    alone = replace(options.processing, scale_source="model")
    return replace(options, model=model, metric_model="", threads=options.scale.background_threads, processing=alone)


def check_background(wanted: NodeOptions, configured: NodeOptions) -> None:
    """Raises OptionError ``option.range`` where options want a network beside the first one that was not loaded at configure."""
    source = wanted.processing.scale_source
    if source not in BACKGROUND_SOURCES:
        return
    if source != configured.processing.scale_source:
        raise OptionError("option.range", f"scale.source {source} wants a network of its own, which is loaded at start: set it there.")
    if source == "odometry" and wanted.model != configured.model:
        raise OptionError("option.range", "scale.source odometry looks with the model of the start: set another one there.")
