"""Runs contenders in turn (A B C, A B C, ...) and says how long each took; frames that other processes disturbed are run again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from depth_anything_ros.errors import OptionError
from depth_anything_ros.types import Float32Array

QUIET = 0.04
"""Largest share of the machine's CPU time that other processes may use during a frame that counts."""
ATTEMPTS = 5
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Contender:
    """One process that computes frames (see `contender`), and what was measured of it."""

    name: str
    threads: int
    command: list[str]
    facts: dict[str, str] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    disturbed: int = 0
    """How many of `milliseconds` were measured while other processes were busy."""
    peak_megabytes: float = 0.0
    _process: subprocess.Popen[str] | None = field(default=None, init=False, repr=False)

    def start(self) -> None:
        """Start the process and wait until it is ready. Raises OptionError (``option.unknown``) when it cannot start, or ends instead."""
        # A rival may have an interpreter of its own, in which this package is not installed.
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        try:
            # In a session of its own: Ctrl-C reaches the verb, which stops it and what it started.
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
            )
        except OSError as error:
            raise OptionError(
                "option.unknown",
                f"Contender {self.name}: {self.command[0]} cannot be run: {error.strerror}; `make parity` installs rivals, --rival-python "
                "names another interpreter.",
            ) from error
        line = self._line()
        while not line.startswith("ready "):  # libraries may print while they load
            line = self._line()
        self.facts = json.loads(line.removeprefix("ready "))

    def depth(self, path: Path) -> Float32Array:
        """The depth that it computes, by way of the file `path`."""
        self._ask(f"save {path}")
        return np.load(path)

    def frame(self) -> tuple[float, float]:
        """Run one frame: its milliseconds, and the peak of resident megabytes so far."""
        _, milliseconds, peak = self._ask("frame").split()
        return float(milliseconds), float(peak)

    def measure(self) -> None:
        """Run frames until one was undisturbed, or ATTEMPTS of them; keep the last one."""
        for _ in range(ATTEMPTS):
            others, start = self._others_busy(), time.monotonic()
            milliseconds, peak = self.frame()
            share = (self._others_busy() - others) / (time.monotonic() - start) / (os.cpu_count() or 1)
            if share <= QUIET:
                break
        self.milliseconds.append(milliseconds)
        self.disturbed += share > QUIET
        self.peak_megabytes = peak

    def stop(self) -> None:
        """End it, in whatever it is doing; without effect when it does not run."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    def _ask(self, line: str) -> str:
        with contextlib.suppress(BrokenPipeError):  # then no answer comes, which `_line` reports
            self._process.stdin.write(line + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        return self._line()

    def _line(self) -> str:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            code = self._process.wait()  # type: ignore[union-attr]
            self.stop()
            raise OptionError("option.unknown", f"Contender {self.name} ended (exit code {code}): {' '.join(self.command)}")
        return line.strip()

    def _others_busy(self) -> float:
        """CPU seconds that all processes but this one's have used since boot."""
        user, nice, system, _, _, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
        own = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (user + nice + system + irq + softirq + steal - int(own[11]) - int(own[12])) / _TICKS_PER_SECOND


def race(contenders: list[Contender], rounds: int) -> None:
    """Measure `rounds` frames of every started contender, in turn."""
    for _ in range(rounds):
        for contender in contenders:
            contender.measure()


def beside_busy(contenders: list[Contender], rounds: int) -> str:
    """The frames of contenders that were measured before, in turn, while one process does nothing but count; one line each."""
    lines = ["", "beside a busy process  threads  median ms  times its own"]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            times = [[contender.frame()[0] for contender in contenders] for _ in range(rounds)]
        finally:
            other.kill()
    for contender, measured in zip(contenders, zip(*times)):
        median = statistics.median(measured)
        lines.append(f"{contender.name:22s} {contender.threads:7d} {median:10.1f} {median / contender.median:14.2f}")
    return "\n".join(lines)


def table(contenders: list[Contender], depths: list[Float32Array]) -> str:
    """One line per contender; ratio and agreement (largest relative difference of depth) are to the first one with as many threads."""
    lines = ["contender        threads  median ms     min     max  ratio  peak MB  agreement  disturbed"]
    firsts: dict[int, tuple[Contender, Float32Array]] = {}
    for contender, depth in zip(contenders, depths):
        first, reference = firsts.setdefault(contender.threads, (contender, depth))
        agreement = "-" if first is contender else f"{np.max(np.abs(depth / reference - 1)):.1e}"
        lines.append(
            f"{contender.name:16s} {contender.threads:7d} {contender.median:10.1f} {min(contender.milliseconds):7.1f} "
            f"{max(contender.milliseconds):7.1f} {contender.median / first.median:6.3f} {contender.peak_megabytes:8.0f} {agreement:>10s} "
            f"{contender.disturbed:5d}/{len(contender.milliseconds)}"
        )
    return "\n".join(lines)
