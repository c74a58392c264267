"""What all suites share. Modules beside this file (test doubles, tiny models) are imported by name: pytest puts this folder on the path."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def photo() -> np.ndarray:
    """uint8 [48, 64, 3] with every channel different and no symmetry."""
    rows, columns = np.mgrid[0:48, 0:64]
    channels = [columns * 3 + rows, rows * 4, 255 - columns * 2 - rows]
    noise = np.random.default_rng(7).integers(0, 20, (48, 64, 3))
    return (np.stack(channels, axis=2) * 0.9 + noise).clip(0, 255).astype(np.uint8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The numbers of the field cases go into the report of the run, where tools/cases.py finds them."""
    for item in items:
        item.user_properties += [("case", str(mark.args[0])) for mark in item.iter_markers("case")]
