"""List, fetch and check models: those in the package (nano), published GGUF files and official checkpoints.

Files come from the Hugging Face hub into ~/.cache/depth_anything_ros/models; an interrupted download is continued, SHA-256 is checked.
A mirror and offline use are set as for every program that uses huggingface_hub: HF_ENDPOINT, HF_HUB_OFFLINE=1.

    depth-anything-ros models list                 # names, sizes, licences
    depth-anything-ros models fetch da3-small
    depth-anything-ros infer --model da3-small picture.jpg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depth_anything_ros.models.registry import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="names with size, depth, outputs, licence, and whether they are here")
    for action, text in (("fetch", "download"), ("verify", "compute SHA-256 again"), ("path", "print where it lies")):
        actions.add_parser(action, help=text).add_argument("name", help="as in the list")


def run(arguments: argparse.Namespace) -> int:
    from depth_anything_ros.models.registry import MODELS, get_model

    if arguments.action == "list":
        _list(MODELS)
    else:
        {"fetch": _fetch, "verify": _verify, "path": _path}[arguments.action](get_model(arguments.name))
    return 0


def _list(models: Sequence[Model]) -> None:
    from depth_anything_ros.models.cache import default_folder, fetched, is_fetched

    folder = default_folder()
    rows = [("NAME", "MB", "DEPTH", "GIVES", "LICENCE OF THE WEIGHTS", "")]
    for model in models:
        state = "" if not is_fetched(model, folder) else "in the package" if model.is_shipped else "here"
        known = fetched(model, folder).stat().st_size if model.size is None and model.is_gguf and state else model.size
        size = "" if known is None else f"{known / 1e6:.0f}"
        notes = ", ".join(filter(None, (state, model.hint)))
        rows.append((model.name, size, model.fact.kind.value, " ".join(model.outputs), model.fact.license, notes))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _fetch(model: Model) -> None:
    from depth_anything_ros.models.fetch import fetch

    print(f"{model.checkpoint}, weights under {model.fact.license}, from {model.repository or 'this package'}", flush=True)
    print(fetch(model, None, lambda text: print(text, file=sys.stderr, flush=True)))


def _verify(model: Model) -> None:
    from depth_anything_ros.models.fetch import verify

    known = {file.name for file in model.files if file.sha256}
    for name, digest in verify(model).items():
        print(f"{digest}  {name}  ({'as published' if name in known else 'no published value is known'})")


def _path(model: Model) -> None:
    from depth_anything_ros.models.cache import fetched

    print(fetched(model))
