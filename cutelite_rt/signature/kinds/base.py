"""The protocol of a kind of parameter: leaves, binding, rows for the launcher, C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from cutelite_rt.signature.bind import MISSING, Call
from cutelite_rt.signature.data import DType


class Parameter(Protocol):
    """A kind: a NamedTuple under `data.kind`, with its facts as fields.

    Everything that reads signatures goes through these methods, so that one class declares a kind. Machine code and C
    know only leaves: arrays, numbers and addresses. A kind may also have

    left_out                   what stands for an argument that is not given
    look(argument, alignment)  look at an argument without checking it: the facts that the outcome depends on, and what
                               launches of equal facts differ in: the array or number, or None. Addresses count by their
                               rest modulo `alignment`. Errors: TypeError where that does not tell enough; launches of a
                               kind without it are not planned (`export.exported`)
    misfits()                  (field, words for what it should be): what no file may say
    """

    @property
    def name(self) -> str: ...

    def leaves(self) -> Iterator[Leaf]:
        """The values of the kernel that an argument makes, in the kernel's order."""
        ...

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        """Write rows by which the launcher finds the leaves of the object in a slot, where flag `given` is set.

        Errors  `Unsupported` where there are none
        """
        ...

    def fit(self, call: Call, argument: Any) -> None:
        """Check an argument, and leave the values of its leaves in ``call.values``; for a settled kind.

        Errors  `ArgumentError`
        """
        ...


def left_out(parameter: Parameter) -> Any:
    """The value for an argument that is not given; `MISSING` where one has to be."""
    return getattr(parameter, "left_out", MISSING)


class Leaf(Parameter, Protocol):
    """A kind that is one value of the kernel.

    dtype     of the elements, or of the number
    packs_as  its kind of `gpu.params`; for a settled one
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
    """Rows for the launcher, which finds the leaves of a call by them; slots hold objects.

    given  number of the flag that says whether the object is there
    """

    def optional(self, slot: int, given: int) -> int:
        """A flag that says whether the object is not None."""
        ...

    def instance(self, name: str, slot: int, given: int) -> None:
        """The object has to be of the class of the struct of that name."""
        ...

    def field(self, field: str, slot: int, given: int) -> int:
        """A new slot for an attribute of the object."""
        ...

    def count(self, items: int, slot: int, given: int) -> None:
        """The object has to be a tuple or list with this number of `items`."""
        ...

    def item(self, number: int, slot: int, given: int) -> int:
        """A new slot for an item of the object."""
        ...

    def constant(self, slot: int, given: int) -> None:
        """Outcomes depend on the object."""
        ...

    def leaf(self, leaf: Leaf, slot: int, given: int) -> None:
        """The object is a leaf."""
        ...
