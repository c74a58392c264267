"""Metres for depth that lacks them: sources that measure the scale, and the filter that trusts them. NumPy and OpenCV, no ROS."""
