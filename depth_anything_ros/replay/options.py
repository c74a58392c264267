"""What a replay is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from depth_anything_ros.errors import OptionError
from depth_anything_ros.ros.bag_writer import STORAGES
from depth_anything_ros.ros.parameters import NodeOptions

KEEP_ALL = ("all",)
DEFAULT_SEGMENT = 100
"""Pictures that a segment has at least, so that a kill loses little."""


@dataclass(frozen=True)
class ReplayOptions:
    """Raises OptionError where a value makes no sense."""

    output: Path
    """Folder of the bag to write."""
    node: NodeOptions = field(default_factory=NodeOptions)
    images: tuple[str, ...] = ()
    """Image topics; empty takes the only one that there is."""
    namespace: str | None = None
    """Of the output topics; None takes that of the image topic."""
    keep: tuple[str, ...] = KEEP_ALL
    """Recorded topics that go into the output: ``all``, ``none``, or names (with those of TF)."""
    outputs: tuple[str, ...] = ()
    """Output topics as the node names them (``depth/image_rect``); empty takes all but the clouds; ``all``."""
    remaps: tuple[tuple[str, str], ...] = ()
    """(topic as the node names it, topic of the recording), for what the scale's source reads: ``scale/points``, ``/lidar``."""
    every: int = 1
    """Process every n-th picture."""
    start: float = 0.0
    """Seconds after the begin of the recording."""
    stop: float | None = None
    """Seconds after the begin of the recording; None is its end."""
    storage: str = "mcap"
    segment: int = DEFAULT_SEGMENT
    jobs: int = 1
    """Processes on this machine, or workers on the cluster (0: as many as it has room for)."""
    cluster: str = ""
    """Address of a Ray cluster, ``local`` for one on this machine; empty for none."""

    def __post_init__(self) -> None:
        _check(bool(self.node.model), "a model is needed: --model, or parameter model in a parameter file")
        _check(self.every >= 1, f"every {self.every} must be 1 or more")
        _check(0.0 <= self.start < float("inf"), f"from {self.start:g} must be 0 or more seconds")
        _check(self.stop is None or self.stop > self.start, f"to {self.stop} must be later than from {self.start:g}")
        _check(self.storage in STORAGES, f"storage {self.storage!r} is unknown; known: {', '.join(STORAGES)}")
        _check(self.segment >= 1, f"segment {self.segment} must be 1 or more pictures")
        _check(
            self.node.processing.scale_source != "odometry" or (self.jobs == 1 and not self.cluster),
            "scale.source odometry follows the robot's way from the begin on; leave --jobs and --ray out",
        )
        _check(self.jobs >= (0 if self.cluster else 1), f"jobs {self.jobs} must be 1 or more")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise OptionError("option.range", f"{message[0].upper()}{message[1:]}.")
