#!/usr/bin/env bash
# Make ROS 2 and the package known, then become the command.
set -e
for setup in "/opt/ros/${ROS_DISTRO:-}/setup.bash" "${DEPTH_ANYTHING_PREFIX:-/opt/depth_anything_ros}/local_setup.bash"; do
    if [ -f "$setup" ]; then
        # shellcheck disable=SC1090
        source "$setup"
    fi
done
exec "$@"
