"""The protocol of every kind of parameter: its leaves, its binding, its rows for the launcher, its C."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cutelite_rt.signature.bind import MISSING, Call
from cutelite_rt.signature.data import DType

if TYPE_CHECKING:
    from typing import Protocol
else:  # making a class of `typing.Protocol` takes a millisecond
    Protocol = object


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

    def rows(self, rows: Rows, slot: int, given: int) -> None:
        """Write the rows by which the launcher finds the leaves of the object in `slot`, if the flag `given` is set.

        Errors  `Unsupported` for a kind that the launcher cannot take
        """

    def fit(self, call: Call, argument: Any) -> None:
        """Check an argument and store the values of its leaves in ``call.values``. The kind is a settled one.

        Errors  `ArgumentError`
        """


def left_out(parameter: Parameter) -> Any:
    """Return the value for an argument that is not given; `MISSING` where it must be given."""
    return getattr(parameter, "left_out", MISSING)


class Leaf(Parameter, Protocol):
    """A kind that is one parameter of the machine code.

    dtype     the dtype of the elements, or of the number
    packs_as  its kind in `gpu.params`, if it is settled
    c         its templates in C
    """

    @property
    def dtype(self) -> DType: ...
    @property
    def packs_as(self) -> str: ...
    @property
    def c(self) -> C: ...


class C(NamedTuple):
    """A leaf in C, as templates for `str.format`.

    declared  the declaration of a C function's parameter, called {name}
    taken     a statement that checks it and stores its value at {to}; it is leaf number {leaf}, array number {array}
    kind      its kind in c/tvm_ffi.c; `dtype` is for error texts
    ffi       an expression for its value in the TVMFFIAny {any}
    """

    declared: str
    taken: str
    kind: str
    dtype: str
    ffi: str


class Held(NamedTuple):
    """A leaf: the slot that its object is in, and the flag that says whether it is given."""

    leaf: Leaf
    slot: int
    given: int


ALWAYS = 0xFFFF
"""The flag of an object that is always given."""

_IS_GIVEN, _IS_INSTANCE, _FIELD, _HAS_ITEMS, _ITEM = range(5)  # launcher/tables.h


class _Empty: ...


_OF_ANY_CLASS = {*vars(_Empty), "__slots__", "__annotations__", "__qualname__"}


class Kin:
    """The class `cls` and those derived from it that add nothing: kernels take their objects for ones of `cls`."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def has(self, kind: type) -> bool:
        """Tell whether `kind` is one of these classes."""
        if not issubclass(kind, self.cls):
            return False
        derived = kind.__mro__[: kind.__mro__.index(self.cls)]
        return all(vars(each).keys() <= _OF_ANY_CLASS for each in derived)

    def __instancecheck__(self, x: object) -> bool:
        return self.has(type(x))


class Rows:
    """Collects the rows by which the launcher finds the leaves of a call. A slot holds an object of the call.

    given      index of the flag that says whether an object is given
    fetches    `fetch_row` of launcher/tables.h: what, slot, given, to, object
    objects    names of fields, and classes, to which rows refer by index
    constants  (slot, given) of each constant
    """

    def __init__(self, slots: int, classes: Mapping[str, type] | None) -> None:
        self.fetches: list[tuple[int, int, int, int, int]] = []
        self.objects: list[object] = []
        self.leaves: list[Held] = []
        self.constants: list[tuple[int, int]] = []
        self.givens, self.slots = 0, slots
        self._classes = classes

    def optional(self, slot: int, given: int) -> int:
        """Return the number of a new flag, which says whether the object is not None."""
        self.fetches.append((_IS_GIVEN, slot, given, self.givens, 0))
        self.givens += 1
        return self.givens - 1

    def instance(self, name: str, slot: int, given: int) -> None:
        """Require the object to be of the class of the struct called `name`, if classes are known."""
        if self._classes is not None:
            cls = self._classes[name]
            self.objects += (cls, Kin(cls))
            self.fetches.append((_IS_INSTANCE, slot, given, 0, len(self.objects) - 2))

    def field(self, field: str, slot: int, given: int) -> int:
        """Return a new slot, which holds the attribute `field` of the object."""
        self.objects.append(sys.intern(field))
        return self._fetched(_FIELD, len(self.objects) - 1, slot, given)

    def count(self, items: int, slot: int, given: int) -> None:
        """Require the object to be a tuple or list with this number of `items`."""
        self.fetches.append((_HAS_ITEMS, slot, given, 0, items))

    def item(self, number: int, slot: int, given: int) -> int:
        """Return a new slot, which holds the item `number` of the object."""
        return self._fetched(_ITEM, number, slot, given)

    def _fetched(self, what: int, which: int, slot: int, given: int) -> int:
        self.fetches.append((what, slot, given, self.slots, which))
        self.slots += 1
        return self.slots - 1

    def constant(self, slot: int, given: int) -> None:
        """Let outcomes depend on the value of the object."""
        self.constants.append((slot, given))

    def leaf(self, leaf: Leaf, slot: int, given: int) -> None:
        """Take the object as the leaf `leaf`."""
        self.leaves.append(Held(leaf, slot, given))
