"""Procedural scenes with exact depth, and the training of the nano models on them. Nothing in the ROS package imports this folder."""
