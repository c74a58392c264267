"""Writes the parameters of config/depth.yaml and the table in docs/node.md from the node's own table; a test compares them.

python tools/parameter_pages.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from depth_anything_ros.ros.parameters import TABLE, Entry, Value  # noqa: E402

_HEAD = "# Every parameter of depth_node with its default; docs/node.md says more. Lines that stay as they are may be deleted.\n"
_COMMENTS_AT = 31


def yaml_text(value: Value) -> str:
    """A default as it stands in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def config() -> str:
    lines = [f"    {entry.name}: {yaml_text(entry.default)}" for entry in TABLE]
    rows = [f"{line:<{_COMMENTS_AT}}  # {entry.description}\n" for line, entry in zip(lines, TABLE)]
    return _HEAD + "/**:\n  ros__parameters:\n" + "".join(rows)


def row(entry: Entry) -> str:
    values, when = entry.constraint.replace(" | ", ", "), "start" if entry.read_only else "any time"
    return f"| `{entry.name}` | `{yaml_text(entry.default)}` | {values} | {when} | {entry.description} |\n"


def page(text: str) -> str:
    """docs/node.md with the rows of the table replaced."""
    head = "| parameter | default | values | when | meaning |\n|---|---|---|---|---|\n"
    before, _, rest = text.partition(head)
    after = rest[rest.index("\n\n") :]
    return before + head + "".join(map(row, TABLE)).rstrip("\n") + after


if __name__ == "__main__":
    (ROOT / "config" / "depth.yaml").write_text(config(), encoding="utf-8")
    document = ROOT / "docs" / "node.md"
    document.write_text(page(document.read_text(encoding="utf-8")), encoding="utf-8")
