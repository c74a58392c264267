"""The pickle inside a PyTorch checkpoint, read without unpickling: nothing in it is imported or called.

`pickletools.genops` splits it into opcodes; the few that a dictionary of tensors needs are followed here, any other is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DTYPES = {"FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16"}
"""Class of a torch storage to the name of its type in safetensors."""
MAX_RANK = 8


@dataclass(frozen=True)
class StoredTensor:
    """A contiguous tensor as a part of a storage; offset and shape count values."""

    storage: str
    dtype: str
    offset: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Storage:
    name: str
    dtype: str


@dataclass(frozen=True)
class _Name:
    """What a GLOBAL opcode names."""

    text: str


class _Mark:
    """On the stack where the arguments of an opcode begin."""


def read_state_dict(data: bytes) -> dict[str, StoredTensor]:
    """Name to tensor. Raises ValueError for a pickle of anything else."""
    result = _Machine().run(data)
    if not isinstance(result, dict) or not all(isinstance(name, str) and isinstance(value, StoredTensor) for name, value in result.items()):
        raise ValueError("it is no dictionary of tensors")
    return result


class _Machine:
    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return self._stack.pop()
            if opcode.name in _PUSHED:
                self._stack.append(argument)
            elif opcode.name in _ACTIONS:
                _ACTIONS[opcode.name](self, argument)
            else:
                raise ValueError(f"it has the opcode {opcode.name}")
        raise ValueError("it has no end")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def put(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]

    def get(self, key: int) -> None:
        self._stack.append(self._memo[key])

    def group(self, count: int) -> None:
        items = self._stack[len(self._stack) - count :]
        if len(items) != count:
            raise ValueError("its stack runs empty")
        del self._stack[len(self._stack) - count :]
        self._stack.append(tuple(items))

    def to_mark(self) -> list[Any]:
        """What lies above the last mark, taken off together with it."""
        index = max(number for number, item in enumerate(self._stack) if isinstance(item, _Mark))
        items = self._stack[index + 1 :]
        del self._stack[index:]
        return items

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("it sets items of something else than a dictionary")
        target.update(zip(items[::2], items[1::2]))

    def set_item(self, _: object) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self.set_items([key, value])

    def drop_state(self, _: object) -> None:
        """Attributes of an OrderedDict (`_metadata` of a state_dict) mean nothing here."""
        self._stack.pop()

    def persistent(self, _: object) -> None:
        kind, storage, name, _, count = self._stack.pop()
        dtype = DTYPES.get(storage.text.removeprefix("torch ")) if isinstance(storage, _Name) else None
        if kind != "storage" or dtype is None or not isinstance(name, str) or type(count) is not int:
            found = storage.text if isinstance(storage, _Name) else type(storage).__name__
            raise ValueError(f"it has a storage of {found[:80]!r}; known: {', '.join(DTYPES)}")
        self._stack.append(_Storage(name, dtype))

    def reduce(self, _: object) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        called = function.text if isinstance(function, _Name) else None
        if called == "collections OrderedDict" and arguments == ():
            self._stack.append({})
        elif called == "torch._utils _rebuild_tensor_v2":
            self._stack.append(_rebuilt(*arguments[:4]))
        elif called == "torch._utils _rebuild_parameter" and isinstance(arguments[0], StoredTensor):
            self._stack.append(arguments[0])
        else:
            raise ValueError(f"it calls {(called or type(function).__name__)[:80]!r}")


def _rebuilt(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredTensor:
    if not isinstance(storage, _Storage) or len(shape) != len(strides) or len(shape) > MAX_RANK:
        raise ValueError("it has a tensor without storage, or of a strange shape")
    if any(type(number) is not int or not 0 <= number < 2**48 for number in (offset, *shape, *strides)):
        raise ValueError("it has a tensor of something else than numbers")
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            raise ValueError(f"it has a tensor of shape {shape} that is not contiguous")
        expected *= extent
    return StoredTensor(storage.name, storage.dtype, offset, tuple(shape))


_PUSHED = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "MARK": lambda machine, _: machine.push(_Mark()),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE1": lambda machine, _: machine.group(1),
    "TUPLE2": lambda machine, _: machine.group(2),
    "TUPLE3": lambda machine, _: machine.group(3),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.to_mark())),
    "GLOBAL": lambda machine, text: machine.push(_Name(text)),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "SETITEM": _Machine.set_item,
    "SETITEMS": lambda machine, _: machine.set_items(machine.to_mark()),
    "BUILD": _Machine.drop_state,
    "BINPERSID": _Machine.persistent,
    "REDUCE": _Machine.reduce,
}
