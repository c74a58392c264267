"""One table of the node's parameters: declared from it, checked by it, documented from it (config/depth.yaml, docs/node.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from depth_anything_ros.depth import SKY_POLICIES
from depth_anything_ros.errors import OptionError
from depth_anything_ros.pipeline import SCALE_SOURCES, ProcessingOptions
from depth_anything_ros.ros.parameter_entry import Entry, Value
from depth_anything_ros.ros.scale_parameters import SCALE, TEMPORAL
from depth_anything_ros.scale.options import ScaleOptions
from depth_anything_ros.scale.steady import TemporalOptions

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.node import Node
    from rclpy.parameter import Parameter

_CAMERA_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_PROCESSING = {one.name: one.default for one in fields(ProcessingOptions)}

TABLE: tuple[Entry, ...] = (
    Entry("model", "", "GGUF file, or the name of a fetched model such as da3-small; required. A new one is loaded beside the old one."),
    Entry(
        "metric_model",
        "",
        "Metric model (file or name) beside an any-view one: on every frame with scale.source model, on keyframes with metric_model.",
        read_only=True,
    ),
    Entry("device", "cpu", "Where the network runs: cpu, cuda, vulkan, cuda:1; of a list (cuda,cpu) the first that is there."),
    Entry("threads", 0, "CPU threads of the network; 0 takes the cores that the process may use.", False, (0, 256)),
    Entry("nice", 0, "Added to the niceness of the network's threads, so that others go first.", True, (0, 19)),
    Entry("resolution", 0, "Long side of the picture as the network sees it, pixels; 0 takes the model's own (504).", False, (0, 4096)),
    Entry("max_rate", 0.0, "Most frames per second and camera; 0 takes all that the engine can do.", False, (0.0, 1000.0)),
    Entry("max_age", 0.0, "Frames older than this are dropped when their turn comes, seconds; 0 takes any.", False, (0.0, 1e6)),
    Entry("autostart", True, "The node configures and activates itself; false leaves that to a lifecycle manager.", read_only=True),
    Entry("cameras", [""], "Sub-namespaces of the cameras, such as [front, left]; one empty name is one camera without.", read_only=True),
    Entry("image_transport", "raw", "raw: image, compressed: image/compressed (JPEG, PNG).", read_only=True, choices=("raw", "compressed")),
    Entry(
        "rectify",
        "auto",
        "auto: lens distortion is removed, unless the last part of the picture's topic contains rect; off: never (K and D hold).",
        read_only=True,
        choices=("auto", "off"),
    ),
    Entry(
        "focal", 0.0, "Focal length of the camera picture in pixels while no usable camera_info comes; 0 is not known.", False, (0.0, 1e6)
    ),
    Entry("depth.encoding", "32FC1", "Depth image: 32FC1 in metres or 16UC1 in millimetres.", choices=("32FC1", "16UC1")),
    Entry("depth.min", _PROCESSING["depth_min"], "Nearest valid depth, metres.", False, (0.0, 1e6)),
    Entry("depth.max", _PROCESSING["depth_max"], "Farthest valid depth, metres.", False, (0.0, 1e6)),
    Entry(
        "depth.size",
        _PROCESSING["depth_size"],
        "Size of all maps: that of the camera picture, or the network's own.",
        choices=("camera", "network"),
    ),
    Entry(
        "depth.upsample",
        _PROCESSING["depth_upsample"],
        "How depth gets the camera's size: bilinear, or guided by the edges of the picture.",
        choices=("bilinear", "guided"),
    ),
    Entry(
        "sky.policy",
        _PROCESSING["sky_policy"],
        "Depth of sky pixels: +Inf, NaN, or depth.max (in relative maps the largest valid depth).",
        choices=SKY_POLICIES,
    ),
    Entry("sky.threshold", _PROCESSING["sky_threshold"], "Network value from which a pixel is sky.", False, (1e-6, 1e6)),
    Entry(
        "confidence.threshold",
        _PROCESSING["confidence_threshold"],
        "Depth of lower confidence (0 to 1) is invalid, where the model gives one.",
        False,
        (0.0, 1.0),
    ),
    Entry("points.stride", _PROCESSING["points_stride"], "The cloud takes every n-th pixel of every n-th row.", False, (1, 64)),
    Entry(
        "points.rate",
        0.0,
        "Most clouds per second; 0 makes one of every frame. What the network computes is limited by max_rate.",
        False,
        (0.0, 1000.0),
    ),
    Entry("points.max", _PROCESSING["points_max"], "Farthest point of the cloud, metres; 0 is depth.max.", False, (0.0, 1e6)),
    Entry(
        "points.edge_filter",
        _PROCESSING["points_edge_filter"],
        "No points at edges where depth jumps by more than this fraction; 0 keeps all.",
        False,
        (0.0, 100.0),
    ),
    Entry("points.confidence", _PROCESSING["points_confidence"], "A field confidence in the cloud, where the model gives one."),
    Entry(
        "color.near", _PROCESSING["color_near"], "Depth of the warm end of depth/color; 0 follows the pictures smoothly.", False, (0.0, 1e6)
    ),
    Entry(
        "color.far", _PROCESSING["color_far"], "Depth of the cold end of depth/color; 0 follows the pictures smoothly.", False, (0.0, 1e6)
    ),
    Entry("snapshot.folder", "~/.ros/depth_anything", "Where ~/snapshot writes; each has a folder of its own."),
    Entry(
        "scale.source",
        _PROCESSING["scale_source"],
        "Where metres come from: the model, a constant, or what is measured while the robot runs (see the section on metres).",
        choices=SCALE_SOURCES,
    ),
    Entry("scale.value", _PROCESSING["scale_value"], "Metres per unit of relative depth, for scale.source constant.", False, (0.0, 1e6)),
    *SCALE,
    *TEMPORAL,
)


@dataclass(frozen=True)
class NodeOptions:
    """All parameters as one value, so that a frame sees one set of them."""

    model: str = ""
    metric_model: str = ""
    device: str = "cpu"
    threads: int = 0
    nice: int = 0
    resolution: int = 0
    max_rate: float = 0.0
    max_age: float = 0.0
    autostart: bool = True
    cameras: tuple[str, ...] = ("",)
    image_transport: str = "raw"
    rectify: str = "auto"
    focal: float = 0.0
    depth_encoding: str = "32FC1"
    points_rate: float = 0.0
    snapshot_folder: str = "~/.ros/depth_anything"
    processing: ProcessingOptions = field(default_factory=ProcessingOptions)
    scale: ScaleOptions = field(default_factory=ScaleOptions)
    temporal: TemporalOptions = field(default_factory=TemporalOptions)

    def __post_init__(self) -> None:
        if self.processing.scale_source == "metric_model" and not self.metric_model:
            raise OptionError("option.range", "scale.source metric_model needs the parameter metric_model: a GGUF file or a fetched model.")

    @property
    def pair(self) -> str:
        """The metric model that works on every frame, or empty."""
        return self.metric_model if self.processing.scale_source == "model" else ""

    @property
    def engine(self) -> tuple[str, str, str, int, int]:
        """What an engine is loaded with; a change of it loads another one."""
        return self.model, self.pair, self.device, self.threads, self.resolution


def options_from(values: Mapping[str, Value]) -> NodeOptions:
    """Parameter values by name to checked options. Raises OptionError ``option.range`` that names the parameter, the value and the rule."""
    for entry in TABLE:
        _check(entry, _spelled(entry, values[entry.name]))
    flat = {entry.name.replace(".", "_"): _spelled(entry, values[entry.name]) for entry in TABLE}
    flat["cameras"] = _camera_names(values["cameras"])  # type: ignore[assignment]
    processing = ProcessingOptions(**{name: flat.pop(name) for name in _PROCESSING})  # type: ignore[arg-type]
    scale = ScaleOptions(**{one.name: flat.pop("scale_" + one.name) for one in fields(ScaleOptions)})  # type: ignore[arg-type]
    temporal = TemporalOptions(**{one.name: flat.pop("temporal_" + one.name) for one in fields(TemporalOptions)})  # type: ignore[arg-type]
    return NodeOptions(processing=processing, scale=scale, temporal=temporal, **flat)  # type: ignore[arg-type]


def check_named(options: NodeOptions) -> None:
    """Raises OptionError ``option.range`` while no model is named, which is the default."""
    if not options.model:
        raise OptionError("option.range", "parameter model is empty; set it to a GGUF file or the name of a fetched model.")


def declare(node: Node) -> NodeOptions:
    """Declare the table on a node. For bad start values raises rclpy's ParameterException (range) or OptionError (the rest)."""
    from rclpy.exceptions import InvalidParameterTypeException

    for entry in TABLE:
        try:
            node.declare_parameter(entry.name, entry.default, _descriptor(entry))
        except InvalidParameterTypeException as error:
            raise OptionError("option.range", f"{error}; write it like its default, {entry.default!r}.") from error
    return read(node)


def read(node: Node, changes: Iterable[Parameter] = ()) -> NodeOptions:
    """Options of a node as they are, or as they would be after `changes` (parameters of other owners are skipped)."""
    values = values_of(node)
    values.update({change.name: change.value for change in changes if change.name in values})
    return options_from({name: list(value) if isinstance(value, (list, tuple)) else value for name, value in values.items()})


def values_of(node: Node) -> dict[str, Value]:
    """What the parameters of the table are now, in words that every reader of YAML takes (see `_spelled`)."""
    return {entry.name: _spelled(entry, node.get_parameter(entry.name).value) for entry in TABLE}


def _camera_names(names: Value) -> tuple[str, ...]:
    chosen = tuple(names or [""]) if isinstance(names, list) else ()
    if chosen != ("",) and (not chosen or len(set(chosen)) != len(chosen) or not all(map(_CAMERA_NAME.fullmatch, chosen))):
        raise OptionError(
            "option.range", f"cameras {list(chosen)!r} must be different names of letters, digits and _ that begin with a letter."
        )
    return chosen


def _spelled(entry: Entry, value: Value) -> Value:
    """The value as the table spells it: YAML and the command line read a bare off as false, inf and nan as numbers."""
    text = "off" if value is False else str(value)
    return text if text in entry.choices else value


def _check(entry: Entry, value: Value) -> None:
    if entry.choices and value not in entry.choices:
        raise OptionError("option.range", f"{entry.name} {value!r} must be one of {', '.join(entry.choices)}.")
    if entry.bounds is None:
        return
    low, high = entry.bounds
    if isinstance(value, (str, list)) or not math.isfinite(value) or not low <= value <= high:
        raise OptionError("option.range", f"{entry.name} {value!r} must be {entry.constraint}.")


def _descriptor(entry: Entry) -> ParameterDescriptor:
    # Imported here, so that the replay of bags reads the same table without ROS.
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    descriptor = ParameterDescriptor(
        description=entry.description,
        read_only=entry.read_only,
        additional_constraints=" | ".join(entry.choices),
        dynamic_typing=bool({"off", "inf", "nan"} & set(entry.choices)),  # see _spelled
    )
    if entry.bounds is not None and isinstance(entry.default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=entry.bounds[0], to_value=entry.bounds[1], step=0.0)]
    elif entry.bounds is not None:
        descriptor.integer_range = [IntegerRange(from_value=int(entry.bounds[0]), to_value=int(entry.bounds[1]), step=1)]
    return descriptor
