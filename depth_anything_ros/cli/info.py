"""Show what a model file is and can give.

    depth-anything-ros info da3-small
    depth-anything-ros info my-model.gguf --json

Its header and the table of its tensors are read and checked, its weights are not, so that it takes neither time nor memory. The kind of
its depth and the licence of its weights come from the file, or from the table of known checkpoints (docs/models.md).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from depth_anything_ros.paths import user_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=user_path, help="GGUF file, or name of a fetched model (verb models)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.engine import inspect_model
    from depth_anything_ros.models.checkpoint_facts import doubt_of

    info = inspect_model(arguments.model)
    facts = {**asdict(info), "kind": info.kind.value}
    del facts["device"], facts["instruction_set"]  # of a model that is loaded
    if arguments.json:
        print(json.dumps(facts))
    else:
        width = max(map(len, facts))
        print("\n".join(f"{name:<{width}}  {value}" for name, value in facts.items()))
        if doubt := doubt_of(facts["checkpoint"], facts["license"]):
            print(f"\n{doubt}")
    return 0
