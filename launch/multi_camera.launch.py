"""Several cameras on one engine.

    ros2 launch depth_anything_ros multi_camera.launch.py model:=MODEL cameras:=front=/front/image_raw,left=/left/image_raw

Outputs are front/depth/image_rect, left/points and so on; each camera's camera_info is the sibling of its image topic.
"""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

ARGUMENTS = [
    DeclareLaunchArgument("model", description="GGUF file, or the name of a fetched model such as da3-small."),
    DeclareLaunchArgument("cameras", description="Names and image topics: front=/front/image_raw,left=/left/image_raw"),
    DeclareLaunchArgument(
        "image_transport", default_value="raw", choices=["raw", "compressed"], description="raw, or compressed (the topics' siblings)."
    ),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and of its outputs."),
    DeclareLaunchArgument(
        "params_file",
        default_value=PathJoinSubstitution([FindPackageShare("depth_anything_ros"), "config", "depth.yaml"]),
        description="Parameters of the node; the arguments of this file win over it.",
    ),
    DeclareLaunchArgument("use_sim_time", default_value="false", choices=["true", "false"], description="Take the time from /clock."),
    DeclareLaunchArgument(
        "log_level", default_value="info", choices=["debug", "info", "warn", "error", "fatal"], description="Least level that is logged."
    ),
]


def cameras_of(text: str) -> dict[str, str]:
    """Name to image topic."""
    pairs = [tuple(part.strip() for part in one.split("=", 1)) for one in text.split(",")]
    cameras = {pair[0]: pair[-1] for pair in pairs}
    if len(cameras) < len(pairs) or not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise ValueError(f"cameras:={text} must be name=topic,name=topic with different names")
    return cameras


def depth_node(context: LaunchContext) -> list[Node]:
    """The node; a function, since its remappings follow from the text of an argument."""
    cameras = cameras_of(LaunchConfiguration("cameras").perform(context))
    return [
        Node(
            package="depth_anything_ros",
            executable="depth_node",
            name="depth_anything",
            namespace=LaunchConfiguration("namespace"),
            parameters=[
                ParameterFile(LaunchConfiguration("params_file"), allow_substs=True),
                {
                    "model": ParameterValue(LaunchConfiguration("model"), value_type=str),
                    "cameras": list(cameras),
                    "image_transport": ParameterValue(LaunchConfiguration("image_transport"), value_type=str),
                    "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                },
            ],
            remappings=[(f"{name}/image", topic) for name, topic in cameras.items()],
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=depth_node)])
