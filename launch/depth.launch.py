"""One camera to depth: ros2 launch depth_anything_ros depth.launch.py model:=MODEL image_topic:=/camera/image_raw"""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

SHARE = FindPackageShare("depth_anything_ros")

ARGUMENTS = [
    DeclareLaunchArgument("model", description="GGUF file, or the name of a fetched model such as da3-small; nano is for demos."),
    DeclareLaunchArgument("image_topic", default_value="image", description="Camera pictures (sensor_msgs/Image)."),
    DeclareLaunchArgument(
        "image_transport",
        default_value="raw",
        choices=["raw", "compressed"],
        description="raw, or compressed: pictures of image_topic/compressed.",
    ),
    DeclareLaunchArgument("camera_info_topic", default_value="", description="CameraInfo; empty takes the sibling of image_topic."),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and of its outputs."),
    DeclareLaunchArgument(
        "params_file",
        default_value=PathJoinSubstitution([SHARE, "config", "depth.yaml"]),
        description="Parameters of the node; the arguments of this file win over it.",
    ),
    DeclareLaunchArgument("use_sim_time", default_value="false", choices=["true", "false"], description="Take the time from /clock."),
    DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="Start RViz with depth and cloud."),
    DeclareLaunchArgument(
        "log_level", default_value="info", choices=["debug", "info", "warn", "error", "fatal"], description="Least level that is logged."
    ),
]


def depth_node(context: LaunchContext) -> list[Node]:
    """The node; a function, since the remapping of camera_info depends on whether its argument is empty."""
    remappings = [("image", LaunchConfiguration("image_topic"))]
    if LaunchConfiguration("camera_info_topic").perform(context):
        remappings.append(("camera_info", LaunchConfiguration("camera_info_topic")))
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
                    "image_transport": ParameterValue(LaunchConfiguration("image_transport"), value_type=str),
                    "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                },
            ],
            remappings=remappings,
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        namespace=LaunchConfiguration("namespace"),
        arguments=["-d", PathJoinSubstitution([SHARE, "config", "depth.rviz"])],
        parameters=[{"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)}],
        condition=IfCondition(LaunchConfiguration("rviz")),
        output="screen",
    )
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=depth_node), rviz])
