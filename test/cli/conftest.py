"""What the tests of verbs share."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest


@pytest.fixture
def picture(tmp_path: Path, photo: np.ndarray) -> Path:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), photo[..., ::-1])
    return path
