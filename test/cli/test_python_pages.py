"""The Python blocks of the docs run as they stand, with the models in the package in the place of fetched ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from depth_anything_ros.ros.drive_file import read_drive

DOCS = Path(__file__).resolve().parents[2] / "docs"
HERE = {"da3-small": "nano-any-view", "da3metric-large": "nano-metric"}


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    for published, shipped in HERE.items():
        text = text.replace(f'"{published}"', f'"{shipped}"')
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the pictures that the pages name; the working directory."""
    shot = next(iter(read_drive()))
    for name in ("photo.jpg", "room.jpg"):
        assert cv2.imwrite(str(tmp_path / name), np.ascontiguousarray(shot.rgb[:, :, ::-1]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.native
def test_the_page_about_python(folder: Path) -> None:
    first, second = blocks("python.md")
    found: dict[str, Any] = {}
    exec(first, found)
    assert found["prediction"].kind.name == "RELATIVE_DEPTH" and found["prediction"].depth.ndim == 2
    exec(second, found := {})
    depth = found["products"].depth
    assert depth.shape == cv2.imread("photo.jpg").shape[:2] and np.isfinite(depth).any() and len(found["products"].points)


@pytest.mark.native
def test_the_block_about_exports(folder: Path) -> None:
    (block,) = blocks("exports.md")
    exec(block, {})
    assert (folder / "scene.glb").read_bytes()[:4] == b"glTF"


@pytest.mark.native
def test_the_block_about_nano(folder: Path) -> None:
    (block,) = blocks("nano.md")
    exec(block, {})
