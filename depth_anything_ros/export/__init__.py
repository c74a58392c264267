"""Predictions as files for other programs: GLB, COLMAP and PLY, from a list of views of one scene (docs/exports.md)."""
