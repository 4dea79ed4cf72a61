"""Parameters that hold others, each by its own annotation: structs, tuples, lists, and those that may be None."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from cutelite.dispatch.arguments import MISSING, Call
from cutelite.dispatch.parameter import Parameter, defined_again, parameter, takes
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.lang.annotations import OptionalSpec, SequenceSpec, StructSpec
from cutelite_rt.errors import brief
from cutelite_rt.signature import kinds
from cutelite_rt.signature.data import Unsupported
from cutelite_rt.signature.kinds.base import Kin


@takes(StructSpec)
class StructParameter(Parameter):
    """A frozen dataclass or NamedTuple: each field by its own annotation."""

    def __init__(self, name: str, spec: StructSpec) -> None:
        self.name, self.cls = name, spec.cls
        self.fields = {field: parameter(f"{name}.{field}", of) for field, of in spec.fields.items()}

    @property
    def data(self) -> kinds.Struct:
        return kinds.Struct(self.name, self.cls.__name__, tuple(of.data for of in self.fields.values()))

    def settled(self, t: ArgType) -> kinds.Struct:
        assert isinstance(t, Struct)
        fields = zip(self.fields.values(), t.fields, strict=True)
        return kinds.Struct(self.name, self.cls.__name__, tuple(of.settled(its) for of, (_, its) in fields))

    def classes(self) -> Iterator[tuple[str, type]]:
        yield self.name, self.cls
        for of in self.fields.values():
            yield from of.classes()

    def bind(self, call: Call, argument: Any) -> Struct:
        cls: Any = self.cls if argument is MISSING else type(argument)
        if not issubclass(cls, self.cls):
            again = defined_again(argument, self.cls)
            raise call.error(self.name, f"must be a {self.cls.__name__}, not {brief(argument)}{again}")
        if len(_fields(cls)) != len(_fields(self.cls)):
            more = f"a {cls.__name__}, which has further fields: annotate `{self.name}` as that"
            raise call.error(self.name, f"must be a {self.cls.__name__}, not {more}")
        if Kin(self.cls).has(cls):
            cls = self.cls
        else:
            call.token.append(cls)  # whose methods the kernel is compiled with
        given = {n: self._default(n) if argument is MISSING else getattr(argument, n) for n in self.fields}
        return Struct(cls, tuple((n, p.bind(call, given[n])) for n, p in self.fields.items()))

    def _default(self, field: str) -> Any:
        """Return the default of a field; `MISSING` without one."""
        if hasattr(self.cls, "_field_defaults"):
            return self.cls._field_defaults.get(field, MISSING)
        default = self.cls.__dataclass_fields__[field].default  # type: ignore[attr-defined]
        return MISSING if default is dataclasses.MISSING else default


def _fields(cls: Any) -> Any:
    """Return the fields of a dataclass or NamedTuple."""
    return cls._fields if hasattr(cls, "_fields") else dataclasses.fields(cls)


@takes(SequenceSpec)
class SequenceParameter(Parameter):
    """A tuple or list: each item by its own annotation, or as many of one annotation as are given.

    count  the number of items; None where calls may differ in it
    """

    def __init__(self, name: str, spec: SequenceSpec) -> None:
        self.name, self.spec = name, spec
        self._items: list[Parameter] = []
        self.count = None if spec.items is None else len(spec.items)
        self._latest = self.count  # count of the latest call

    def items(self, count: int) -> list[Parameter]:
        """Return the parameters of the first `count` items."""
        while len(self._items) < count:
            i = len(self._items)
            of = self.spec.each if self.spec.items is None else self.spec.items[i]
            self._items.append(parameter(f"{self.name}.{i}", of))
        return self._items[:count]

    @property
    def data(self) -> kinds.Sequence:
        if self._latest is None:
            raise Unsupported(f"nothing tells how many items `{self.name}` has")
        return kinds.Sequence(self.name, repr(self.spec), tuple(of.data for of in self.items(self._latest)))

    def settled(self, t: ArgType) -> kinds.Sequence:
        assert isinstance(t, Struct)
        items = zip(self.items(len(t.fields)), t.fields, strict=True)
        return kinds.Sequence(self.name, repr(self.spec), tuple(of.settled(its) for of, (_, its) in items))

    def classes(self) -> Iterator[tuple[str, type]]:
        for of in self.items(self._latest or 0):
            yield from of.classes()

    def bind(self, call: Call, argument: Any) -> Struct:
        if argument is not MISSING:
            given = kinds.items(call, self.name, repr(self.spec), self.count, argument)
        elif self.count is not None:
            given = [MISSING] * self.count
        else:
            raise call.error(self.name, f"is {self.spec!r}: say how many, by an example: `compile({self.name}=[...])`")
        self._latest = len(given)
        call.token.append(len(given))
        types = (of.bind(call, item) for of, item in zip(self.items(len(given)), given, strict=True))
        return Struct(self.spec.kind, tuple((str(i), t) for i, t in enumerate(types)))


@takes(OptionalSpec)
class OptionalParameter(Parameter):
    """A parameter that may be None: a compile-time constant, without the dims that an array would tell."""

    def __init__(self, name: str, spec: OptionalSpec) -> None:
        self.name, self.spec = name, spec
        self.given = parameter(name, spec.spec)

    @property
    def data(self) -> kinds.Optional:
        if isinstance(self.given, SequenceParameter) and self.given.count is None:
            raise Unsupported(f"nothing tells how many items `{self.name}` has where it is None")
        return kinds.Optional(self.name, self.given.data)

    def settled(self, t: ArgType) -> kinds.Parameter:
        if isinstance(t, Constant) and t.value is None:
            return kinds.Absent(self.name, repr(self.spec))
        return self.given.settled(t)

    def classes(self) -> Iterator[tuple[str, type]]:
        yield from self.given.classes()

    def bind(self, call: Call, argument: Any) -> ArgType:
        if argument is not None:
            return self.given.bind(call, argument)
        call.token.append(None)
        return Constant(None)
