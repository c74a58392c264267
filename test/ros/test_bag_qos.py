"""What the player offers, by what the publishers of the recording did."""

from __future__ import annotations

import pytest
from replay_tools import BEST_EFFORT, LATCHED
from rosbags.interfaces import Qos

from depth_anything_ros.ros.bag_qos import to_offer


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ([], ("RELIABLE", "VOLATILE", 10)),
        ([BEST_EFFORT], ("BEST_EFFORT", "VOLATILE", 3)),
        ([BEST_EFFORT, BEST_EFFORT._replace(depth=7)], ("BEST_EFFORT", "VOLATILE", 7)),
        ([BEST_EFFORT._replace(depth=0)], ("BEST_EFFORT", "VOLATILE", 10)),
        ([LATCHED._replace(depth=1)] * 3, ("RELIABLE", "TRANSIENT_LOCAL", 3)),
        ([LATCHED._replace(depth=0)] * 2, ("RELIABLE", "TRANSIENT_LOCAL", 10)),
        ([LATCHED._replace(depth=2), BEST_EFFORT], ("RELIABLE", "TRANSIENT_LOCAL", 2)),
    ],
)
def test_the_strongest_offer_and_room_for_all_that_is_latched(recorded: list[Qos], expected: tuple[str, str, int]) -> None:
    offer = to_offer(recorded)
    assert (offer.reliability.name, offer.durability.name, offer.depth) == expected
