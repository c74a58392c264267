"""One family of errors with stable codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from depth_anything_ros import errors


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [
        ("model.missing", errors.ModelError, 3),
        ("device.memory", errors.DeviceError, 5),
        ("input.shape", errors.InputError, 4),
        ("option.range", errors.OptionError, 2),
        ("convert.names", errors.ConversionError, 3),
        ("engine.cancelled", errors.CancelledError, 1),
        ("else", errors.DepthAnythingError, 1),
    ],
)
def test_codes_choose_their_class(code: str, kind: type, exit_code: int) -> None:
    assert errors.error_class(code) is kind
    error = kind(code, "text")
    assert isinstance(error, errors.DepthAnythingError)
    assert (error.code, str(error), error.exit_code) == (code, "text", exit_code)


def test_wrong_values_are_value_errors_too() -> None:
    assert issubclass(errors.InputError, ValueError) and issubclass(errors.OptionError, ValueError)


def test_every_code_that_is_raised_is_written_down() -> None:
    root = Path(__file__).parents[2]
    files = [
        *(root / "depth_anything_ros").rglob("*.py"),
        *(root / "native" / "src").rglob("*.cpp"),
        *(root / "native" / "python").glob("*.cpp"),
    ]
    raised = {code for file in files for code in re.findall(r'Error\(\s*"([a-z]+\.[a-z]+)"', file.read_text(encoding="utf-8"))}
    told = set(re.findall(r"``([a-z]+\.[a-z]+)``", Path(errors.__file__).read_text(encoding="utf-8")))
    assert len(raised) > 20 and not raised - told
