"""Values of the node's parameters without a node: the same YAML files, the same rules of type and range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from depth_anything_ros.errors import OptionError
from depth_anything_ros.paths import user_path
from depth_anything_ros.ros.parameters import TABLE, Entry, NodeOptions, options_from

_VALUES_KEY = "ros__parameters"
_BOOLEANS = {"y": True, "yes": True, "on": True, "n": False, "no": False, "off": False}
"""Words of YAML 1.1, which ROS 2 reads, and which are text in 1.2."""
_OTHERS = re.compile(r"use_sim_time|start_type_description_service|qos_overrides\..*")
"""Parameters that every node has, without meaning here."""


def read_options(files: Sequence[Path], overrides: Mapping[str, str], node: str) -> tuple[NodeOptions, list[str]]:
    """The node's options from parameter files and single values, later ones over earlier, and what of the files is of no use, in words.

    files: as ROS 2 takes them, with `/**`, node names and namespaces as keys. overrides: name to value as YAML, over the files.
    node: fully qualified name of the node that the files are read for.
    Raises OptionError: a file that cannot be read, a value of the wrong type or out of range; code ``option.unknown``
    for an override.
    """
    given: dict[str, Any] = {}
    useless = []
    for file in files:
        sections = _sections_in(file)
        mine = [values for pattern, values in sections if _matches(pattern, node)]
        if sections and not mine:
            names = ", ".join(pattern for pattern, _ in sections)
            useless.append(f"parameter file {file} has nothing for the node {node}, but for {names}")
        for values in mine:
            given.update(_flat(values, ""))
    for name, text in overrides.items():
        given[name] = _parsed(text, f"parameter {name}")
    entries = {entry.name: entry for entry in TABLE}
    unknown = [name for name in given if name not in entries and not _OTHERS.fullmatch(name)]
    if wrong := [name for name in unknown if name in overrides]:
        raise OptionError("option.unknown", f"There is no parameter {wrong[0]}; known: {', '.join(entries)}.")
    values = {name: entry.default for name, entry in entries.items()}
    values.update({name: _typed(entries[name], value) for name, value in given.items() if name in entries})
    return options_from(values), [*useless, *(f"the node has no parameter {name}" for name in unknown)]


def _sections_in(file: Path) -> list[tuple[str, Mapping[Any, Any]]]:
    """See `_sections`."""
    try:
        text = user_path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError("option.file", f"Parameter file {file} cannot be read: {getattr(error, 'strerror', error)}.") from error
    content = _parsed(text, f"parameter file {file}")
    if content is None:
        return []
    if not isinstance(content, dict):
        raise OptionError("option.file", f"Parameter file {file} holds no mapping from node names to {_VALUES_KEY}.")
    return list(_sections(content, ""))


def _parsed(text: str, what: str) -> Any:
    try:
        return YAML(typ="safe").load(text)
    except (YAMLError, ValueError) as error:
        raise OptionError("option.file", f"{what[0].upper()}{what[1:]} is no valid YAML: {' '.join(str(error).split())}.") from error


def _sections(content: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """(pattern of a node's full name, its values); names may be nested, namespace in namespace."""
    for key, inner in content.items():
        if key == _VALUES_KEY:
            yield prefix, inner if isinstance(inner, dict) else {}
        elif isinstance(inner, dict):
            yield from _sections(inner, f"{prefix}/{str(key).strip('/')}")


def _matches(pattern: str, node: str) -> bool:
    """`*` stands for one part of a name, `**` for any number of parts."""
    parts = [".*" if part == "**" else "[^/]+" if part == "*" else re.escape(part) for part in pattern.strip("/").split("/")]
    return re.fullmatch("/".join(parts).replace("/.*", "(/.*)?").replace(".*/", "(.*/)?"), node.strip("/")) is not None


def _flat(values: Mapping[Any, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _typed(entry: Entry, value: Any) -> Any:
    """The value, if its type is the parameter's; rclpy is as strict (a whole number is no float)."""
    wanted = type(entry.default)
    if wanted is bool and isinstance(value, str):
        value = _BOOLEANS.get(value.lower(), value)
    fits = type(value) is wanted and not (wanted is list and not all(isinstance(one, str) for one in value))
    if fits or (entry.choices and isinstance(value, (str, bool, float))):
        return value
    raise OptionError("option.range", f"{entry.name} {value!r} must be of type {wanted.__name__}, such as {entry.default!r}.")
