"""The three.js of the page is what npm gives for the versions that are named."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "depth_anything_ros" / "report" / "assets"


@pytest.mark.slow
def test_the_bundle_can_be_made_again(tmp_path: Path) -> None:
    assert shutil.which("npm"), "npm is missing; on Debian and Ubuntu: apt install npm"
    folder = tmp_path / "tools" / "viewer"
    shutil.copytree(ROOT / "tools" / "viewer", folder, ignore=shutil.ignore_patterns("node_modules"))
    output = tmp_path / "depth_anything_ros" / "report" / "assets"
    output.mkdir(parents=True)
    for command in (["npm", "ci", "--no-fund", "--no-audit"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=200)
    assert (output / "three.min.js").read_bytes() == (ASSETS / "three.min.js").read_bytes()
    assert (folder / "node_modules" / "three" / "LICENSE").read_text() == (ASSETS / "three.LICENSE").read_text()


def test_the_license_is_there() -> None:
    assert "Permission is hereby granted, free of charge" in (ASSETS / "three.LICENSE").read_text(encoding="utf-8")
    assert b"</script" not in (ASSETS / "three.min.js").read_bytes().lower()
