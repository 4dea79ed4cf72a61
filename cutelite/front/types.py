"""What a kernel's parameters can be when it is evaluated: run-time types, compile-time constants, structures."""

from __future__ import annotations

from typing import Any, NamedTuple

from cutelite.ir.types import Type


class Constant(NamedTuple):
    """An argument that is known at compile time."""

    value: Any


class Struct(NamedTuple):
    """A dataclass or NamedTuple argument: its class, and the type of each field."""

    cls: type
    fields: tuple[tuple[str, ArgType], ...]


ArgType = Type | Constant | Struct
