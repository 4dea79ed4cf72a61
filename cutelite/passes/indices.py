"""Index arithmetic: integers of a kernel that a layout can be applied to, as ops.

In: coordinates of tensors, offsets of views. Out: sums of a run-time value, an expression over dims and a number,
so that the part known at compile time stays separate for as long as possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import I32_DIM_LIMIT, Scalar, i32, i64
from cutelite.layout import Dim, DimExpr, Int, dims_of, substitute, upper_bound
from cutelite.ops.arith import Add, And, Const, FloorDiv, Mod, Mul, Shl, Shr, Sub, Xor
from cutelite.ops.convert import Convert
from cutelite.ops.index import Dim as DimOp
from cutelite.ops.index import DimBind
from cutelite.passes.rewrite import Rewrite


class IndexOps:
    """Emits the ops of index arithmetic; a pure op that the block already has is used again."""

    def __init__(self, rewrite: Rewrite, function: Function) -> None:
        self.rewrite = rewrite
        self.widths = DimWidths(function)
        self._block: Block | None = None
        self._made: dict[object, Any] = {}

    def make(self, cls: type[Op], *fields: Any) -> Any:
        """Return the result of the pure op ``cls(*fields)``."""
        builder = self.rewrite.builder
        if builder.block is not self._block:
            self._block, self._made = builder.block, {}
        key = (cls, fields)
        if key not in self._made:
            self._made[key] = builder.emit(cls(*fields))
        return self._made[key]

    def number(self, number: int, type: Scalar) -> Index:
        return Index(self, type, number=number)

    def index(self, value: Value, type: Scalar) -> Index:
        """Return a coordinate with its known part split off: ``i + 4`` is 4 and i.

        The sum cannot have wrapped, since the access is in bounds.
        """
        op = value.op
        if isinstance(op, Const):
            return self.number(int(op.value), type)
        if isinstance(op, (Add, Sub)) and isinstance(op.b.op, Const):
            number = int(op.b.op.value)
            return Index(self, type, op.a, 0, number if isinstance(op, Add) else -number, value)
        return Index(self, type, value, whole=value)

    def literal(self, x: Int, type: Scalar) -> Value:
        """Return a number or an expression over dims as a value."""
        value: Value = self.make(DimOp if isinstance(x, DimExpr) else Const, x, type)
        return value

    def cast(self, value: Value, type: Scalar) -> Value:
        made: Value = value if value.type == type else self.make(Convert, value, type)
        return made


class DimWidths:
    """The types that hold expressions over dims: i32 for those that cannot get larger."""

    def __init__(self, function: Function) -> None:
        self.limits = {name: I32_DIM_LIMIT if value.type == i32 else None for name, value in function.dims.items()}
        for op in function.ops():
            if isinstance(op, DimBind) and isinstance(op.dim, DimExpr):
                (dim,) = dims_of(op.dim)
                self.limits[dim.name] = i32.range[1] if op.a.type == i32 else None
        self._known: dict[Int, Scalar] = {}

    def __call__(self, x: Int) -> Scalar:
        if x not in self._known:
            self._known[x] = self._width(x)
        return self._known[x]

    def _width(self, x: Int) -> Scalar:
        limited = {}
        for dim in dims_of(x):
            limit = self.limits.get(dim.name)
            if limit is None and dim.max is None:
                return i64
            most = min(m for m in (limit, dim.max) if m is not None)
            limited[dim] = Dim(dim.name, dim.divisible_by, min=min(dim.min, most), max=most)
        most_of_all = upper_bound(substitute(x, limited))
        return i32 if most_of_all is not None and most_of_all <= i32.range[1] else i64


def bits(op: type[Op]) -> Callable[[Index, Any], Index]:
    def made(self: Index, other: Any) -> Index:
        right = other.materialise(self.type) if isinstance(other, Index) else self.ops.literal(other, self.type)
        return self._like(self.ops.make(op, self.materialise(self.type), right))

    return made


class Index:
    """An integer of the kernel that a layout can be applied to: ``value + dims + number``.

    type    the type in which products and sums are computed
    value   the part known at run time only, of 32 or 64 bits; None if there is none
    dims    the part that is an expression over dims; 0 if there is none
    number  the part known at compile time
    whole   the sum as a value, if there is one: quotients and remainders need it
    """

    __slots__ = ("dims", "number", "ops", "type", "value", "whole")

    def __init__(
        self,
        ops: IndexOps,
        type: Scalar,
        value: Value | None = None,
        dims: Int = 0,
        number: int = 0,
        whole: Value | None = None,
    ) -> None:
        self.ops, self.type = ops, type
        self.value, self.dims, self.number, self.whole = value, dims, number, whole

    def _like(self, value: Value | None, dims: Int = 0, number: int = 0) -> Index:
        if isinstance(dims, int):
            dims, number = 0, number + dims
        return Index(self.ops, self.type, value, dims, number)

    def known(self) -> Any:
        """Return the index itself, or just the number if it has no other part."""
        return self if self.value is not None or isinstance(self.dims, DimExpr) else self.number

    def run_time(self) -> list[Value]:
        """Return the run-time parts, of type `type`: their sum plus the number is the index."""
        dims = [self.ops.literal(self.dims, self.type)] if isinstance(self.dims, DimExpr) else []
        return dims if self.value is None else [*dims, self._wide()]

    def _wide(self) -> Value:
        """Return the run-time part, which must exist, in the type of products and sums."""
        assert self.value is not None
        return self.ops.cast(self.value, self.type)

    def materialise(self, t: Scalar | None = None) -> Value:
        """Return the sum as one value, of type `t` or by default of the type of its run-time part."""
        own = self.value.type if self.value is not None else self.type
        assert isinstance(own, Scalar)
        if self.whole is None:
            parts = [] if self.value is None else [self.ops.cast(self.value, t or own)]
            rest = self.dims + self.number
            if isinstance(rest, DimExpr) or rest or not parts:
                parts.append(self.ops.literal(rest, t or own))
            self.whole = parts[0] if len(parts) == 1 else self.ops.make(Add, *parts)
        assert self.whole is not None
        return self.whole if t is None else self.ops.cast(self.whole, t)

    def __add__(self, other: Any) -> Index:
        if isinstance(other, DimExpr):
            return self._like(self.value, self.dims + other, self.number)
        if isinstance(other, int):
            return self._like(self.value, self.dims, self.number + other)
        dims, number = self.dims + other.dims, self.number + other.number
        if self.value is None or other.value is None:
            return self._like(self.value or other.value, dims, number)
        return self._like(self.ops.make(Add, self._wide(), other._wide()), dims, number)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Index:
        if isinstance(other, Index):
            return self._like(self.ops.make(Mul, self.materialise(self.type), other.materialise(self.type)))
        dims, number = self.dims * other, self.number * other
        if self.value is None or (isinstance(other, int) and other in (0, 1)):
            return self._like(None if isinstance(other, int) and other == 0 else self.value, dims + number)
        factor = self.ops.literal(other, self.type)
        return self._like(self.ops.make(Mul, self._wide(), factor), dims + number)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Index:
        """Divide; an index in bounds is not negative."""
        return self._divided(FloorDiv, other)

    def __mod__(self, other: Any) -> Index:
        return self._divided(Mod, other)

    def _divided(self, op: type[FloorDiv] | type[Mod], other: Any) -> Index:
        value = self.materialise()
        t = value.type if isinstance(other, Index) or self.ops.widths(other) == i32 else i64
        assert isinstance(t, Scalar)
        divisor = other.materialise(t) if isinstance(other, Index) else self.ops.literal(other, t)
        return self._like(self.ops.make(op, self.ops.cast(value, t), divisor, True))

    __and__, __xor__, __rshift__, __lshift__ = map(bits, (And, Xor, Shr, Shl))
