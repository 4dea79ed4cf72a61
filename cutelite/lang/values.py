"""Run-time values as kernels see them: proxies whose Python operators emit ops.

A compile-time value is an ordinary Python object; a run-time one is a `Scalar`, `Vector` or
`cutelite.lang.tensor.Tensor`, a thin wrapper around an SSA value. Operators on compile-time values alone are
executed by Python and never come here. `docs/language.md` states the promotion table that `promote` implements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.builder import Builder
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import (
    I32_DIM_LIMIT,
    SCALARS,
    InFlight,
    Tensor,
    TensorMap,
    Type,
    Vec,
    boolean,
    elem_of,
    f32,
    f64,
    i32,
    i64,
    with_elem,
)
from cutelite.ir.types import Scalar as DType
from cutelite.layout import DimExpr, fold
from cutelite.ops import arith, convert, index

Number = int | float
LARGEST = {"f16": 65504.0, "bf16": (2 - 2**-7) * 2.0**127, "f32": (2 - 2**-23) * 2.0**127}
"""The largest number of float types that are narrower than Python's."""
Range = tuple[int, int]


def mistake(code: str, title: str, label: str = "", help: str | tuple[str, ...] = "") -> CompileError:
    """An error at the line being interpreted."""
    builder = Builder.current()
    return CompileError(Mistake(code, title, label, help), builder.span if builder else None)


def builder_here(what: str = "this") -> Builder:
    """The builder of the kernel being compiled; outside of a kernel it is an error to ask."""
    builder = Builder.current()
    if builder is None:
        raise CompileError(
            Mistake("outside-kernel", f"{what} works only inside a kernel", help="call it from a @cutelite.kernel")
        )
    return builder


def emit(op: Op) -> Any:
    """Append `op` to the kernel; its result as a proxy, a tuple of them, or None."""
    results = builder_here(op.name).emit(op)
    if isinstance(results, tuple):
        return tuple(map(wrap, results))
    return None if results is None else wrap(results)


def wrap(value: Value) -> Any:
    """The proxy for an SSA value."""
    match value.type:
        case DType():
            return Scalar(value)
        case Vec():
            return Vector(value)
        case Tensor():
            from cutelite.lang.tensor import Tensor as TensorProxy

            return TensorProxy(value)
        case TensorMap():
            from cutelite.lang.tensor import TmaTensor

            return TmaTensor(value)
        case InFlight():
            return Flying(value)
    return Handle(value)


if TYPE_CHECKING:
    _Any = Any  # to a checker a run-time value may be whatever it is used as: `cutelite/__init__.pyi` says why
else:
    _Any = object


class Runtime(_Any):  # type: ignore[misc]
    """Base of all proxies. Two proxies are the same only if they hold the same SSA value."""

    __slots__ = ("value",)
    __array_ufunc__ = None  # NumPy's numbers leave operators to us

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def type(self) -> Type:
        return self.value.type

    def __hash__(self) -> int:
        raise not_a_key(self)

    def __eq__(self, other: object) -> Any:
        raise incomparable(self)

    __ne__ = __eq__

    def __float__(self) -> float:
        raise mistake(
            "runtime-number",
            "a compile-time number is needed here",
            f"this is a run-time {self.type}",
            "functions of `cl`, and those of `math` that `cl` has, take run-time numbers",
        )

    __complex__: Any = __float__

    def __bool__(self) -> bool:
        raise mistake(
            "runtime-condition",
            "a run-time value decides something at compile time here",
            f"this is {self.type}, known only when the kernel runs",
            "use it in an `if`, `while` or conditional expression of the kernel itself, or make it a Constexpr",
        )

    def __repr__(self) -> str:
        return f"<run-time {self.type}>"

    def __iter__(self) -> Iterator[Any]:
        raise mistake(
            "iteration", f"{describe(self)} cannot be iterated over", help="loop over indices: `for i in range(...)`"
        )

    def __str__(self) -> str:
        raise mistake(
            "runtime-text",
            f"a run-time {self.type} has no text at compile time",
            help='print it from the kernel with an f-string: `cl.printf(f"x = {x}")`',
        )

    def __format__(self, spec: str) -> str:
        return str(self)


class Handle(Runtime):
    """A run-time value without operators: a pointer, an mbarrier."""

    __slots__ = ()


class Flying(Handle):
    """Registers that wgmma may still be writing or reading. All that can be done with them is in `cl.wgmma`."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    def _refuse(self, *_: Any) -> Any:
        raise in_flight()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = __pos__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __len__ = __iter__ = to = put = _refuse


def not_a_key(x: Any) -> CompileError:
    """The error for what would be told apart from others while compiling, as keys and members of sets are."""
    return mistake(
        "runtime-key",
        "keys and members of sets are told apart at compile time",
        f"this is {describe(x)}",
        "compare with `==`, or keep it in a tuple or list",
    )


def incomparable(x: Any) -> CompileError:
    """The error for a comparison of what has no value of its own."""
    help = "compare elements: `t[i] == x`; or ask `t is None`" if hasattr(x, "layout") else ""
    return mistake("comparison", f"{describe(x)} cannot be compared", help=help)


def in_flight() -> CompileError:
    """The error for what is used before the wait that makes it readable."""
    return mistake(
        "in-flight",
        "this accumulator is in flight: wgmma may still be writing it",
        "used here",
        "wait for it first: `acc = cl.wgmma.wait_group(0, acc)`",
    )


def _binary(op: Callable[[Value, Value], Op], swap: bool = False, mode: str = "arith") -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        a, b = promote(other, self, mode) if swap else promote(self, other, mode)
        return emit(op(a, b))

    return operator


def _compare(predicate: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        return emit(arith.Cmp(predicate, *promote(self, other, "compare")))

    return operator


def _shift(op: Callable[[Value, Value], Op], swap: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        left, right = (other, self) if swap else (self, other)
        if not is_number(left) or not is_number(right):
            return NotImplemented
        value, amount = as_value(left), right
        whole = right.dtype.is_int if isinstance(right, Arithmetic) else isinstance(right, int | DimExpr)
        if not elem_of(value.type).is_int or not whole:
            shown = f"{describe(left)} by {describe(right)}"
            raise mistake("shift", f"only integers can be shifted, and by integers, not {shown}")
        if isinstance(right, int) and right < 0:
            raise mistake("shift", f"a shift by {right} bits: the number must not be negative")
        if isinstance(right, Arithmetic):
            if isinstance(left, int):  # `1 << n` is as wide as n
                value = as_value(left, right.type)
            amount = to_dtype(right, elem_of(value.type))
        return emit(op(value, as_value(amount, value.type)))

    return operator


def _floordiv(self: Any, other: Any) -> Any:
    if not is_number(other):
        return NotImplemented
    return floordiv(self, other)


def _rfloordiv(self: Any, other: Any) -> Any:
    return floordiv(other, self) if is_number(other) else NotImplemented


def _mod(self: Any, other: Any) -> Any:
    return modulo(self, other) if is_number(other) else NotImplemented


def _rmod(self: Any, other: Any) -> Any:
    return modulo(other, self) if is_number(other) else NotImplemented


def _truediv(self: Any, other: Any) -> Any:
    return divide(self, other) if is_number(other) else NotImplemented


def _rtruediv(self: Any, other: Any) -> Any:
    return divide(other, self) if is_number(other) else NotImplemented


def _pow(self: Any, other: Any) -> Any:
    return power(self, other) if is_number(other) else NotImplemented


def _rpow(self: Any, other: Any) -> Any:
    return power(other, self) if is_number(other) else NotImplemented


class Arithmetic(Runtime):
    """Python's operators, for scalars and vectors."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    __add__, __radd__ = _binary(arith.Add), _binary(arith.Add, swap=True)
    __sub__, __rsub__ = _binary(arith.Sub), _binary(arith.Sub, swap=True)
    __mul__, __rmul__ = _binary(arith.Mul), _binary(arith.Mul, swap=True)
    __and__, __rand__ = _binary(arith.And, mode="bits"), _binary(arith.And, swap=True, mode="bits")
    __or__, __ror__ = _binary(arith.Or, mode="bits"), _binary(arith.Or, swap=True, mode="bits")
    __xor__, __rxor__ = _binary(arith.Xor, mode="bits"), _binary(arith.Xor, swap=True, mode="bits")
    __lshift__, __rlshift__ = _shift(arith.Shl), _shift(arith.Shl, swap=True)
    __rshift__, __rrshift__ = _shift(arith.Shr), _shift(arith.Shr, swap=True)
    __truediv__, __rtruediv__ = _truediv, _rtruediv
    __floordiv__, __rfloordiv__ = _floordiv, _rfloordiv
    __mod__, __rmod__ = _mod, _rmod
    __pow__, __rpow__ = _pow, _rpow
    __lt__, __le__, __gt__, __ge__ = _compare("lt"), _compare("le"), _compare("gt"), _compare("ge")
    __eq__, __ne__ = _compare("eq"), _compare("ne")

    @property
    def dtype(self) -> DType:
        return elem_of(self.value.type)

    def __neg__(self) -> Any:
        return emit(arith.Neg(_numeric(self)))

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        if self.value.type == boolean:
            raise mistake("invert", "`~` of a bool is not its negation in Python", help="write `not x`")
        return emit(arith.Not(self.value))

    def __abs__(self) -> Any:
        return emit(arith.Abs(_numeric(self)))

    def to(self, dtype: Any) -> Any:
        """This value converted to `dtype`: floats round to nearest even; float to int truncates, as int() does."""
        return to_dtype(self, dtype)


class Scalar(Arithmetic):
    """A number known only at run time, one per thread."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    def __index__(self) -> int:
        raise mistake(
            "runtime-index",
            "a compile-time integer is needed here",
            f"this is a run-time {self.type}",
            "make it a Constexpr, a literal, or a `cl.static_range` variable",
        )


class Vector(Arithmetic):
    """`n` numbers of one thread, an immutable value. Operators work element by element; scalars broadcast."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    @property
    def n(self) -> int:
        assert isinstance(self.value.type, Vec)
        return self.value.type.n

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents it has; it was loaded from a tensor of this shape, or reshaped."""
        return (self.n,) if self.value.shape is None else self.value.shape

    def reshape(self, shape: Any) -> Vector:
        """The same elements, in the same order, under another shape."""
        from cutelite.lang import fragments

        return fragments.reshape(self, shape)

    def broadcast_to(self, shape: Any) -> Vector:
        """Modes of extent 1 repeated to the extents of `shape`."""
        from cutelite.lang import fragments

        return fragments.broadcast_to(self, shape)

    def reduce(self, operation: Any, modes: Any = None, init: Any = None) -> Any:
        """Elements combined over `modes`, or over all: 'sum', 'prod', 'max', 'min', 'all', 'any'."""
        from cutelite.lang import fragments

        return fragments.reduce(self, operation, modes, init)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            from cutelite.lang import fragments

            return fragments.part(self, key)
        if isinstance(key, slice):
            return emit(arith.VecGather(self.value, tuple(range(self.n))[key]))
        return emit(arith.VecGather(self.value, (static_index(key, self.n, "vector"),), scalar=True))

    def __iter__(self) -> Iterator[Scalar]:
        return (self[i] for i in range(self.n))

    def put(self, place: int, item: Any) -> Vector:
        """This vector with the element at `place` (a compile-time integer) replaced."""
        value = as_value(item, self.dtype)
        return emit(arith.VecPut(self.value, value, (static_index(place, self.n, "vector"),)))  # type: ignore[no-any-return]


def static_index(key: Any, extent: int, what: str) -> int:
    """`key` as a Python index in range(extent)."""
    if not isinstance(key, int):
        raise mistake(
            "runtime-index",
            f"a {what} is indexed with compile-time integers only",
            f"this index is {key!r}",
            "registers have no addresses: unroll with `cl.static_range`, or keep the data in shared memory",
        )
    place = key + extent if key < 0 else key
    if not 0 <= place < extent:
        raise mistake("out-of-bounds", f"index {key} is out of bounds for a {what} of {extent} elements")
    return place


# Numbers of all kinds, and how two of them meet.


def is_number(x: Any) -> bool:
    return isinstance(x, bool | int | float | Arithmetic | DimExpr) or is_numpy_number(x)


def is_numpy_number(x: Any) -> bool:
    """A scalar of NumPy's: in a kernel it is the literal that it holds."""
    return type(x).__module__ == "numpy" and getattr(x, "shape", None) == () and hasattr(x, "item")


def dim_type(expr: DimExpr) -> DType:
    """i32 if the expression cannot exceed it, given the types of its dims; else i64."""
    low, high = fold(expr, _Range(builder_here("a dim").function.dims))
    return i32 if i32.range[0] <= low and high <= i32.range[1] else i64


class _Range:
    """Bounds of a dim expression, from those of its dims. Divisors are positive (the layout leaf sees to it)."""

    def __init__(self, dims: dict[str, Value]) -> None:
        self.dims = dims

    def const(self, value: int) -> Range:
        return value, value

    def dim(self, dim: Any) -> Range:
        held = self.dims.get(dim.name)
        return 0, I32_DIM_LIMIT if held is None or held.type == i32 else i64.range[1]

    def add(self, a: Range, b: Range) -> Range:
        return a[0] + b[0], a[1] + b[1]

    def sub(self, a: Range, b: Range) -> Range:
        return a[0] - b[1], a[1] - b[0]

    def mul(self, a: Range, b: Range) -> Range:
        products = [x * y for x in a for y in b]
        return min(products), max(products)

    def floordiv(self, a: Range, b: Range) -> Range:
        return min(a[0] // max(b[0], 1), a[0]), max(a[1] // max(b[0], 1), a[1] // max(b[1], 1))

    def mod(self, a: Range, b: Range) -> Range:
        return 0, b[1] - 1

    def min(self, a: Range, b: Range) -> Range:
        return min(a[0], b[0]), min(a[1], b[1])

    def max(self, a: Range, b: Range) -> Range:
        return max(a[0], b[0]), max(a[1], b[1])


def literal_type(x: Number | bool) -> DType:
    """The type of a literal that meets nothing typed: bool, i32 (i64 if it must be), f32."""
    if isinstance(x, bool):
        return boolean
    if isinstance(x, int):
        return i32 if i32.range[0] <= x <= i32.range[1] else i64
    return f32


def as_value(x: Any, type: Type | None = None) -> Value:
    """The SSA value of `x`: a proxy, literal or dim expression. With `type`, converted to it as an operand is.

    A literal adapts to `type` if that loses nothing (an int to any wide enough int or any float, a float to any
    float); a run-time scalar becomes a vector where `type` is one; any other difference is an error.
    """
    match x:
        case Arithmetic() | Handle():
            value = x.value
        case bool() | int() | float():
            return _literal(x, elem_of(type) if type else literal_type(x), type)
        case DimExpr():
            value = builder_here("a dim").emit(index.Dim(x, dim_type(x)))
            if type is not None and elem_of(type).arithmetic:
                value = _converted(value, with_elem(value.type, elem_of(type)))
        case Value():
            value = x
        case Runtime():
            value = x.value
        case _ if is_numpy_number(x):
            return as_value(x.item(), type)
        case _:
            raise mistake("not-a-number", f"a number is needed here, not {describe(x)}")
    if type is None or value.type == type:
        return value
    if type == i32 and isinstance(value.op, convert.Convert) and isinstance(value.op.a.op, index.Special):
        return value.op.a  # `block_idx.x` of a wide launch: by itself it fits
    if isinstance(type, Vec) and value.type == type.elem:
        return builder_here("a vector").emit(arith.VecSplat(value, type.n))  # type: ignore[no-any-return]
    if isinstance(value.type, InFlight):
        raise in_flight()
    raise mistake(
        "type-mismatch",
        f"{type} is needed here, not {value.type}",
        why_wide(value),
        f"convert it: `x.to(cl.{elem_of(type)})`",
    )


def why_wide(value: Any) -> str:
    """What made an i64 of a value, where that is no number that was declared one; else nothing.

    The first i64 among those that it was computed from is a dim, a product of dims or a block index of a wide launch.
    """
    pending, seen = [value], set()
    while pending:
        at = pending.pop()
        if not isinstance(at, Value) or id(at) in seen or not isinstance(at.type, DType | Vec):
            continue
        if elem_of(at.type) != i64 or at.op is None:
            continue
        seen.add(id(at))
        line = f" in line {at.op.span.line}" if at.op.span else ""
        if isinstance(at.op, index.Dim):
            return f"an i64, since `{at.op.expr}`{line} may need 64 bits"
        if isinstance(at.op, convert.Convert) and isinstance(at.op.a.op, index.Special):
            return f"an i64, since the block index{line} is one in a launch of this size"
        pending += at.op.operands
    return ""


def _literal(x: Number, elem: DType, type: Type | None) -> Value:
    if elem.is_int and isinstance(x, float) and not isinstance(x, bool):
        raise mistake("literal", f"the literal {x} does not fit {elem}", help=f"convert it: `cl.{elem}({x})`")
    if elem.is_int and not elem.range[0] <= int(x) <= elem.range[1]:
        raise mistake("literal", f"the literal {x} does not fit {elem}, which holds {elem.range[0]} to {elem.range[1]}")
    if elem.kind == "bool" and not isinstance(x, bool):
        raise mistake("literal", f"the literal {x} is no bool", help="write True, False, or a comparison")
    number = float(x) if elem.is_float else x if elem.kind == "bool" else int(x)
    if elem.is_float and LARGEST.get(elem.name, math.inf) < abs(number) < math.inf:
        raise mistake("literal", f"the literal {x} does not fit {elem}, whose largest number is {LARGEST[elem.name]:g}")
    return _constant(number, elem, type)


def _constant(number: Number, elem: DType, type: Type | None = None) -> Value:
    builder = builder_here("a literal")
    value: Value = builder.emit(arith.Const(number, elem))
    return builder.emit(arith.VecSplat(value, type.n)) if isinstance(type, Vec) else value


def _converted(value: Value, type: Type) -> Value:
    """`value` in the element type of `type`: by one `cvt`, or by several where no instruction does it in one."""
    for elem in convert.steps(elem_of(value.type), elem_of(type)):
        value = builder_here("a conversion").emit(convert.Convert(value, elem))
    return value


def promote(a: Any, b: Any, mode: str = "arith") -> tuple[Value, Value]:
    """The two operands of a binary operator in their common type. `mode` is 'arith', 'bits' or 'compare'."""
    x, y = _literal_or_value(a), _literal_or_value(b)
    if isinstance(x, Value) and isinstance(y, Value):
        elem = common_type(elem_of(x.type), elem_of(y.type), mode)
    elif isinstance(x, Value):
        elem = adapt(y, elem_of(x.type), mode)
    elif isinstance(y, Value):
        elem = adapt(x, elem_of(y.type), mode)
    else:
        elem = common_type(literal_type(x), literal_type(y), mode)
    vectors = [v for v in (x, y) if isinstance(v, Value) and isinstance(v.type, Vec)]
    n, shapes = {v.type.n for v in vectors if isinstance(v.type, Vec)}, {v.shape for v in vectors}
    if len(shapes) > 1 and None not in shapes:
        from cutelite.lang import fragments

        x, y = fragments.together(x, y)
        n = {v.type.n for v in (x, y) if isinstance(v.type, Vec)}
    if len(n) > 1:
        raise mistake("vector-length", f"vectors of {min(n)} and {max(n)} elements cannot be combined")
    return _operand(x, elem, n), _operand(y, elem, n)


def _literal_or_value(x: Any) -> Any:
    if isinstance(x, bool | int | float):
        return x
    return x.item() if is_numpy_number(x) else as_value(x)


def _operand(x: Value | Number, elem: DType, n: set[int]) -> Value:
    shape: Type = Vec(elem, next(iter(n))) if n else elem
    if not isinstance(x, Value):
        return _literal(x, elem, shape) if not (elem.is_int and isinstance(x, bool)) else _literal(int(x), elem, shape)
    return as_value(_converted(x, with_elem(x.type, elem)), shape)


def adapt(literal: Number, elem: DType, mode: str) -> DType:
    """The type in which a literal meets a typed operand: the operand's, unless that would lose something."""
    if isinstance(literal, bool):
        return common_type(boolean, elem, mode)
    if isinstance(literal, int):
        return common_type(i32, elem, mode) if elem.kind == "bool" else elem
    return elem if elem.is_float else common_type(f32, elem, mode)


def common_type(a: DType, b: DType, mode: str = "arith") -> DType:
    """The table of `docs/language.md`: wider wins, floats beat integers, nothing loses its sign."""
    for t in (a, b):
        if not (t.arithmetic or t.kind == "bool"):
            raise mistake("no-arithmetic", f"{t} is a storage format", help="convert it first: `x.to(cl.f32)`")
    if a == b:
        return i32 if a.kind == "bool" and mode == "arith" else a
    if a.kind == "bool":
        return b
    if b.kind == "bool":
        return a
    if a.is_float and b.is_float:
        return a if a.bits > b.bits else b if b.bits > a.bits else f32  # f16 with bf16 meets in f32
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    return _mixed_sign(a if a.kind == "int" else b, a if a.kind == "uint" else b, mode)


def _mixed_sign(signed: DType, unsigned: DType, mode: str) -> DType:
    if signed.bits > unsigned.bits:
        return signed
    if mode == "bits":
        return unsigned
    if unsigned.bits == 64:
        raise mistake(
            "mixed-sign", f"no integer type holds both {signed} and {unsigned}", help="convert one of them explicitly"
        )
    return SCALARS[f"i{unsigned.bits * 2}"]


def _numeric(x: Arithmetic) -> Value:
    """A bool counts as an i32."""
    return _converted(x.value, with_elem(x.value.type, i32)) if x.dtype == boolean else x.value


def unsigned(t: DType) -> DType:
    """The unsigned integer type of this width."""
    return SCALARS[f"u{t.bits}"]


def to_dtype(x: Any, dtype: DType) -> Any:
    """`x` converted to `dtype`, whatever it loses: `cl.f16(x)`, `x.to(cl.f16)`."""
    if isinstance(x, bool | int | float):
        if dtype.is_int and isinstance(x, float):
            if not math.isfinite(x):
                raise mistake("literal", f"the literal {x} has no value as {dtype}")
            x = int(x)
        if dtype.is_int:
            low, high = dtype.range
            x = (int(x) - low) % (high - low + 1) + low
        if dtype.arithmetic or dtype.kind == "bool":
            return wrap(_constant(bool(x) if dtype.kind == "bool" else float(x) if dtype.is_float else int(x), dtype))
        x = wrap(_constant(float(x), f32))
    value = as_value(x)
    if not isinstance(value.type, DType | Vec):
        raise mistake("not-a-number", f"{value.type} cannot be converted to {dtype}")
    return wrap(_converted(value, with_elem(value.type, dtype)))


# Operators that are more than one op.


def floordiv(a: Any, b: Any) -> Any:
    """``a // b``, rounded towards minus infinity, for integers and floats."""
    _check_divisor(b)
    x, y = promote(a, b)
    if elem_of(x.type).is_float:
        return _float_quotient(wrap(x), wrap(y))
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return emit(arith.Shr(x, as_value(b.bit_length() - 1, x.type)))
    return emit(arith.FloorDiv(x, y))


def modulo(a: Any, b: Any) -> Any:
    """``a % b`` with the sign of `b`, for integers and floats."""
    _check_divisor(b)
    x, y = promote(a, b)
    if elem_of(x.type).is_float:
        return _float_remainder(wrap(x), wrap(y))
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return emit(arith.And(x, as_value(b - 1, x.type)))
    return emit(arith.Mod(x, y))


def _float_remainder(x: Any, y: Any) -> Any:
    """``x % y`` as CPython computes it: exact, but for the rounding of one sum where the signs differ."""
    from cutelite.ops.math import CopySign

    with builder_here("%").rounding_each():
        rest, divisor = _left_over(x, y)
        moved = where((divisor < 0) != (rest < 0), rest + divisor, rest)
        zero = emit(CopySign(as_value(0.0, divisor.type), divisor.value))
        return to_dtype(where(rest != 0, moved, zero), x.dtype)


def _float_quotient(x: Any, y: Any) -> Any:
    """``x // y`` as CPython computes it, in f64 for every type, rounded to that of the operands; ``x / y`` for a 0."""
    from cutelite.ops.math import CopySign, Floor

    with builder_here("//").rounding_each():
        rest, divisor = _left_over(x, y)
        opposite = (rest != 0) & ((divisor < 0) != (rest < 0))
        a, b = to_dtype(x, f64), to_dtype(y, f64)
        ratio, whole = a / b, (a - to_dtype(rest, f64)) / b
        whole = where(opposite, whole - 1.0, whole)
        below = emit(Floor(whole.value))
        rounded = where(whole - below > 0.5, below + 1.0, below)
        zero = emit(CopySign(as_value(0.0, ratio.type), ratio.value))
        found = where(whole != 0, rounded, zero)
        return to_dtype(where(b == 0, ratio, found), x.dtype)


def _left_over(x: Any, y: Any) -> tuple[Any, Any]:
    """C's fmod, which is exact, and the divisor; in f32 for the types that have none."""
    from cutelite.ops.math import Fmod

    t = x.dtype if x.dtype.bits >= 32 else f32
    dividend, divisor = to_dtype(x, t), to_dtype(y, t)
    return emit(Fmod(dividend.value, divisor.value)), divisor


def _check_divisor(b: Any) -> None:
    if isinstance(b, int) and b == 0:
        raise mistake("division", "a division by zero")


def divide(a: Any, b: Any) -> Any:
    """``a / b``: always a float. Two integers meet in f32, or in f64 if one has 64 bits."""
    _check_divisor(b)
    x, y = promote(a, b)
    elem = elem_of(x.type)
    if not elem.is_float:
        target = f64 if elem.bits == 64 else f32
        x, y = _converted(x, with_elem(x.type, target)), _converted(y, with_elem(y.type, target))
    return emit(arith.Div(x, y))


def power(a: Any, b: Any) -> Any:
    """``a ** b``. A compile-time integer exponent is multiplied out; any other needs floats."""
    if isinstance(b, int) and not isinstance(b, bool):
        return _integer_power(a, b)
    x, y = promote(a, b)
    if not elem_of(x.type).is_float:
        raise mistake(
            "integer-power", "an integer to a run-time power", help="convert to float, or use a literal exponent"
        )
    from cutelite.lang.math import pow

    return pow(wrap(x), wrap(y))


def _integer_power(a: Any, exponent: int) -> Any:
    """By repeated squaring."""
    if exponent < 0:
        return divide(1, _integer_power(a, -exponent))
    result: Any = None
    square = a
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return wrap(as_value(1, a.type)) if result is None else result


def minimum(a: Any, b: Any) -> Any:
    return emit(arith.Min(*promote(a, b)))


def maximum(a: Any, b: Any) -> Any:
    return emit(arith.Max(*promote(a, b)))


def logical_not(a: Scalar) -> Scalar:
    return emit(arith.Not(truth(a).value))  # type: ignore[no-any-return]


def logical_and(a: Any, b: Any) -> Any:
    """Whether both hold, of bools and run-time bools."""
    if a is False or b is False:
        return False
    return b if a is True else a if b is True else emit(arith.And(truth(a).value, truth(b).value))


def logical_or(a: Any, b: Any) -> Any:
    """Whether one holds, of bools and run-time bools."""
    if a is True or b is True:
        return True
    return b if a is False else a if b is False else emit(arith.Or(truth(a).value, truth(b).value))


def truth(x: Any) -> Scalar:
    """`x` as Python's bool() would see it: a run-time bool."""
    if isinstance(x, DimExpr):
        x = wrap(as_value(x))
    if not isinstance(x, Scalar):
        raise mistake("truth", f"{describe(x)} is neither true nor false", help="compare it with something")
    return x if x.dtype == boolean else x != 0


def where(cond: Any, a: Any, b: Any) -> Any:
    """`a` where `cond` holds, else `b`, without a branch; both are evaluated. Element by element on vectors."""
    if isinstance(cond, bool):
        return a if cond else b
    x, y = promote(a, b, "select") if is_number(a) and is_number(b) else (as_value(a), as_value(b))
    condition = cond if isinstance(cond, Vector) else truth(cond)
    return emit(arith.Select(condition.value, x, y))


def describe(x: Any) -> str:
    """What `x` is, for an error message; objects of ours that no user has made say it by a method `described`."""
    if isinstance(x, Flying):
        return "an accumulator in flight"
    if isinstance(x, Runtime):
        return f"a run-time {x.type}"
    if isinstance(x, int | float | str | bool | None):
        return f"{x!r}"
    if isinstance(x, Enum):
        return str(x)
    if (known := getattr(type(x), "described", None)) is not None:
        return known(x)  # type: ignore[no-any-return]
    if isinstance(x, ModuleType):
        return f"the module `{x.__name__}`"
    if callable(x) and isinstance(name := getattr(x, "__name__", None), str):
        return f"the {'class' if isinstance(x, type) else 'function'} `{name}`"
    if isinstance(x, DimExpr):
        return f"the dim {x}" if str(x).isidentifier() else f"{x}, which is known at the launch"
    name = type(x).__name__
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"
