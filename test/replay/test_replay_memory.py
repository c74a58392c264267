"""Memory of a long replay stays flat."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from bag_tools import verb
from replay_tools import camera_messages, read, write
from toy_model import SMALLEST_ANY_VIEW, write_toy_model

FRAMES = 10_000


def resident(process_id: int) -> int:
    """Megabytes."""
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.timeout(900)
def test_ten_thousand_frames(tmp_path: Path) -> None:
    recording = write(tmp_path / "in", camera_messages(FRAMES, (64, 48)))
    model = write_toy_model(tmp_path, SMALLEST_ANY_VIEW)
    process = verb("replay", recording, "-o", tmp_path / "out", "--model", model, "-p", "resolution:=56", "--outputs", "all")
    segments, sizes = tmp_path / ".out.replay" / "segments", {}
    while process.poll() is None:
        if segments.exists():
            done = len([child for child in segments.iterdir() if child.name.isdecimal()])
            sizes[done] = max(sizes.get(done, 0), resident(process.pid))
        time.sleep(0.05)
    _, err = process.communicate()
    assert process.returncode == 0, err
    early = max(size for done, size in sizes.items() if 10 <= done < 20)
    late = max(size for done, size in sizes.items() if done >= 80)
    print(f"{early} MB after a tenth, {late} MB at the end")
    assert late - early < 10
    assert len(read(tmp_path / "out")["/cam/relative/image"]) == FRAMES
