"""A recording to depth, live: ros2 launch depth_anything_ros bag.launch.py model:=MODEL bag:=FOLDER image_topic:=/camera/image_raw

`ros2 bag play` with its clock beside depth.launch.py with simulated time. For every picture of a recording instead of those that the
machine keeps up with, see `depth-anything-ros replay`.
"""

from launch.actions import DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

ARGUMENTS = [
    DeclareLaunchArgument("bag", description="Folder or file of the recording."),
    DeclareLaunchArgument("rate", default_value="1.0", description="Speed of the player."),
    DeclareLaunchArgument("loop", default_value="false", choices=["true", "false"], description="Begin again at the end."),
    DeclareLaunchArgument("model", description="GGUF file, or the name of a fetched model such as da3-small."),
    DeclareLaunchArgument("image_topic", description="Pictures in the recording; with image_transport compressed without /compressed."),
    DeclareLaunchArgument("image_transport", default_value="raw", choices=["raw", "compressed"], description="raw or compressed."),
    DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="Start RViz with depth and cloud."),
]


def player(context: LaunchContext) -> list[ExecuteProcess]:
    command = ["ros2", "bag", "play", LaunchConfiguration("bag"), "--clock", "--rate", LaunchConfiguration("rate")]
    if LaunchConfiguration("loop").perform(context) == "true":
        command.append("--loop")
    return [ExecuteProcess(cmd=command, output="screen")]


def generate_launch_description() -> LaunchDescription:
    depth = PathJoinSubstitution([FindPackageShare("depth_anything_ros"), "launch", "depth.launch.py"])
    passed_on = {name: LaunchConfiguration(name) for name in ("model", "image_topic", "image_transport", "rviz")}
    return LaunchDescription(
        [
            *ARGUMENTS,
            IncludeLaunchDescription(PythonLaunchDescriptionSource(depth), launch_arguments=[*passed_on.items(), ("use_sim_time", "true")]),
            OpaqueFunction(function=player),
        ]
    )
