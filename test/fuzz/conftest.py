"""Nothing of its own; pytest puts this folder on the path, so that the targets are imported by name."""
