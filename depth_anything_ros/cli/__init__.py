"""The command ``depth-anything-ros``: one verb, one module with a docstring, `add_arguments(parser)` and `run(arguments) -> int`.

Exit codes: 0 ok, 1 unexpected, 2 usage or option, 3 model, 4 input, 5 device; 130 interrupted, 141 nobody reads the output any more,
143 SIGTERM.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from depth_anything_ros import __version__
from depth_anything_ros.cli.stopping import terminable
from depth_anything_ros.errors import DepthAnythingError, DeviceError, InputError, OptionError

VERBS = (
    "infer",
    "reconstruct",
    "info",
    "replay",
    "evaluate",
    "play",
    "record",
    "sample",
    "demo",
    "convert",
    "quantize",
    "models",
    "verify",
    "doctor",
    "bench",
)
"""Modules of this package, in the order of the help."""

INTERRUPTED, READER_LEFT = 130, 141
"""As shells have it: 128 and the number of the signal."""

_FIRST_STEPS = """first steps:
  depth-anything-ros doctor                                    what is installed, what is missing, how fast it will be
  depth-anything-ros models fetch da3-small                    get a model; the name stands for its file from then on
  depth-anything-ros infer photo.jpg --model da3-small -o out  depth of a picture
  depth-anything-ros demo                                      the whole way: bag, node, depth, cloud
  depth-anything-ros VERB --help                               more of each

exit codes: 0 done, 1 unexpected, 2 usage or option, 3 model, 4 input, 5 device, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; arguments default to those of the process. Returns its exit code."""
    _prepare_streams()
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        parser.exit(OptionError.exit_code)
    parsed = parser.parse_args(arguments)
    try:
        with terminable():
            code = int(parsed.run(parsed))
        sys.stdout.flush()
        return code
    except MemoryError:
        print(
            f"depth-anything-ros {parsed.verb}: the memory does not suffice; take fewer or smaller pictures, or a smaller model",
            file=sys.stderr,
        )
        return DeviceError.exit_code
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except DepthAnythingError as error:
        print(f"depth-anything-ros {parsed.verb}: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        from depth_anything_ros.checks.packages import how_to_get

        get = how_to_get(error.name or "")
        if not get:
            raise
        print(f"depth-anything-ros {parsed.verb}: {error.name} is not installed, which this verb needs: {get}", file=sys.stderr)
        return OptionError.exit_code
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        print(f"depth-anything-ros {parsed.verb}: the disk is full where the output goes; make room and run it again", file=sys.stderr)
        return InputError.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _drop_output() -> None:
    """What is left of stdout goes nowhere: the interpreter flushes once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare_streams() -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:  # closed by who started us; the next file that is opened would get its number
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, os.fdopen(number, "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files that the terminal cannot show


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="depth-anything-ros",
        description="Depth from one plain camera.",
        epilog=_FIRST_STEPS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in VERBS:
        module = importlib.import_module(f"{__name__}.{name}")
        summary, text = _help(module)
        verb = verbs.add_parser(name, help=summary, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(verb)
        verb.set_defaults(run=module.run)
    return parser


def _help(module: ModuleType) -> tuple[str, str]:
    """First line and whole of a verb's docstring."""
    text = (module.__doc__ or "").strip()
    return text.partition("\n")[0], text
