"""How far depth is from the truth: customary numbers, by distance and over time. Needs no ROS."""
