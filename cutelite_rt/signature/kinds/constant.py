"""Parameters without a value in the kernel: compile-time constants and absent ones; and those that may be None."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from cutelite_rt.errors import brief
from cutelite_rt.signature.bind import Call
from cutelite_rt.signature.data import Name, Unsupported, kind
from cutelite_rt.signature.kinds.base import Leaf, Parameter, Rows

LEFT_OUT: Any = object()
"""Stands for a constant that is left out: it has the value that the kernel was compiled for."""


@kind
class Constant(NamedTuple):
    """A compile-time constant: each value is another specialisation."""

    name: Name

    def leaves(self) -> Iterator[Leaf]:
        yield from ()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.constant(slot, given)

    def fit(self, call: Call, argument: Any) -> None:
        raise Unsupported(f"`{self.name}` is open")

    def misfits(self) -> Iterator[tuple[str, str]]:
        yield "kind", "settled: a constant that is compiled in"


@kind
class Fixed(NamedTuple):
    """A constant that is compiled in; `opaque` is the description of a value that JSON cannot hold."""

    name: Name
    value: bool | int | float | str | None
    opaque: str | None = None

    @property
    def left_out(self) -> Any:
        return self.value if self.opaque is None else LEFT_OUT

    @classmethod
    def of(cls, name: str, value: Any) -> Fixed:
        """Return the constant with its value if JSON can hold it, else with its description."""
        finite = not isinstance(value, float) or math.isfinite(value)
        plain = type(value) in (bool, int, float, str, type(None)) and finite
        return cls(name, value if plain else None, None if plain else repr(value))

    def leaves(self) -> Iterator[Leaf]:
        yield from ()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        raise Unsupported(f"`{self.name}` is settled")

    def fit(self, call: Call, argument: Any) -> None:
        if argument is LEFT_OUT:
            return
        if self.opaque is not None:
            raise call.error(self.name, f"is compiled in as {self.opaque}: leave it out")
        if type(argument) is not type(self.value) or repr(argument) != repr(self.value):
            given = f"is compiled in as {self.value!r}, and {brief(argument)} was given"
            raise call.error(self.name, f"{given}: export the kernel for it too, or leave it out")

    def look(self, argument: Any, alignment: int) -> tuple[str, None]:
        if argument is not None and type(argument) not in (int, float, bool, str):
            raise TypeError
        return repr(argument), None

    def misfits(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            yield "value", "a finite number"


@kind
class Optional(NamedTuple):
    """A parameter that may be None."""

    name: Name
    given: Parameter

    def leaves(self) -> Iterator[Leaf]:
        yield from self.given.leaves()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        self.given.rows(rows, slot, rows.optional(slot, given))

    def fit(self, call: Call, argument: Any) -> None:
        raise Unsupported(f"`{self.name}` is open")

    def misfits(self) -> Iterator[tuple[str, str]]:
        yield "kind", "settled: absent, or what is given"


@kind
class Absent(NamedTuple):
    """A parameter that may be None, in a kernel compiled for None; `says` is its annotation in words."""

    name: Name
    says: str = ""

    @property
    def left_out(self) -> None:
        return None

    def leaves(self) -> Iterator[Leaf]:
        yield from ()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        raise Unsupported(f"`{self.name}` is settled")

    def fit(self, call: Call, argument: Any) -> None:
        if argument is not None:
            raise call.error(self.name, "was None when the kernel was exported: export it for an array too")

    def look(self, argument: Any, alignment: int) -> tuple[None, None]:
        if argument is not None:
            raise TypeError
        return None, None
