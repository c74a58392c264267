"""What a replay has on disk before it is finished: the plan, and a bag for each segment that is done. Survives a kill at any moment.

Everything lies in a hidden folder beside the output. Every change of state is one rename: the plan is there or not, a segment is there or
not, the output is there or not. So going on means to do the segments that are not there.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from depth_anything_ros.errors import InputError, OptionError
from depth_anything_ros.paths import user_path
from depth_anything_ros.replay.plan import Plan
from depth_anything_ros.replay.segment import NOTE, SegmentResult, result_of
from depth_anything_ros.ros.bag_metadata import merged_metadata, read_metadata, write_metadata
from depth_anything_ros.ros.bag_writer import hidden_beside


class Journal:
    """Of one output. A context manager, which holds off other processes that would write the same output.

    identity: everything that the result depends on, in words by name; work that was begun with another one is not gone on with.
    """

    def __init__(self, output: Path, identity: Mapping[str, str]) -> None:
        self.output = user_path(output).absolute()
        self._identity = dict(identity)
        self._work = hidden_beside(self.output, ".replay")
        self._bag = self._work / "bag"
        self._plan = self._work / "plan.json"
        self._lock: TextIO | None = None

    def __enter__(self) -> Journal:
        """Raises OptionError when the output exists, is at work elsewhere, or was begun with another identity."""
        if self.output.exists():
            there = self._identity_of_output()
            if there != self._identity:
                why = "" if there is None else f", made with {self._difference(there)}"
                raise OptionError("option.range", f"{self.output} exists already{why}; give another folder for the bag or remove it.")
            shutil.rmtree(self._work, ignore_errors=True)
            return self
        try:
            (self._work / "segments").mkdir(parents=True, exist_ok=True)
            self._lock = (self._work / "lock").open("w")
        except OSError as error:
            raise InputError("input.file", f"{self.output} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise OptionError("option.range", f"{self.output} is being written by another process.") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._lock is not None:
            if not self._plan.exists() or (isinstance(error, OptionError) and not self.finished()):
                self.discard()  # nothing was begun
            self._lock.close()

    @property
    def complete(self) -> bool:
        return self.output.exists()

    def plan(self) -> Plan | None:
        """That of an earlier run. Raises OptionError when segments were done for something else."""
        if not self._plan.exists():
            return None
        content = json.loads(self._plan.read_text(encoding="utf-8"))
        if content["identity"] != self._identity:
            if not self.finished():
                return None  # a run with an option that did not fit, for example: nothing is lost
            begun = self._difference(content["identity"])
            raise OptionError(
                "option.range", f"{self.output} was begun with {begun}; go on with that, or remove {self._work} to begin anew."
            )
        return Plan.from_json(content["plan"])

    def save(self, plan: Plan) -> None:
        _write_whole(self._plan, json.dumps({"identity": self._identity, "plan": plan.to_json()}))

    def segment(self, number: int) -> Path:
        """Folder for the bag of a segment."""
        return self._work / "segments" / f"{number:04d}"

    def finished(self) -> dict[int, SegmentResult]:
        """Results of the segments that are done."""
        folders = [folder for folder in (self._work / "segments").iterdir() if folder.name.isdecimal()]
        return {int(folder.name): result_of(read_metadata(folder)["custom_data"]) for folder in sorted(folders)}

    def assemble(self, plan: Plan, summary: str) -> None:
        """Make the output of all segments: their files become the parts of one bag, without being copied. summary: kept in its metadata.

        Raises OptionError, and forgets the work, when no segment holds a message.
        """
        self._bag.mkdir(exist_ok=True)
        parts = []
        for segment in plan.segments:
            folder = self.segment(segment.number)
            metadata = read_metadata(folder)
            if metadata["message_count"]:
                name = metadata["relative_file_paths"][0]
                target = self._bag / f"part_{name}"
                if not target.exists():  # it may have got there before a kill
                    (folder / name).rename(target)
                parts.append((metadata, target.name))
        if not parts:
            self.discard()
            raise OptionError(
                "option.range",
                "Nothing came of the topics that were asked for: without metres there is only relative/*, with them depth/* and points. "
                "Ask for others (--outputs, --keep), or have metres (scale.source).",
            )
        note = json.dumps({"identity": self._identity, "summary": json.loads(summary)})
        write_metadata(self._bag, merged_metadata(parts, {NOTE: note}))
        self._bag.rename(self.output)
        shutil.rmtree(self._work, ignore_errors=True)

    def summary(self) -> dict[str, Any]:
        """That of the output."""
        return dict(self._note()["summary"])

    def discard(self) -> None:
        """Forget everything that was done."""
        shutil.rmtree(self._work, ignore_errors=True)

    def _difference(self, before: Mapping[str, str]) -> str:
        """The first thing in which another run was not like this one."""
        name = next(name for name in sorted({*self._identity, *before}) if before.get(name) != self._identity.get(name))
        return f"{name} {before.get(name)}, not {self._identity.get(name)}"

    def _identity_of_output(self) -> dict[str, str] | None:
        try:
            return dict(self._note()["identity"])
        except (InputError, KeyError, TypeError, ValueError):
            return None  # some other folder, or a bag that is not ours

    def _note(self) -> dict[str, Any]:
        return dict(json.loads(read_metadata(self.output)["custom_data"][NOTE]))


def _write_whole(path: Path, text: str) -> None:
    """The file is there with all of the text or not at all, also after a power cut."""
    draft = path.with_name(f"{path.name}.draft")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise InputError("input.file", f"{path} cannot be written: {error.strerror}.") from error
