"""Bind the arguments of a live kernel's call, and find what the kernel has to be specialised for.

In    arguments, as the parameters (`parameter.py`) take them one by one
Out   `Bound`: an `ArgType` for each parameter, a width for each named dim, and the run-time values in order

`cutelite_rt.signature.kinds` checks arguments, and words the errors for those that do not fit.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from typing import Any

from cutelite.front.types import ArgType
from cutelite.ir.types import I32_DIM_LIMIT, Scalar, i32, i64
from cutelite.layout import Dim
from cutelite.tuples import NamedTuple
from cutelite_rt import ArrayView, read
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.errors import ArgumentError as ArgumentError
from cutelite_rt.shapes import MOST_IN_32_BITS
from cutelite_rt.signature import bind, data
from cutelite_rt.signature.bind import MISSING as MISSING
from cutelite_rt.signature.bind import MapRequest as MapRequest
from cutelite_rt.signature.bind import problem_of
from cutelite_rt.signature.kinds import Parameter


class Bound(NamedTuple):
    """The outcome of binding a call.

    types   parameter -> what the kernel is specialised for
    dims    named dim -> i32 or i64
    wide    block indices need 64 bits: a dim does, or an array has more than 2**30 elements
    token   equal for calls with equal types and widths; quicker to hash than types and widths
    values  run-time values in the kernel's order: numbers, `ArrayView`s, `MapRequest`s, then the dims
    arrays  (parameter, array) of each array
    """

    types: dict[str, ArgType]
    dims: dict[str, Scalar]
    wide: bool
    token: Hashable
    values: list[Any]
    arrays: list[tuple[str, ArrayView]]


class Call(bind.Call):
    """A call of a live kernel while it is bound, and the facts that choose its specialisation.

    ahead  whether its arguments are examples, to compile for
    """

    def __init__(
        self, kernel: str, arguments: Mapping[str, Any] | None = None, stream: int | None = None, ahead: bool = False
    ) -> None:
        super().__init__(kernel, arguments, stream)
        self.ahead = ahead
        self.needed: dict[str, None] = {}  # dims that the types bound so far mention, in order
        self.token: list[Hashable] = []
        self.wide = False  # an array has too many elements for 32-bit indices
        self.behind: list[tuple[Parameter, Any]] = []  # arrays whose addresses are in memory

    def done(self, types: dict[str, ArgType]) -> Bound:
        """Return the outcome, once all parameters are bound."""
        self.settle(self.needed)
        for wanted, array in self.behind:  # checked last: they must not define dims, for the launcher does not see them
            within = copy.copy(self)
            within.values, within.arrays = [], []
            wanted.fit(within, array)
            within.settle(())
        dims = {name: i64 if self.dims[name][0] > I32_DIM_LIMIT else i32 for name in self.needed}
        self.values += (self.dims[name][0] for name in self.needed)
        names = tuple(name for name, t in dims.items() if t is i64)
        wide = self.wide or bool(names)
        return Bound(types, dims, wide, (*self.token, names) if wide else tuple(self.token), self.values, self.arrays)

    def holds(self, elements: Any) -> None:
        """Note the number of elements of an array. An expression over dims is ignored, since its value is not known."""
        if isinstance(elements, int) and elements > MOST_IN_32_BITS:
            self.wide = True


def as_declared(dim: Dim | None, value: int) -> int:
    """Return the value of a dim that has been bound; where the dim's declaration forbids it, the least allowed value.

    This happens to a dim that occurs in strides of one-element modes alone: such a stride may have any value.
    """
    if dim is None or not problem_of(data.Dim(dim.name, dim.divisible_by, dim.min, dim.max), value):
        return value
    return -(-max(dim.min, 1) // dim.divisible_by) * dim.divisible_by


def described(arguments: dict[str, Any]) -> str:
    """Describe arguments; arrays by layout and address: ``a: f32 (64,) with strides (1,) at 0x7f2e0000, by: 2.0``."""
    return ", ".join(f"{name}: {_in_words(argument)}" for name, argument in arguments.items())


def _in_words(argument: Any) -> str:
    if is_array(argument):
        view = read(argument)
        return f"{view.dtype} {view.shape} with strides {view.strides} at {view.pointer:#x}"
    return repr(argument)
