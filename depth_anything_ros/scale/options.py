"""How the scale is measured and how long it is trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from depth_anything_ros.errors import OptionError

ODOMETRY_INPUTS = ("topic", "tf")
FOCAL_LENGTHS = ("camera", "model")


@dataclass(frozen=True)
class ScaleOptions:
    """Raises OptionError ``option.range`` for values that no filter or source can work with."""

    max_age: float = 10.0
    """Seconds after the last estimate at which the scale is not known any more."""
    window: float = 3.0
    """Seconds of estimates that are averaged; never fewer than the last three."""
    jump: float = 0.3
    """An estimate that differs by this share is held back until others agree with it."""
    background_threads: int = 1
    """CPU threads of work on keyframes, which runs at a low priority beside the live frames."""
    metric_model_every: int = 10
    """``metric_model``: one of so many processed frames is a keyframe."""
    metric_model_focal: str = "camera"
    """``metric_model``: whose focal length makes its metres, ``camera`` or ``model`` (the fast one's estimate, as in the nested model)."""
    camera_height_height: float = 0.0
    """``camera_height``: of the camera above the ground, metres; 0 takes it from TF."""
    camera_height_frame: str = "base_footprint"
    """``camera_height``: TF frame whose plane z = 0 is the ground."""
    range_tolerance: float = 0.1
    """``range``: seconds that a measurement may lie from the picture."""
    odometry_views: int = 4
    """``odometry``: keyframes that the network sees together."""
    odometry_baseline: float = 0.25
    """``odometry``: metres of motion between two keyframes."""
    odometry_input: str = "topic"
    """``odometry``: ``topic`` (nav_msgs/Odometry) or ``tf``."""
    odometry_frame: str = "odom"
    """``odometry``: TF frame that the camera's motion is read in."""

    def __post_init__(self) -> None:
        for name in ("max_age", "window", "jump", "range.tolerance", "odometry.baseline"):
            value = getattr(self, name.replace(".", "_"))
            _check(0.0 < value < math.inf, f"scale.{name} {value:g} must be above 0")
        _check(self.background_threads >= 0, f"scale.background.threads {self.background_threads} must be 0 or more")
        _check(self.metric_model_every >= 1, f"scale.metric_model.every {self.metric_model_every} must be 1 or more")
        _check(
            self.metric_model_focal in FOCAL_LENGTHS,
            f"scale.metric_model.focal {self.metric_model_focal!r} must be one of {', '.join(FOCAL_LENGTHS)}",
        )
        _check(
            0.0 <= self.camera_height_height < math.inf,
            f"scale.camera_height.height {self.camera_height_height:g} must be 0 (from TF) or metres above",
        )
        _check(self.odometry_views >= 3, f"scale.odometry.views {self.odometry_views} must be 3 or more")
        _check(
            self.odometry_input in ODOMETRY_INPUTS,
            f"scale.odometry.input {self.odometry_input!r} must be one of {', '.join(ODOMETRY_INPUTS)}",
        )


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise OptionError("option.range", message + ".")
