"""The protocol of every kind of parameter: its leaves, its binding, its rows for the launcher, its C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from cutelite_rt.signature.bind import MISSING, Call
from cutelite_rt.signature.data import DType


class Parameter(Protocol):
    """A kind of parameter: a NamedTuple decorated with `data.kind`, whose fields are the facts of one parameter.

    Everything that reads signatures goes through these methods, so that one class declares a kind. Machine code and C
    know only leaves: arrays, numbers and addresses. A kind may also have

    left_out                   the value for an argument that is not given
    look(argument, alignment)  return, without checking the argument, the facts that decide the outcome, and the array
                               or number that differs between launches of equal facts, or None. The facts have addresses
                               modulo `alignment`. Errors: TypeError for an argument that has to be checked.
                               `export.exported` plans no launches of a kind without this method
    misfits()                  yield each field whose value no file may have, and what it should be, in words
    """

    @property
    def name(self) -> str: ...

    def leaves(self) -> Iterator[Leaf]:
        """Yield the parameters of the machine code that an argument becomes, in their order."""
        ...

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        """Write the rows by which the launcher finds the leaves of the object in `slot`, if the flag `given` is set.

        Errors  `Unsupported` for a kind that the launcher cannot take
        """
        ...

    def fit(self, call: Call, argument: Any) -> None:
        """Check an argument and store the values of its leaves in ``call.values``. The kind is a settled one.

        Errors  `ArgumentError`
        """
        ...


def left_out(parameter: Parameter) -> Any:
    """The value for an argument that is not given; `MISSING` where one has to be."""
    return getattr(parameter, "left_out", MISSING)


class Leaf(Parameter, Protocol):
    """A kind that is one parameter of the machine code.

    dtype     of the elements, or of the number
    packs_as  its kind in `gpu.params`, if it is settled
    """

    @property
    def dtype(self) -> DType: ...
    @property
    def packs_as(self) -> str: ...
    @property
    def c(self) -> C: ...


class C(NamedTuple):
    """A leaf in C, as templates for `str.format`.

    declared  a parameter of a C function, called {name}
    taken     a statement that checks it, and leaves its value at {to}: the leaf number {leaf}, the array number {array}
    kind      its number in c/tvm_ffi.c; `dtype` in words
    ffi       its value from the TVMFFIAny {any}
    """

    declared: str
    taken: str
    kind: str
    dtype: str
    ffi: str


class Rows(Protocol):
    """A writer of the rows by which the launcher finds the leaves of a call. A slot holds an object.

    given  the number of the flag that says whether the object is there
    """

    def optional(self, slot: int, given: int) -> int:
        """Return the number of a new flag, which says whether the object is not None."""
        ...

    def instance(self, name: str, slot: int, given: int) -> None:
        """Require the object to be of the class of the struct called `name`."""
        ...

    def field(self, field: str, slot: int, given: int) -> int:
        """Return a new slot, which holds the attribute `field` of the object."""
        ...

    def count(self, items: int, slot: int, given: int) -> None:
        """Require the object to be a tuple or list with this number of `items`."""
        ...

    def item(self, number: int, slot: int, given: int) -> int:
        """Return a new slot, which holds the item `number` of the object."""
        ...

    def constant(self, slot: int, given: int) -> None:
        """Let outcomes depend on the value of the object."""
        ...

    def leaf(self, leaf: Leaf, slot: int, given: int) -> None:
        """Take the object as the leaf `leaf`."""
        ...
