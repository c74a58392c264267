"""What the tests of exports share."""

from __future__ import annotations

import pytest
from wall import Wall, two_views


@pytest.fixture
def wall() -> Wall:
    return two_views()
