"""Writes the C++ headers that hold the names of `gguf_keys` and the table of `checkpoint_facts`.

python -m depth_anything_ros.convert.cpp_headers native/src/generated
"""

from __future__ import annotations

import sys
from pathlib import Path

from depth_anything_ros.convert.gguf_keys import GENERAL_ARCHITECTURE, GENERAL_ARCHITECTURE_VALUE, KEYS, TENSORS, Dim, Part, TensorRule
from depth_anything_ros.models.checkpoint_facts import CHECKPOINT_FACTS

_BANNER = "// Written by `python -m depth_anything_ros.convert.cpp_headers native/src/generated`; edit {source} instead.\n#pragma once\n\n"


def keys_header() -> str:
    """Text of gguf_keys.hpp: metadata keys as constants."""
    lines = [f'inline constexpr const char* {key.constant} = "{key.full_name}";' for key in KEYS]
    lines.insert(0, f'inline constexpr const char* kGeneralArchitecture = "{GENERAL_ARCHITECTURE}";')
    lines.insert(1, f'inline constexpr const char* kGeneralArchitectureValue = "{GENERAL_ARCHITECTURE_VALUE}";')
    body = "\n".join(lines)
    return _BANNER.format(source="convert/gguf_keys.py") + f"namespace da::keys {{\n\n{body}\n\n}}  // namespace da::keys\n"


def tensors_header() -> str:
    """Text of gguf_tensors.hpp: every tensor with the part that it belongs to and its extents."""
    parts = ", ".join(part.value for part in Part)
    dims = "\n".join(f"inline constexpr int64_t {dim.value} = -{number};" for number, dim in enumerate(Dim, start=1))
    rows = "\n".join(_row(rule) for rule in TENSORS)
    return _BANNER.format(source="convert/gguf_keys.py") + _TENSORS.format(parts=parts, dims=dims, rows=rows)


_TENSORS = """#include <cstdint>

namespace da::keys {{

// When a tensor belongs to a file; the meaning of each is in gguf_keys.py.
enum class Part {{ {parts} }};

// Extents that depend on the hyper-parameters; other extents are literal and positive.
namespace dim {{
{dims}
}}  // namespace dim

struct TensorRule {{
    Part part;
    const char* name;   // "{{i}}" stands for the number of the block
    int64_t extents[4]; // ggml order, fastest first; missing ones are 1
    bool narrow;        // may be stored in a narrower type than f32
}};

inline constexpr TensorRule kTensors[] = {{
{rows}
}};

}}  // namespace da::keys
"""


def _row(rule: TensorRule) -> str:
    extents = [f"dim::{extent.value}" if isinstance(extent, Dim) else str(extent) for extent in rule.extents]
    padded = ", ".join(extents + ["1"] * (4 - len(extents)))
    return f'    {{Part::{rule.part.value}, "{rule.name}", {{{padded}}}, {str(rule.narrow).lower()}}},'


def checkpoints_header() -> str:
    """Text of checkpoints.hpp: the closed table of known checkpoints."""
    rows = "\n".join(
        f'    {{"{fact.name}", "{fact.kind.value}", {str(fact.needs_focal).lower()}, "{fact.license}"}},' for fact in CHECKPOINT_FACTS
    )
    return _BANNER.format(source="models/checkpoint_facts.py") + _CHECKPOINTS.format(rows=rows)


_CHECKPOINTS = """namespace da {{

// What is known of the weights of a checkpoint_name (exact match). Other names: relative_depth, licence unknown, unless the file says more.
struct CheckpointFact {{
    const char* name;
    const char* kind;
    bool needs_focal;    // metric only with a focal length
    const char* license; // SPDX identifier
}};

inline constexpr CheckpointFact kCheckpointFacts[] = {{
{rows}
}};

}}  // namespace da
"""

HEADERS = {"gguf_keys.hpp": keys_header, "gguf_tensors.hpp": tensors_header, "checkpoints.hpp": checkpoints_header}
"""File name to the function that gives its text."""


def main(folder: Path) -> None:
    for name, text in HEADERS.items():
        (folder / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
