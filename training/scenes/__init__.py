"""Seeded procedural worlds, rendered by analytic ray casting in NumPy.

World frame: x and y on the ground, z up, metres (REP 103). Camera frame: optical, x right, y down, z forward.
"""
