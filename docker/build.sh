#!/usr/bin/env bash
# Build the package with colcon and install it: build.sh SOURCE INSTALL_BASE [PRESET]. Used by the Dockerfiles, and by hand.
# PRESET is one of native/CMakePresets.json; ROS 2 must be sourced.
set -euo pipefail
source_folder=$(realpath "$1")
install_base=$2
preset=${3:-x86-cpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A copy, so that the source stays as it is.
mkdir -p "$work/src"
tar -C "$source_folder" --exclude=.git --exclude=.local --exclude=./build --exclude=./install --exclude=./log --exclude='*.so' -cf - . \
    | { mkdir "$work/src/depth_anything_ros" && tar -C "$work/src/depth_anything_ros" -xf -; }
cd "$work"
CMAKE_ARGS="--preset $preset ${CMAKE_ARGS:-}" colcon build --merge-install --install-base "$install_base" --event-handlers console_cohesion+
