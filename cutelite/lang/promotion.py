"""Numbers of all kinds as SSA values, and the types in which two of them meet.

In    literals, NumPy's numbers, dim expressions, proxies
Out   SSA values of one type. `docs/language.md` states the table of types that `common_type` implements
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from cutelite.diag import CompileError
from cutelite.ir.builder import Builder
from cutelite.ir.dim_bounds import DimBounds, sizes_of
from cutelite.ir.function import Value
from cutelite.ir.types import (
    SCALARS,
    InFlight,
    Ptr,
    Tensor,
    Type,
    Vec,
    boolean,
    elem_of,
    f32,
    i16,
    i32,
    i64,
    meet,
    with_elem,
)
from cutelite.ir.types import Scalar as DType
from cutelite.lang import fragments
from cutelite.lang.emit import Runtime, builder_here, describe, in_flight, mistake, wrap
from cutelite.layout import DimExpr
from cutelite.ops import arith, convert, index
from cutelite.ops.memory import PtrAdd
from cutelite.ops.tensor import TensorView

Number = int | float
LARGEST = {"f16": 65504.0, "bf16": (2 - 2**-7) * 2.0**127, "f32": (2 - 2**-23) * 2.0**127}
"""The largest number of each float type that is narrower than Python's float."""


class Device:
    """The device of a number, `x.device` of torch: all are where the kernel runs."""

    def described(self) -> str:
        return "the device of a number"


DEVICE = Device()


def or_device(to: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a method `to` of a dtype, as torch has it: a device may come before the dtype, or in its place."""

    @functools.wraps(to)
    def taking(x: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        ours = args[1:] if args and (isinstance(args[0], Device) or is_device(args[0])) else args
        moved = len(ours) < len(args) or device is not None
        return x if moved and not ours and not kwargs else to(x, *ours, **kwargs)

    return taking


def is_device(x: Any) -> bool:
    """Tell whether it is a device of torch."""
    return type(x).__name__ == "device" and type(x).__module__ == "torch"


class Torchlike:
    """Base of numbers that functions and methods of torch take (`lang.torch_names`)."""

    __slots__ = ()

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from cutelite.lang import torch_names  # late: it needs all functions of numbers

        return torch_names.called(function, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # no method of torch, but what the frontend or Python asks of every object
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from cutelite.lang import torch_names

        return torch_names.method(self, name)


class Differentiable(Torchlike):
    """Base of numbers that carry a derivative (`lang.dual`): functions of numbers call their methods instead."""

    __slots__ = ()

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def extreme(self, pick: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        raise NotImplementedError

    def apply(self, name: str, function: Callable[..., Any], *xs: Any) -> Any:
        raise NotImplementedError

    def to(self, dtype: Any) -> Any:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        raise NotImplementedError


def differentiable(*xs: Any) -> Differentiable | None:
    """Return the first of them that carries a derivative."""
    return next((x for x in xs if isinstance(x, Differentiable)), None)


def is_number(x: Any) -> bool:
    """Tell whether `x` is a number: a literal, a dim expression, or a run-time scalar or vector."""
    if isinstance(x, Runtime):
        return isinstance(x.value.type, (DType, Vec))
    return isinstance(x, (int, float, DimExpr)) or holds_literal(x)


def holds_literal(x: Any) -> bool:
    """Tell whether `x` is a scalar of NumPy or ml_dtypes, or an array of JAX or torch without modes: a literal."""
    kind = type(x)
    known = kind.__module__.partition(".")[0] in ("numpy", "ml_dtypes", "jaxlib") or is_tensor(kind)
    return known and getattr(x, "shape", None) == () and hasattr(x, "item")


def is_tensor(kind: type) -> bool:
    """Tell whether a class is that of torch's tensors, or derived from it, as that of parameters is."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.Tensor)


def literal(x: Any) -> Any:
    """Return Python's number for an object that holds one; all else as it is.

    Errors  `torch-function` for a tensor that needs a gradient
    """
    if type(x) in _PYTHONS or not holds_literal(x):
        return x
    if getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise mistake(
            "torch-function", "a tensor that needs a gradient would get none: a kernel takes the number that it holds",
            help="detach it: `x.detach()`",
        )  # fmt: skip
    return x.item()


_PYTHONS = frozenset({bool, int, float, str, tuple, type(None)})


def dim_type(expr: DimExpr) -> DType:
    """Return i32 if the expression cannot exceed it, given the types of its dims and the sizes of tensors; else i64."""
    builder = builder_here("a dim")
    if builder.made_dims:  # whose names may stand for others later
        return _dim_type(expr, builder)
    if expr not in builder.dim_types:
        builder.dim_types[expr] = _dim_type(expr, builder)
    found: DType = builder.dim_types[expr]
    return found


def _dim_type(expr: DimExpr, builder: Builder) -> DType:
    function, bounds = builder.function, DimBounds(builder.function.dims | builder.made_dims)
    found = bounds.of(expr)
    if found.most > i32.range[1] and not function.attrs.get("wide"):
        bounds.sizes = sizes_of(parameter.type for parameter in function.params)
        found = bounds.of(expr)
    return i32 if i32.range[0] <= found.least and found.most <= i32.range[1] else i64


def literal_type(x: Number | bool) -> DType:
    """Return the type of a literal without a typed operand beside it: bool, i32 (i64 if it needs 64 bits), or f32."""
    if isinstance(x, bool):
        return boolean
    if isinstance(x, int):
        return i32 if i32.range[0] <= x <= i32.range[1] else i64
    return f32


def as_value(x: Any, type: Type | None = None) -> Value:
    """Return the SSA value of a proxy, literal or dim expression; with `type`, as an operand of that type.

    A literal adapts to `type` if that loses nothing (an int to any wide enough int or any float, a float to any
    float). A run-time scalar becomes a vector where `type` is one. Any other difference is an error.
    """
    match x:
        case Runtime():
            value = x.value
        case bool() | int() | float():
            return _literal(x, elem_of(type) if type else literal_type(x), type)
        case DimExpr():
            value = builder_here("a dim").emit(index.Dim(x, dim_type(x)))
            if type is not None and elem_of(type).arithmetic:
                value = converted(value, with_elem(value.type, elem_of(type)))
        case Value():
            value = x
        case _ if holds_literal(x):
            return as_value(literal(x), type)
        case _:
            raise mistake("not-a-number", f"a number is needed here, not {describe(x)}")
    if type is None or value.type == type:
        return value
    if type == i32 and (narrow := _narrow(value)) is not None:
        return narrow  # `block_idx.x` of a wide launch: it fits in 32 bits by itself
    if isinstance(type, Vec) and value.type == type.elem:
        return builder_here("a vector").emit(arith.VecSplat(value, type.n))  # type: ignore[no-any-return]
    if isinstance(value.type, InFlight):
        raise in_flight(value)
    if isinstance(type, (Tensor, Ptr)) and meet((value.type, type)) == type:  # it is known to be aligned better
        builder = builder_here("a tensor")
        if isinstance(type, Tensor):
            return builder.emit(TensorView(value, type, None))  # type: ignore[no-any-return]
        return builder.emit(PtrAdd(value, as_value(0), type.align))  # type: ignore[no-any-return]
    help = f"convert it: `x.to(cl.{elem_of(type)})`"
    if isinstance(type, Vec) and isinstance(value.type, Vec) and type.n != value.type.n:
        help = f"{type.n} elements are needed, and these are {value.type.n}"
    if isinstance(value.type, Vec) and not isinstance(type, Vec):
        help = 'an element of a vector is `v[0]`; `v.reduce("sum")` is their sum'
    if isinstance(value.type, (Tensor, Ptr)):
        help = "an element of a tensor is `t[i]`; `t.load()` is a vector of all of them"
    raise mistake("type-mismatch", f"{type} is needed here, not {value.type}", why_wide(value), help)


def _narrow(value: Value) -> Value | None:
    """Return the i32 that `value` is the i64 of, if it counts blocks of the grid, as in wide launches; else None."""
    op = value.op
    if value.type == i64 and isinstance(op, convert.Convert) and isinstance(op.a.op, index.Special):
        return op.a if op.a.op.of_the_grid else None
    return None


def why_wide(value: Any) -> str:
    """Return, in words, why `value` is an i64; "" if it is none, or was declared as one.

    The reason is a dim, or a block index of a wide launch, among the values that it was computed from.
    """
    pending, seen = [value], set()
    while pending:
        at = pending.pop()
        if not isinstance(at, Value) or id(at) in seen or not isinstance(at.type, (DType, Vec)):
            continue
        if elem_of(at.type) != i64 or at.op is None:
            continue
        seen.add(id(at))
        line = f" in line {at.op.span.line}" if at.op.span else ""
        if isinstance(at.op, index.Dim):
            return f"an i64, since `{at.op.expr}`{line} may need 64 bits"
        if _narrow(at) is not None and builder_here("a number").function.attrs.get("wide"):
            return f"an i64, since the block index{line} is one in a launch of this size"
        pending += at.op.operands
    return ""


def _literal(x: Number, elem: DType, type: Type | None) -> Value:
    if elem.kind == "barrier":
        raise mistake("literal", f"an mbarrier holds no number such as {x}", help="set it up with `.init(count)`")
    if elem.is_int and isinstance(x, float) and not isinstance(x, bool):
        raise mistake("literal", f"the literal {x} does not fit {elem}", help=f"convert it: `cl.{elem}({x})`")
    if elem.is_int and not elem.range[0] <= int(x) <= elem.range[1]:
        held = f"which holds {elem.range[0]} to {elem.range[1]}"
        low, high = min(x, elem.range[0]), max(x, elem.range[1])
        roomy = [t for t in (i16, i32, i64) if t.range[0] <= low and high <= t.range[1]][:1]
        room = "".join(f"; an operand converted by `.to(cl.{t})` has room for it" for t in roomy)
        help = f"`cl.{elem}({x})` keeps its low bits{room}" if abs(x) < 2**64 else ""
        raise mistake("literal", f"the literal {_shown(x)} does not fit {elem}, {held}", help=help)
    if elem.kind == "bool" and not isinstance(x, bool):
        raise mistake("literal", f"the literal {x} is no bool", help="write True, False, or a comparison")
    number = _as_float(x, elem) if elem.is_float else x if elem.kind == "bool" else int(x)
    most = LARGEST.get(elem.name, sys.float_info.max)
    if elem.is_float and abs(number) > most and abs(x) != math.inf:
        raise mistake("literal", f"the literal {_shown(x)} does not fit {elem}, whose largest number is {most:g}")
    return _constant(number, elem, type)


def _shown(x: Number) -> str:
    return f"{x}" if isinstance(x, float) or abs(x) < 2**128 else f"of {int(x).bit_length()} bits"


def _as_float(x: Number, elem: DType) -> float:
    """Return a number as f64, rounded to odd where it does not fit: so that rounding to `elem` next rounds once."""
    try:
        found = float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
    error = x - int(found) if isinstance(x, int) and elem.bits < 64 else 0
    if not error or math.frexp(found)[0] * 2**53 % 2:
        return found
    return math.nextafter(found, math.copysign(math.inf, error))


def _constant(number: Number, elem: DType, type: Type | None = None) -> Value:
    builder = builder_here("a literal")
    value: Value = builder.emit(arith.Const(number, elem))
    return builder.emit(arith.VecSplat(value, type.n)) if isinstance(type, Vec) else value


def converted(value: Value, type: Type) -> Value:
    """Convert `value` to the element type of `type`: by one `cvt`, or by several where no single one does it."""
    for elem in convert.steps(elem_of(value.type), elem_of(type)):
        value = builder_here("a conversion").emit(convert.Convert(value, elem))
    return value


def promote(a: Any, b: Any, mode: str = "arith") -> tuple[Value, Value]:
    """Return the two operands of a binary operator in their common type.

    mode  'arith', 'bits', 'compare' or 'select': see `common_type`
    """
    x, y = _literal_or_value(a), _literal_or_value(b)
    if isinstance(x, Value) and isinstance(y, Value):
        elem = common_type(elem_of(x.type), elem_of(y.type), mode)
    elif isinstance(x, Value):
        elem = adapt(y, elem_of(x.type), mode)
    elif isinstance(y, Value):
        elem = adapt(x, elem_of(y.type), mode)
    else:
        elem = common_type(literal_type(x), literal_type(y), mode)
    return as_operands(x, y, elem)


def as_operands(x: Value | Number, y: Value | Number, elem: DType) -> tuple[Value, Value]:
    """Return two operands, values or literals, as numbers of `elem`; if one is a vector, as vectors of one shape."""
    vectors = [v for v in (x, y) if isinstance(v, Value) and isinstance(v.type, Vec)]
    n, shapes = {v.type.n for v in vectors if isinstance(v.type, Vec)}, {v.shape for v in vectors}
    if len(shapes) > 1 and None not in shapes:
        x, y = fragments.together(*vectors)
        n = {v.type.n for v in (x, y) if isinstance(v, Value) and isinstance(v.type, Vec)}
    if len(n) > 1:
        raise mistake("vector-length", f"vectors of {min(n)} and {max(n)} elements cannot be combined")
    return _operand(x, elem, n), _operand(y, elem, n)


def _literal_or_value(x: Any) -> Any:
    if isinstance(x, (bool, int, float)):
        return x
    return literal(x) if holds_literal(x) else as_value(x)


def _operand(x: Value | Number, elem: DType, n: set[int]) -> Value:
    shape: Type = Vec(elem, next(iter(n))) if n else elem
    if not isinstance(x, Value):
        return _literal(x, elem, shape) if not (elem.is_int and isinstance(x, bool)) else _literal(int(x), elem, shape)
    return as_value(converted(x, with_elem(x.type, elem)), shape)


def adapt(literal: Number, elem: DType, mode: str) -> DType:
    """Return the type in which a literal meets a typed operand: the operand's, unless that would lose something."""
    if isinstance(literal, bool):
        return common_type(boolean, elem, mode)
    if isinstance(literal, int):
        return common_type(i32, elem, mode) if elem.kind == "bool" else elem
    return elem if elem.is_float else common_type(f32, elem, mode)


def common_type(a: DType, b: DType, mode: str = "arith") -> DType:
    """Return the type in which two types meet: floats go before integers, wider before narrower, and no sign is lost.

    mode  'bits': an unsigned integer goes before a signed one that is not wider. 'arith': two bools meet as i32.
          'select': two of a storage format meet in it, because nothing is computed
    """
    if a == b and a.is_float and mode == "select":
        return a
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


def meeting_type(items: Sequence[Any]) -> DType:
    """Return the element type in which several numbers meet, vectors and literals among them."""
    typed = [elem_of(as_value(x).type) for x in items if isinstance(x, (Runtime, DimExpr))]
    literals = [literal(x) for x in items if not isinstance(x, (Runtime, DimExpr))]
    found: DType = reduce(partial(common_type, mode="select"), typed or map(literal_type, literals))
    for x in literals if typed else ():
        found = adapt(x, found, "select")
    return found


def unsigned(t: DType) -> DType:
    """Return the unsigned integer type of the width of `t`."""
    return SCALARS[f"u{t.bits}"]


def no_dtype(x: Any) -> CompileError:
    """Return the error for a conversion to `x`, which is no dtype; packed formats are not dtypes either."""
    if hasattr(x, "per_word"):
        text = f"{x} is a format of several numbers in a word, not a dtype"
        return mistake("dtype", text, help=f"`cl.pack(vector, cl.{x})` and `cl.unpack(words, cl.{x})` convert vectors")
    return mistake("dtype", f"a dtype is needed here, not {describe(x)}", help="for example `x.to(cl.f32)`")


NAMES = {
    f"{kind}{bits}": f"{short}{bits}"
    for kind, short in (("int", "i"), ("uint", "u"), ("float", "f"))
    for bits in (8, 16, 32, 64)
} | {"bool": "bool", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
"""Dtypes by the names that torch and NumPy have for them."""


def as_dtype(x: Any) -> Any:
    """Return the dtype that one of torch, NumPy or JAX means; return anything else as it is."""
    kind = x if isinstance(x, type) else type(x)
    library = kind.__module__.partition(".")[0]
    if library == "torch" and kind.__name__ == "dtype" and kind is not x:
        name = str(x).removeprefix("torch.")
    elif library in ("numpy", "ml_dtypes", "jax"):
        name = getattr(x, "__name__" if kind is x else "name", "")
    else:
        return x
    return SCALARS.get(NAMES.get(name, ""), x)


def dtype_of(x: Any) -> DType:
    """Return the dtype that `x` is or means (`as_dtype`). Errors: `dtype`."""
    found = as_dtype(x)
    if not isinstance(found, DType):
        raise no_dtype(x)
    return found


class Slope(float):
    """A derivative that is known while compiling; where paths meet it becomes a number of the run-time type `type`, or
    a vector of this `shape`."""

    type: Type
    shape: Any

    def __new__(cls, x: float, type: Type, shape: Any) -> Slope:
        made = super().__new__(cls, x)
        made.type, made.shape = type, shape
        return made


def of_torch(x: Any) -> Any:
    """Return torch's dtype for one of ours, if torch has it; return anything else as it is."""
    name = next((name for name, short in NAMES.items() if short == x.name), "") if isinstance(x, DType) else ""
    return getattr(sys.modules["torch"], name) if name else x


def as_integer(x: Any, t: DType, *kept: DType) -> Value:
    """Return an operand of the integer type `t`; run-time integers are converted to it, but for those of `kept`."""
    held = x.value.type if isinstance(x, Runtime) else None
    if isinstance(held, DType) and held.is_int:
        return x.value if held in kept else to_dtype(x, t).value  # type: ignore[no-any-return]
    return as_value(x, t)


def to_dtype(x: Any, dtype: Any) -> Any:
    """Convert `x` to `dtype`, whatever that loses: `cl.f16(x)`, `x.to(cl.f16)`. Integers wrap, floats are clamped."""
    dtype = dtype_of(dtype)
    if isinstance(x, Differentiable):
        return x.to(dtype)
    if isinstance(x, (bool, int, float)):
        if dtype.is_int and isinstance(x, float):
            if not math.isfinite(x):
                raise mistake("literal", f"the literal {x} has no value as {dtype}")
            x = min(max(int(x), dtype.range[0]), dtype.range[1])  # as a run-time float
        if dtype.is_int:
            low, high = dtype.range
            x = (int(x) - low) % (high - low + 1) + low
        if dtype.arithmetic or dtype.kind == "bool":
            number = bool(x) if dtype.kind == "bool" else _as_float(x, dtype) if dtype.is_float else int(x)
            return wrap(_constant(number, dtype))
        x = wrap(_constant(_as_float(x, f32), f32))
    value = as_value(x)
    if not isinstance(value.type, (DType, Vec)):
        raise mistake("not-a-number", f"{value.type} cannot be converted to {dtype}")
    return wrap(converted(value, with_elem(value.type, dtype)))
