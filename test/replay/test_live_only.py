"""What a live node measures from frame to frame is refused by a replay, not ignored."""

from __future__ import annotations

import pytest

from depth_anything_ros.errors import OptionError
from depth_anything_ros.replay.parameter_file import read_options


@pytest.mark.parametrize("source", ["camera_height", "range", "odometry"])
def test_sources_that_follow_the_frames(source: str) -> None:
    with pytest.raises(OptionError, match="live node"):
        read_options([], {"scale.source": source}, "/depth_anything")


@pytest.mark.parametrize("name", ["temporal.scale", "temporal.depth"])
def test_depth_held_still(name: str) -> None:
    with pytest.raises(OptionError, match="live node"):
        read_options([], {name: "true"}, "/depth_anything")


def test_what_needs_the_frame_alone_is_taken() -> None:
    options, _ = read_options([], {"scale.source": "constant", "scale.value": "2.0"}, "/depth_anything")
    assert options.processing.scale_value == 2.0
