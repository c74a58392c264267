"""The hub's address and the offline switch are read when huggingface_hub is imported, so every fetch runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from fake_hub import FakeHub


@pytest.fixture
def hub():
    server = FakeHub()
    yield server
    server.close()


@pytest.fixture
def popen(hub, tmp_path):
    """Starts ``depth-anything-ros models ...`` against the fake hub, with a home of its own."""
    started = []

    def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        settings = {**os.environ, "HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*"}
        line = [sys.executable, "-m", "depth_anything_ros", "models", *arguments]
        process = subprocess.Popen(line, env={**settings, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def command(popen):
    """Runs it to its end."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = popen(*arguments, **environment)
        output, errors = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    return run
