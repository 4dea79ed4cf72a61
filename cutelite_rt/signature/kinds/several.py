"""Parameters of several values: structs, tuples and lists, each value by a kind of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cutelite_rt.errors import ArgumentError, brief
from cutelite_rt.signature.bind import Call
from cutelite_rt.signature.data import Name, kind
from cutelite_rt.signature.kinds.base import Leaf, Parameter, Rows


@kind
class Struct(NamedTuple):
    """An object with fields, which are parameters called 'name.field'; `cls` is the name of its class."""

    name: Name
    cls: str
    fields: tuple[Parameter, ...]

    def leaves(self) -> Iterator[Leaf]:
        for field in self.fields:
            yield from field.leaves()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.instance(self.name, slot, given)
        for field in self.fields:
            field.rows(rows, rows.field(_last(field), slot, given), given)

    def wrong(self, call: Call, argument: Any) -> ArgumentError:
        """Return the error for an argument that is no such struct."""
        return call.error(self.name, f"must be a {self.cls}, not {brief(argument)}")

    def fit(self, call: Call, argument: Any) -> None:
        if not all(hasattr(argument, _last(field)) for field in self.fields):
            raise self.wrong(call, argument)
        for field in self.fields:
            field.fit(call, getattr(argument, _last(field)))

    def misfits(self) -> Iterator[tuple[str, str]]:
        if len({field.name for field in self.fields}) != len(self.fields):
            yield "fields", "fields of different names"


@kind
class Sequence(NamedTuple):
    """A tuple or list of that many items, which are parameters called 'name.0', 'name.1'."""

    name: Name
    says: str
    items: tuple[Parameter, ...]

    def leaves(self) -> Iterator[Leaf]:
        for item in self.items:
            yield from item.leaves()

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        rows.count(len(self.items), slot, given)
        for i, item in enumerate(self.items):
            item.rows(rows, rows.item(i, slot, given), given)

    def fit(self, call: Call, argument: Any) -> None:
        given = items(call, self.name, self.says, len(self.items), argument)
        for of, item in zip(self.items, given, strict=True):
            of.fit(call, item)

    def misfits(self) -> Iterator[tuple[str, str]]:
        if any(_last(item) != str(i) for i, item in enumerate(self.items)):
            yield "items", "items called by their numbers"


def items(call: Call, name: str, says: str, count: int | None, argument: Any) -> tuple[Any, ...] | list[Any]:
    """Return an argument if it is a tuple or list, of `count` items if that is given. Errors: `ArgumentError`."""
    if not isinstance(argument, tuple | list):
        raise call.error(name, f"must be a tuple or list, {says}, not {brief(argument)}")
    if count is not None and len(argument) != count:
        raise call.error(name, f"has {len(argument)} items, but {says} has {count}")
    return argument


def _last(parameter: Parameter) -> str:
    return parameter.name.rpartition(".")[2]
