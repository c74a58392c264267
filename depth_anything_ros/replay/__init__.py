"""Recordings in, depth out: every frame, as fast as the machine goes, with the code and the parameters of the live node. Needs no ROS."""
