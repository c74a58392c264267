"""Ctrl-C while the network is at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from depth_anything_ros import Engine
from depth_anything_ros.cli import main
from depth_anything_ros.cli.stopping import interruptible
from depth_anything_ros.errors import CancelledError


@pytest.fixture(autouse=True)
def sigint_heard() -> Iterator[None]:
    """By this process and those that it starts: a shell's background jobs inherit a SIGINT that is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Busy:
    """An engine whose call ends when it is cancelled, and hears that only once it has begun."""

    def __init__(self) -> None:
        self.running, self.cancelled = threading.Event(), threading.Event()

    def infer(self) -> None:
        threading.Event().wait(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.2)
        self.running.set()
        assert self.cancelled.wait(30), "nobody cancelled"
        raise CancelledError("engine.cancelled", "The inference was cancelled.")

    def cancel(self) -> None:
        if self.running.is_set():
            self.cancelled.set()


def test_an_interrupt_cancels_the_engine() -> None:
    engine = Busy()
    with pytest.raises(KeyboardInterrupt):
        interruptible(engine, engine.infer)
    assert engine.cancelled.is_set()


class BusyModel(Busy):
    """The same in place of a loaded model, as the verbs that run a network use one."""

    info = SimpleNamespace(checkpoint="busy", license="", path="busy.gguf", device="cpu", instruction_set="none")

    def __enter__(self) -> BusyModel:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.cancelled.is_set()

    def infer(self, *_: object, **__: object) -> None:
        super().infer()


def test_an_interrupt_ends_verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Engine, "load", lambda *_, **__: BusyModel())
    assert main(["verify", "busy.gguf"]) == 130
    assert "passed" not in capsys.readouterr().out


UNFINISHED = """
import sys, time
from pathlib import Path
from depth_anything_ros.cli import infer, main
from depth_anything_ros.files import replacing

def write(arguments):
    with replacing(arguments.output) as partial:
        partial.write_bytes(b"half")
        print("writing", flush=True)
        time.sleep(60)

infer.run = write
sys.exit(main(["infer", "a.png", "--model", "m", "-o", sys.argv[1]]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_end_from_outside_leaves_nothing_unfinished(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "out").write_bytes(b"before")
    command = [sys.executable, "-c", UNFINISHED, str(tmp_path / "out")]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"writing\n"
    process.send_signal(number)
    assert process.communicate(timeout=30) == (b"", b"") and process.returncode == code
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_results_and_errors_come_through() -> None:
    assert interruptible(Busy(), lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(Busy(), lambda: 1 // 0)
