"""The parameters ``scale.*`` and ``temporal.*``: how metres are measured, and what is held still. Part of the table in `parameters`."""

from __future__ import annotations

from depth_anything_ros.ros.parameter_entry import Entry
from depth_anything_ros.scale.options import FOCAL_LENGTHS, ODOMETRY_INPUTS, ScaleOptions
from depth_anything_ros.scale.steady import TemporalOptions

_SCALE, _TEMPORAL = ScaleOptions(), TemporalOptions()

SCALE = (
    Entry("scale.max_age", _SCALE.max_age, "Seconds after the last estimate at which the scale is not known any more.", False, (0.1, 1e6)),
    Entry("scale.window", _SCALE.window, "Seconds of estimates that are averaged; never fewer than three estimates.", False, (0.01, 1e4)),
    Entry("scale.jump", _SCALE.jump, "An estimate off by this share counts only once three of them agree.", False, (0.01, 10.0)),
    Entry(
        "scale.background.threads",
        _SCALE.background_threads,
        "CPU threads of the work on keyframes (sources metric_model and odometry), which has a low priority; 0 takes all cores.",
        True,
        (0, 256),
    ),
    Entry("scale.metric_model.every", _SCALE.metric_model_every, "metric_model: one of so many frames is a keyframe.", False, (1, 10000)),
    Entry(
        "scale.metric_model.focal",
        _SCALE.metric_model_focal,
        "metric_model: whose focal length makes its metres: the calibrated camera's, or the fast model's estimate.",
        choices=FOCAL_LENGTHS,
    ),
    Entry(
        "scale.camera_height.height",
        _SCALE.camera_height_height,
        "camera_height: metres from the ground to the camera; 0 takes it from TF.",
        False,
        (0.0, 1000.0),
    ),
    Entry("scale.camera_height.frame", _SCALE.camera_height_frame, "camera_height: TF frame whose plane z = 0 is the ground."),
    Entry(
        "scale.range.tolerance", _SCALE.range_tolerance, "range: seconds that a measurement may lie from the picture.", False, (1e-3, 10.0)
    ),
    Entry("scale.odometry.views", _SCALE.odometry_views, "odometry: keyframes that the model sees together.", False, (3, 16)),
    Entry("scale.odometry.baseline", _SCALE.odometry_baseline, "odometry: metres of motion between two keyframes.", False, (0.01, 100.0)),
    Entry(
        "scale.odometry.input",
        _SCALE.odometry_input,
        "odometry: the topic scale/odom (nav_msgs/Odometry), or tf alone.",
        choices=ODOMETRY_INPUTS,
    ),
    Entry("scale.odometry.frame", _SCALE.odometry_frame, "odometry: TF frame in which the camera moves, for input tf."),
)
TEMPORAL = (
    Entry("temporal.scale", _TEMPORAL.scale, "Hold the scale of the depth still while the camera stands."),
    Entry("temporal.depth", _TEMPORAL.depth, "Hold every pixel still that does not change while the camera stands, and the scale with it."),
    Entry("temporal.memory", _TEMPORAL.memory, "Frames that are averaged.", False, (2, 1000)),
)
