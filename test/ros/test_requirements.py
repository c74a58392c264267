"""What the node wants to be installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_node_needs_no_package_that_ros_does_not_bring() -> None:
    """A workspace that colcon has built has what package.xml names, and none of the extras of setup.py."""
    extras = set(re.findall(r'"(\w+)>=', (ROOT / "setup.py").read_text(encoding="utf-8").partition("extras_require")[2]))
    assert {"rosbags", "matplotlib"} <= extras
    blocked = sorted(extras | {"apsw", "backports", "ruamel", "mcap"})
    modules = ", ".join(f"depth_anything_ros.{name}" for name in ("ros.node", "ros.depth_node", "engine"))
    code = f"import sys; sys.modules.update(dict.fromkeys({blocked})); import {modules}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
