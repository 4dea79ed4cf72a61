"""Turn expressions over named dims into arithmetic, each distinct one once.

    %n = dim expr=dim<ceil_div(K,64)>, type=i32    ->   at entry: %n = floordiv a=(add a=%K, b=%c63), b=%c64

An expression over dims of the launch is computed at entry, from the hidden parameters; one that holds a dim made
inside the kernel, right after the `dim.bind` that makes it. Dims are never negative, so their divisions by positive
numbers are unsigned.

Needs: `lower_tensors`, which creates the last of these expressions. Keeps: every other op, in order.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cutelite.diag import CompileError, InternalError, Mistake
from cutelite.ir.dim_bounds import DimBounds
from cutelite.ir.function import Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Tensor, i32, i64
from cutelite.layout import Dim, DimExpr, Int, dims_of, fold, lower_bound
from cutelite.ops import arith
from cutelite.ops.convert import Convert
from cutelite.ops.index import Dim as DimOp
from cutelite.ops.index import DimBind
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

Key = tuple[Int, Scalar]
"""An expression, and the type in which it is needed."""


def materialise_dims(function: Function, context: Context) -> Function:
    rewrite = Rewrite(function)
    wanted, binds = _homes(rewrite)
    if not wanted and not binds:
        return function
    dim_ops = _DimOps(rewrite, dict(function.dims))
    known: dict[Key, Value] = {}

    def compute(home: DimBind | None) -> None:
        for expr, t in wanted.get(home, ()):
            known[expr, t] = dim_ops.value(expr, t)

    for block in rewrite.blocks():
        if block is function.entry:
            compute(None)
        for op in rewrite.ops(block):
            if isinstance(op, DimBind):
                assert isinstance(op.dim, Dim)
                dim_ops.dims[op.dim.name] = rewrite.value(op.a)
                compute(op)
            elif isinstance(op, DimOp):
                rewrite.replace(op.result, known[_key(op)])
            else:
                rewrite.keep(op)
    return rewrite.function


def mentions_other_dims(function: Function) -> bool:
    """Tell whether a function, as the frontend built it, names a dim that the launch does not have."""
    told = function.dims.keys()
    named: dict[int, Any] = {}
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, DimBind):
                return True
            if isinstance(op, DimOp):
                named[id(op.expr)] = op.expr
            for value in op.results:
                if isinstance(value.type, Tensor):
                    named[id(value.type.layout)] = value.type.layout
    return any(dim.name not in told for each in named.values() for dim in dims_of(each))


def _key(op: DimOp) -> Key:
    assert isinstance(op.expr, (int, DimExpr))
    return op.expr, op.type


def _homes(rewrite: Rewrite) -> tuple[dict[DimBind | None, list[Key]], dict[str, tuple[int, DimBind]]]:
    """Return the expressions to compute at entry (None) and after each bind, and the binds by name with their number.

    An expression that needs several binds comes after the last of them in reverse postorder, which the others dominate.
    """
    wanted: dict[DimBind | None, list[Key]] = {}
    binds: dict[str, tuple[int, DimBind]] = {}
    seen: set[Key] = set()
    for block in rewrite.order:
        for op in block.ops:
            if isinstance(op, DimBind):
                assert isinstance(op.dim, Dim)
                binds[op.dim.name] = len(binds), op
            elif isinstance(op, DimOp) and _key(op) not in seen:
                seen.add(_key(op))
                _check_bound(op, rewrite.function.dims.keys() | binds)
                needed = [binds[dim.name] for dim in dims_of(op.expr) if dim.name in binds]
                home = max(needed, key=lambda bind: bind[0])[1] if needed else None
                wanted.setdefault(home, []).append(_key(op))
    return wanted, binds


def _check_bound(op: DimOp, known: Collection[str]) -> None:
    """Check that a parameter's annotation names the dim, which has no value otherwise."""
    for dim in dims_of(op.expr):
        if dim.name not in known:
            help = f"name it in the annotation of a parameter, as in `Tensor[f32, ({dim.name},)]`, or pass a number"
            raise CompileError(Mistake("unknown-dim", f"no parameter tells the dim {dim.name}", help=help), op.span)


class _DimOps:
    """`layout.Ops` as ops of the type that is needed. An operand is an int or a value, with its least value."""

    def __init__(self, rewrite: Rewrite, dims: dict[str, Value]) -> None:
        self.emit = rewrite.emit
        self.dims = dims
        self.type: Scalar = i32

    def value(self, expr: Int, t: Scalar) -> Value:
        """Compute an expression; in 64 bits, if something that it divides or compares may need them."""
        bounds = DimBounds(self.dims)
        bounds.of(expr)
        self.type = t if t.range[0] <= bounds.least and bounds.most <= t.range[1] else i64
        value = self._operand(fold(expr, self))
        return value if self.type == t else self.emit(Convert(value, t))

    def _operand(self, x: Any) -> Value:
        return self.emit(arith.Const(x, self.type)) if isinstance(x, int) else x.value  # type: ignore[no-any-return]

    def _op(self, op: type[Op], a: Any, b: Any, least: int | None, **fields: Any) -> Any:
        return _Number(self.emit(op(self._operand(a), self._operand(b), **fields)), least)

    def const(self, value: int) -> Any:
        return value

    def dim(self, dim: Dim) -> Any:
        value = self.dims.get(dim.name)
        if value is None:
            raise InternalError(f"the dim {dim} is bound to nothing", stage="materialise_dims")
        if value.type != self.type:
            value = self.emit(Convert(value, self.type))
        return _Number(value, lower_bound(dim))

    def add(self, a: Any, b: Any) -> Any:
        return self._op(arith.Add, a, b, _sum(_least(a), _least(b)))

    def sub(self, a: Any, b: Any) -> Any:
        return self._op(arith.Sub, a, b, _least(a) - b if isinstance(b, int) and _least(a) is not None else None)  # type: ignore[operator]

    def mul(self, a: Any, b: Any) -> Any:
        return self._op(arith.Mul, a, b, 0 if _natural(a) and _natural(b) else None)

    def floordiv(self, a: Any, b: Any) -> Any:
        natural = _natural(a) and _natural(b)
        return self._op(arith.FloorDiv, a, b, 0 if natural else None, natural=natural)

    def mod(self, a: Any, b: Any) -> Any:
        return self._op(arith.Mod, a, b, 0 if _natural(b) else None, natural=_natural(a) and _natural(b))

    def min(self, a: Any, b: Any) -> Any:
        return self._op(arith.Min, a, b, 0 if _natural(a) and _natural(b) else None)

    def max(self, a: Any, b: Any) -> Any:
        return self._op(arith.Max, a, b, 0 if _natural(a) or _natural(b) else None)


class _Number:
    """A value, and its lower bound (None if none is known)."""

    __slots__ = ("least", "value")

    def __init__(self, value: Value, least: int | None) -> None:
        self.value, self.least = value, least


def _least(x: Any) -> int | None:
    return x if isinstance(x, int) else x.least


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _natural(x: Any) -> bool:
    least = _least(x)
    return least is not None and least >= 0
