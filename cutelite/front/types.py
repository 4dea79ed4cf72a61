"""The kinds of parameters of a kernel: run-time types, compile-time constants, structures."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import Type
from cutelite.tuples import NamedTuple


class Constant:
    """An argument that is known at compile time.

    key  the key by which constants are compared; default: type and value, since 1, True and 1.0 are three constants
    """

    __slots__ = ("key", "value")
    __match_args__ = ("value",)

    def __init__(self, value: Any, key: object = None) -> None:
        self.value = value
        self.key = (type(value), value) if key is None else key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


class Struct(NamedTuple):
    """A dataclass, NamedTuple, tuple or list: its class, and the type of each field; items are the fields '0', '1'."""

    cls: type
    fields: tuple[tuple[str, ArgType], ...]

    def __str__(self) -> str:
        return f"{self.cls.__name__}({', '.join(str(t) if n.isdigit() else f'{n}: {t}' for n, t in self.fields)})"


ArgType = Type | Constant | Struct
