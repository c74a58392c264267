"""One row of the table of parameters."""

from __future__ import annotations

from dataclasses import dataclass

Value = str | int | float | bool | list[str]


@dataclass(frozen=True)
class Entry:
    """One parameter. `read_only` ones are honoured at start, the others from one frame to the next."""

    name: str
    default: Value
    description: str
    read_only: bool = False
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()

    @property
    def constraint(self) -> str:
        """The allowed values in words, empty where any value of the type is allowed."""
        if self.choices:
            return " | ".join(self.choices)
        return "" if self.bounds is None else f"{self.bounds[0]:g} to {self.bounds[1]:g}"
