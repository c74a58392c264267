"""Every exception that this package raises: one family, caught only at the front doors.

`code` is a stable string such as ``"model.tensor"`` for programs; the text is for people and names the thing, the value and what to do.
The native engine raises the same classes: its `da::Error` carries the code, and the binding picks the class by the code's prefix.
"""

from __future__ import annotations


class DepthAnythingError(Exception):
    """Base of the family. `code`: stable identifier, ``"<area>.<what>"``.

    By itself, for what is nobody's fault but ours or the machine's: ``node.worker``, ``demo.node``, ``demo.empty``, ``replay.segment``,
    ``replay.worker``, ``replay.count``.
    """

    exit_code = 1

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[DepthAnythingError], tuple[str, str]]:
        return type(self), (self.code, str(self))  # what pickle would make of it lacks the code


class ModelError(DepthAnythingError):
    """A model file cannot be used: ``model.missing``, ``model.format``, ``model.key``, ``model.tensor``, ``model.unsupported``,
    ``model.accuracy``."""

    exit_code = 3


class DeviceError(DepthAnythingError):
    """The device cannot do it: ``device.unavailable``, ``device.memory``, ``device.compute``."""

    exit_code = 5


class InputError(DepthAnythingError, ValueError):
    """A picture, calibration or bag cannot be used.

    Codes: ``input.encoding``, ``input.shape``, ``input.stride``, ``input.intrinsics``, ``input.pose``, ``input.bag``, ``input.file``.
    """

    exit_code = 4


class OptionError(DepthAnythingError, ValueError):
    """An option is wrong: ``option.range``, ``option.unknown``, ``option.file`` (a file of options); or the thing that it is for is gone:
    ``option.closed``."""

    exit_code = 2


class ConversionError(DepthAnythingError):
    """A checkpoint cannot be converted: ``convert.checkpoint``, ``convert.names``, ``convert.verify``."""

    exit_code = 3


class CancelledError(DepthAnythingError):
    """A running `Engine.infer` was ended by `Engine.cancel` (code ``engine.cancelled``)."""


def described(error: Exception) -> str:
    """For people: the text of one of ours, else what it is, since the texts of others seldom make sense alone."""
    return str(error) if isinstance(error, DepthAnythingError) else f"unexpected {type(error).__name__}: {error}"


_CLASSES: dict[str, type[DepthAnythingError]] = {
    "model": ModelError,
    "device": DeviceError,
    "input": InputError,
    "option": OptionError,
    "convert": ConversionError,
    "engine": CancelledError,
}


def error_class(code: str) -> type[DepthAnythingError]:
    """The class for an error code, by the part before the dot; the base class for an unknown area."""
    return _CLASSES.get(code.partition(".")[0], DepthAnythingError)
