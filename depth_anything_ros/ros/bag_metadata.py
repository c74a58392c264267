"""metadata.yaml of rosbag2: reading, writing, and one for several parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from depth_anything_ros.errors import InputError

_FILE, _ROOT = "metadata.yaml", "rosbag2_bagfile_information"


def read_metadata(folder: Path) -> dict[str, Any]:
    """Raises InputError ``input.bag``."""
    try:
        content = YAML(typ="safe").load((folder / _FILE).read_text(encoding="utf-8"))
        return dict(content[_ROOT])
    except (OSError, YAMLError, TypeError, KeyError, ValueError) as error:
        raise InputError("input.bag", f"{folder / _FILE} cannot be read: {' '.join(str(error).split())}.") from error


def write_metadata(folder: Path, values: dict[str, Any]) -> None:
    """Raises InputError ``input.file``."""
    yaml, text = YAML(typ="safe"), StringIO()
    yaml.default_flow_style = False
    yaml.dump({_ROOT: values}, text)
    draft = folder / f"{_FILE}.draft"
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())  # a power cut leaves the whole text or none
        draft.rename(folder / _FILE)
    except OSError as error:
        raise InputError("input.file", f"{folder / _FILE} cannot be written: {error.strerror}.") from error


def merged_metadata(parts: Sequence[tuple[dict[str, Any], str]], custom: dict[str, str]) -> dict[str, Any]:
    """Metadata of a split bag from that of its parts (one storage file each, with messages) and the names of their files, in order."""
    topics: dict[str, dict[str, Any]] = {}
    files = []
    for metadata, name in parts:
        files.append({**metadata["files"][0], "path": name})
        for topic in metadata["topics_with_message_count"]:
            known = topics.setdefault(topic["topic_metadata"]["name"], {**topic, "message_count": 0})
            known["message_count"] += topic["message_count"]
    start = min(_start(file) for file in files)
    end = max(_start(file) + file["duration"]["nanoseconds"] for file in files)
    return {
        **parts[0][0],
        "relative_file_paths": [file["path"] for file in files],
        "files": files,
        "starting_time": {"nanoseconds_since_epoch": start},
        "duration": {"nanoseconds": end - start},
        "message_count": sum(file["message_count"] for file in files),
        "topics_with_message_count": list(topics.values()),
        "custom_data": custom,
    }


def _start(file: dict[str, Any]) -> int:
    return int(file["starting_time"]["nanoseconds_since_epoch"])
