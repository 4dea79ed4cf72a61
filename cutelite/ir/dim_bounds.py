"""Bounds of expressions over dims, from the types of the dims and from what a launch has checked.

In    dims with their types; the types of a kernel's parameters
Out   the least and greatest value of an expression, and of what it divides and compares on the way
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from cutelite.ir.function import Value
from cutelite.ir.types import I32_DIM_LIMIT, I32_SIZE_LIMIT, Tensor, Type, i32, i64
from cutelite.layout import Dim, flatten_to_tuple, fold, lower_bound
from cutelite.layout import Int as Expr
from cutelite.tuples import NamedTuple


class Bound(NamedTuple):
    """The least and the greatest value; of ``factor * dims``, a product of dims by name, also these."""

    least: int
    most: int
    factor: int = 1
    dims: tuple[str, ...] | None = None


class Size(NamedTuple):
    """A product of dims, by name, and the most that it can be."""

    dims: tuple[str, ...]
    most: int


def sizes_of(parameters: Iterable[Type]) -> list[Size]:
    """Return the products of dims that are bounded because no tensor has more than `I32_SIZE_LIMIT` elements.

    parameters  of a launch that is not wide. Views are no parameters: they may have an element several times
    """
    sizes = []
    for t in parameters:
        extents = flatten_to_tuple(t.layout.shape) if isinstance(t, Tensor) and t.space == "gmem" else ()
        if all((lower_bound(extent) or 0) >= 1 for extent in extents):
            known = prod(extent for extent in extents if isinstance(extent, int))
            sizes.append(Size(tuple(e.name for e in extents if isinstance(e, Dim)), I32_SIZE_LIMIT // known))
    return sizes


class DimBounds:
    """`layout.Ops` that computes bounds. `cutelite.layout` ensures that divisors are positive.

    dims         the values of dims, by name; others are i32
    sizes        products that are bounded
    least, most  the bounds of all operands so far that may not have wrapped: of quotients, remainders, `min`, `max`
    """

    def __init__(self, dims: Mapping[str, Value], sizes: Sequence[Size] = ()) -> None:
        self.dims, self.sizes = dims, sizes
        self.least, self.most = 0, 0

    def of(self, expr: Expr) -> Bound:
        """Return the bounds of an expression."""
        return fold(expr, self)

    def _made(self, least: int, most: int, factor: int = 1, dims: tuple[str, ...] | None = None) -> Bound:
        if dims:
            for size in self.sizes:
                if all(dims.count(name) <= size.dims.count(name) for name in dims):
                    most = min(most, factor * size.most)
        return Bound(least, most, factor, dims)

    def _whole(self, a: Bound, b: Bound) -> None:
        self.least, self.most = min(self.least, a.least, b.least), max(self.most, a.most, b.most)

    def const(self, value: int) -> Bound:
        return self._made(value, value, value, ())

    def dim(self, dim: Dim) -> Bound:
        held = self.dims.get(dim.name)
        return self._made(0, I32_DIM_LIMIT if held is None or held.type == i32 else i64.range[1], 1, (dim.name,))

    def add(self, a: Bound, b: Bound) -> Bound:
        return self._made(a.least + b.least, a.most + b.most)

    def sub(self, a: Bound, b: Bound) -> Bound:
        return self._made(a.least - b.most, a.most - b.least)

    def mul(self, a: Bound, b: Bound) -> Bound:
        products = [x * y for x in a[:2] for y in b[:2]]
        dims = None if a.dims is None or b.dims is None else a.dims + b.dims
        return self._made(min(products), max(products), a.factor * b.factor, dims)

    def floordiv(self, a: Bound, b: Bound) -> Bound:
        self._whole(a, b)
        least, most = max(b.least, 1), max(b.most, 1)
        return self._made(min(a.least // least, a.least), max(a.most // least, a.most // most))

    def mod(self, a: Bound, b: Bound) -> Bound:
        self._whole(a, b)
        return self._made(0, b.most - 1)

    def min(self, a: Bound, b: Bound) -> Bound:
        self._whole(a, b)
        return self._made(min(a.least, b.least), min(a.most, b.most))

    def max(self, a: Bound, b: Bound) -> Bound:
        self._whole(a, b)
        return self._made(max(a.least, b.least), max(a.most, b.most))
