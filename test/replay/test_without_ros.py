"""Replay, evaluate and report run where no ROS is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from replay_tools import camera_messages, read, write
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"rclpy", "sensor_msgs", "std_msgs", "diagnostic_msgs", "builtin_interfaces", "rcl_interfaces", "ray"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker())
from depth_anything_ros.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.native
def test_a_replay(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(4))
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    arguments = ["replay", recording, "-o", tmp_path / "out", "--model", model, "-p", "resolution:=56", "--outputs", "all"]
    done = subprocess.run([sys.executable, "-c", BLOCKED, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert len(read(tmp_path / "out")["/cam/relative/image"]) == 4
