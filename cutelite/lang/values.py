"""Run-time numbers in kernels: proxies whose Python operators emit ops.

A compile-time value is an ordinary Python object; a run-time number is a `Scalar` or a `Vector`. Operators on
compile-time values alone are executed by Python and never come here. The type in which two numbers meet is decided in
`promotion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from cutelite import ops
from cutelite.diag import CompileError
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import SCALARS, Vec, boolean, elem_of, f32, f64, i32, meet, with_elem
from cutelite.ir.types import Scalar as DType
from cutelite.lang import fragments
from cutelite.lang.emit import Runtime, append, builder_here, describe, emit, mistake, proxy_of, wrap
from cutelite.lang.fragments import Reduction
from cutelite.lang.promotion import (
    Torchlike,
    as_operands,
    as_value,
    converted,
    differentiable,
    is_number,
    literal,
    meeting_type,
    or_device,
    promote,
    to_dtype,
)
from cutelite.layout import DimExpr
from cutelite.ops import arith

# Operators that are more than one op, on numbers of all kinds.


def floordiv(a: Any, b: Any) -> Any:
    """Return ``a // b``, rounded towards minus infinity, for integers and floats."""
    _check_divisor(b)
    x, y = promote(a, b)
    if elem_of(x.type).is_float:
        return _float_quotient(wrap(x), wrap(y))
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return emit(arith.Shr(x, as_value(b.bit_length() - 1, x.type)))
    return emit(arith.FloorDiv(x, y))


def modulo(a: Any, b: Any) -> Any:
    """Return ``a % b`` with the sign of `b`, for integers and floats."""
    _check_divisor(b)
    x, y = promote(a, b)
    if elem_of(x.type).is_float:
        return _float_remainder(wrap(x), wrap(y))
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return emit(arith.And(x, as_value(b - 1, x.type)))
    return emit(arith.Mod(x, y))


def _float_remainder(x: Any, y: Any) -> Any:
    """Return ``x % y`` as CPython computes it: exact, but for the rounding of one sum where the signs differ."""
    with builder_here("%").rounding_each():
        rest, divisor = _left_over(x, y)
        moved = where((divisor < 0) != (rest < 0), rest + divisor, rest)
        zero = emit(ops.math.CopySign(as_value(0.0, divisor.type), divisor.value))
        return to_dtype(where(rest != 0, moved, zero), x.dtype)


def _float_quotient(x: Any, y: Any) -> Any:
    """Return ``x // y`` as CPython computes it, in f64 for every type, then rounded; ``x / y`` if `y` is 0."""
    with builder_here("//").rounding_each():
        rest, divisor = _left_over(x, y)
        opposite = (rest != 0) & ((divisor < 0) != (rest < 0))
        a, b = to_dtype(x, f64), to_dtype(y, f64)
        ratio, whole = a / b, (a - to_dtype(rest, f64)) / b
        whole = where(opposite, whole - 1.0, whole)
        below = emit(ops.math.Floor(whole.value))
        rounded = where(whole - below > 0.5, below + 1.0, below)
        zero = emit(ops.math.CopySign(as_value(0.0, ratio.type), ratio.value))
        found = where(whole != 0, rounded, zero)
        return to_dtype(where(b == 0, ratio, found), x.dtype)


def _left_over(x: Any, y: Any) -> tuple[Any, Any]:
    """Return C's fmod, which is exact, and the divisor; in f32 for the types that have no fmod."""
    t = x.dtype if x.dtype.bits >= 32 else f32
    dividend, divisor = to_dtype(x, t), to_dtype(y, t)
    return emit(ops.math.Fmod(dividend.value, divisor.value)), divisor


def _check_divisor(b: Any) -> None:
    if isinstance(b, int) and b == 0:
        raise mistake("division", "a division by zero")


def divide(a: Any, b: Any) -> Any:
    """Return ``a / b``, always a float. Two integers meet in f32, or in f64 if one has 64 bits."""
    _check_divisor(b)
    x, y = promote(a, b)
    elem = elem_of(x.type)
    if not elem.is_float:
        dtypes = [elem_of(as_value(v).type) for v in (a, b) if not isinstance(v, int)]  # i32 and u32 meet in an i64
        target = f64 if any(t.bits == 64 for t in dtypes) else f32
        x, y = converted(x, with_elem(x.type, target)), converted(y, with_elem(y.type, target))
    if builder_here("/").approximate and elem_of(x.type) == f32:
        return emit(ops.math.DivApprox(x, y, full=False, ftz=True))
    return emit(arith.Div(x, y))


def power(a: Any, b: Any) -> Any:
    """Return ``a ** b``. A compile-time integer exponent is multiplied out; any other needs floats."""
    if isinstance(b, int) and not isinstance(b, bool):
        return _integer_power(wrap(_numeric(a)) if isinstance(a, RuntimeNumber) else a, b)
    x, y = promote(a, b)
    if not elem_of(x.type).is_float:
        raise mistake(
            "integer-power", "an integer to a run-time power", help="convert to float, or use a literal exponent"
        )
    from cutelite.lang.math import pow  # late: it needs this module, and few kernels have a power

    return pow(wrap(x), wrap(y))


def _integer_power(a: Any, exponent: int) -> Any:
    """Return ``a ** exponent``, by repeated squaring."""
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


# Operators as methods.


def _binary(op: Callable[[Value, Value], Op], swap: bool = False, mode: str = "arith") -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_number(other) or (isinstance(self, Scalar) and not swap and getattr(type(other), "lazy", False)):
            return NotImplemented  # `Lazy` has its own operators, which Python asks first where both are vectors
        a, b = promote(other, self, mode) if swap else promote(self, other, mode)
        if mode == "bits" and elem_of(a.type).is_float:
            raise _no_bits("`& | ^` take integers and bools", self if self.dtype.is_float else other)
        return emit(op(a, b))

    return operator


def _no_bits(rule: str, x: Any) -> CompileError:
    help = "the bits of a float as an integer: `cl.bitcast(x, cl.u32)`; of conditions, write `and` and `or`"
    return mistake("bits", f"{rule}, not {describe(x)}", help=help)


def _compare(predicate: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        return emit(arith.Cmp(predicate, *promote(self, other, "compare")))

    return operator


def _counted(x: Any) -> Any:
    """Return a bool as 0 or 1, an i32 at run time; any other number as it is."""
    if isinstance(x, bool):
        return int(x)
    return to_dtype(x, i32) if isinstance(x, RuntimeNumber) and x.dtype == boolean else x


def _shift(op: Callable[[Value, Value], Op], swap: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        left, right = (literal(x) for x in ((other, self) if swap else (self, other)))
        if not is_number(left) or not is_number(right):
            return NotImplemented
        left, right = _counted(left), _counted(right)
        value, whole = as_value(left), isinstance(right, int)
        if isinstance(right, (Runtime, DimExpr)):
            right = wrap(as_value(right))
            value, whole = as_value(left, right.dtype) if isinstance(left, int) else value, right.dtype.is_int
        elem = elem_of(value.type)
        if not elem.is_int or not whole:
            shown = f"{describe(left)} by {describe(right)}"
            raise mistake("shift", f"only integers can be shifted, and by integers, not {shown}")
        if isinstance(right, int):
            if right < 0:
                raise mistake("shift", f"a shift by {right} bits: the number must not be negative")
            return emit(op(value, as_value(min(right, elem.bits), value.type)))
        # A wider amount may not fit the type of the number: both are then as wide, and the result is narrowed.
        wide = elem if right.dtype.bits <= elem.bits else SCALARS[f"{elem.name[0]}{right.dtype.bits}"]
        return to_dtype(emit(op(*as_operands(value, right.value, wide))), elem)

    return operator


def _composed(function: Callable[[Any, Any], Any], swap: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        return function(other, self) if swap else function(self, other)

    return operator


class RuntimeNumber(Torchlike, Runtime):
    """A scalar or vector, with Python's operators."""

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
    __truediv__, __rtruediv__ = _composed(divide), _composed(divide, swap=True)
    __floordiv__, __rfloordiv__ = _composed(floordiv), _composed(floordiv, swap=True)
    __mod__, __rmod__ = _composed(modulo), _composed(modulo, swap=True)
    __pow__, __rpow__ = _composed(power), _composed(power, swap=True)
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
        if self.dtype.is_float:
            raise _no_bits("`~` takes integers", self)
        return emit(arith.Not(self.value))

    def __abs__(self) -> Any:
        return emit(arith.Abs(_numeric(self)))

    def as_coordinate(self) -> Any:
        """Return this number as layouts multiply it: integers of 8 and 16 bits as i32."""
        return to_dtype(self, i32) if self.dtype.is_int and self.dtype.bits < 32 else self

    @or_device
    def to(self, dtype: Any) -> Any:
        """Convert to `dtype`: floats round to nearest even; float to int truncates, as int() does."""
        return to_dtype(self, dtype)


@proxy_of(DType)
class Scalar(RuntimeNumber):
    """A number known only at run time, one per thread."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    def __getattr__(self, name: str) -> Any:
        """Return what numbers of Python have as well, else a method of torch's numbers."""
        if not name.startswith("__"):
            from cutelite.lang import python_names  # late: it needs this module, and few kernels ask

            if name in python_names.NAMES:
                return python_names.attribute(self, name)
        return super().__getattr__(name)

    def __index__(self) -> int:
        raise mistake(
            "runtime-index",
            "a compile-time integer is needed here",
            f"this is a run-time {self.type}",
            "make it a Constexpr, a literal, or a `cl.static_range` variable; for a layout, `cl.dim(x)`",
        )


@proxy_of(Vec)
class Vector(RuntimeNumber):
    """`n` numbers of one thread, an immutable value. Operators work element by element; scalars broadcast."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    @property
    def n(self) -> int:
        """The number of elements."""
        return fragments.count(self.value)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents of the tensor that it was loaded from, or those given, as by `reshape`."""
        return fragments.shape_of(self.value)

    def reshape(self, shape: Any) -> Vector:
        """Return the same elements, in the same order, under another shape. Errors: `vector-shape`."""
        return Vector(fragments.reshape(self.value, shape))

    def broadcast_to(self, shape: Any) -> Vector:
        """Repeat modes of extent 1 to the extents of `shape`; new modes come at the end. Errors: `broadcast`."""
        return Vector(fragments.broadcast_to(self.value, shape))

    def reduce(self, operation: Reduction, modes: Any = None, init: Any = None) -> Any:
        """Combine the elements over `modes`, or all of them.

        operation  'sum' or 'add', 'prod' or 'mul', 'max', 'min'; of bools 'all', 'any'
        modes      an index or a tuple of them; None for all, which gives a scalar
        init       combined with the result at the end
        Order      a balanced tree: halves are combined element by element, so each step is one op
        """
        result = fragments.reduce(self.value, operation, modes)
        shape = result.shape
        if init is not None:
            result = append(fragments.COMBINE[operation](result, as_value(init, result.type)))
            result.shape = shape
        return wrap(result)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return wrap(fragments.part(self.value, key))
        if isinstance(key, slice):
            return emit(arith.VecGather(self.value, tuple(range(self.n))[key]))
        return emit(arith.VecGather(self.value, (static_index(key, self.n),), scalar=True))

    def __iter__(self) -> Iterator[Scalar]:
        return (self[i] for i in range(self.n))

    def put(self, place: int, item: Any) -> Vector:
        """Return this vector with `item` at `place`, a compile-time integer."""
        value = as_value(item, self.dtype)
        return emit(arith.VecPut(self.value, value, (static_index(place, self.n),)))  # type: ignore[no-any-return]


def static_index(key: Any, extent: int) -> int:
    """Return `key` as an index into a vector of `extent` elements. Errors: `runtime-index`, `out-of-bounds`."""
    if not isinstance(key, int):
        raise mistake(
            "runtime-index",
            "a vector is indexed with compile-time integers only",
            f"this index is {key!r}",
            "registers have no addresses: unroll with `cl.static_range`, or keep the data in shared memory",
        )
    place = key + extent if key < 0 else key
    if not 0 <= place < extent:
        raise mistake("out-of-bounds", f"index {key} is out of bounds for a vector of {extent} elements")
    return place


def _numeric(x: RuntimeNumber) -> Value:
    """Return the value of `x`, where a bool counts as an i32."""
    return converted(x.value, with_elem(x.value.type, i32)) if x.dtype == boolean else x.value


# Functions of numbers and conditions.


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; of a number and NaN, the number. Vectors: element by element."""
    if (dual := differentiable(a, b)) is not None:
        return dual.extreme(minimum, a, b)
    return emit(arith.Min(*promote(a, b)))


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; of a number and NaN, the number. Vectors: element by element."""
    if (dual := differentiable(a, b)) is not None:
        return dual.extreme(maximum, a, b)
    return emit(arith.Max(*promote(a, b)))


def logical_not(a: Scalar) -> Scalar:
    return emit(arith.Not(truth(a).value))  # type: ignore[no-any-return]


def logical_and(a: Any, b: Any) -> Any:
    """Return whether both `a` and `b` hold, which are bools or run-time bools."""
    if a is False or b is False:
        return False
    return b if a is True else a if b is True else emit(arith.And(truth(a).value, truth(b).value))


def logical_or(a: Any, b: Any) -> Any:
    """Return whether `a` or `b` holds, which are bools or run-time bools."""
    if a is True or b is True:
        return True
    return b if a is False else a if b is False else emit(arith.Or(truth(a).value, truth(b).value))


_COMBINED = "combine vectors by `&`, `|` and `~`, choose by `cl.where`, and write `(0 <= x) & (x < 5)` for `0 <= x < 5`"


def truth(x: Any) -> Scalar:
    """Return `x` as Python's bool() would see it: a run-time bool."""
    if isinstance(x, DimExpr):
        x = wrap(as_value(x))
    if not isinstance(x, Scalar):
        help = _COMBINED if isinstance(x, Vector) else "compare it with something"
        raise mistake("truth", f"{describe(x)} is neither true nor false", help=help)
    return x if x.dtype == boolean else x != 0


def where(cond: Any, a: Any, b: Any) -> Any:
    """Return `a` where `cond` holds, else `b`, without a branch; both are evaluated. Vectors: element by element."""
    if isinstance(cond, bool):
        return a if cond else b
    if (dual := differentiable(a, b)) is not None:
        return dual.choose(cond, a, b)
    x, y = promote(a, b, "select") if is_number(a) and is_number(b) else (as_value(a), as_value(b))
    if x.type != y.type and (least := meet((x.type, y.type))) is not None:
        x, y = as_value(x, least), as_value(y, least)
    condition = (cond if isinstance(cond, Vector) else truth(cond)).value
    if isinstance(condition.type, Vec):
        if not isinstance(x.type, Vec):
            x, y = (as_value(v, Vec(elem_of(v.type), condition.type.n)) for v in (x, y))
        elif (shape := x.shape or y.shape) is not None and condition.shape not in (None, shape):
            x, y = (fragments.reshape(v, shape) for v in (x, y))
            condition, x = fragments.together(condition, x)
            _, y = fragments.together(condition, y)
    return emit(arith.Select(condition, x, y))


def choose(key: Scalar, items: Sequence[Any]) -> Any:
    """Return the number that `key` numbers, the first if none does; all are evaluated."""
    if not all(isinstance(x, (Scalar, DimExpr, int, float)) for x in items):
        return reduce(lambda a, i: where(key == i, items[i], a), range(1, len(items)), items[0])
    dtype = meeting_type(items)
    return emit(arith.Choose(key.value, tuple(_element(x, dtype) for x in items)))


# Vectors made of numbers.


def vector(*items: Any, dtype: DType | None = None) -> Vector:
    """Return a vector of numbers and of the elements of vectors, in order: joins vectors, and makes one of scalars.

    items   run-time numbers, vectors, literals, dims
    dtype   the element type; default: the promoted type of all items
    Errors  `vector` for no items, or items that are no numbers; `literal` where one does not fit the type
    """
    if not items or not all(map(is_number, items)):
        shown = ", ".join(map(describe, items)) or "nothing"
        raise mistake("vector", f"a vector is made of numbers and vectors, not of {shown}")
    if dtype is None:
        dtype = meeting_type(items)
    return emit(arith.VecMake(tuple(_element(item, dtype) for item in items)))  # type: ignore[no-any-return]


def _element(item: Any, dtype: DType) -> Value:
    return as_value(item, dtype) if isinstance(item, (int, float)) else as_value(to_dtype(item, dtype))


def full(shape: Any, x: Any, dtype: DType) -> Vector:
    """Return a vector of this shape and of `dtype` whose elements are all `x`."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    made = Vector(as_value(x, Vec(dtype, fragments.extent(shape))))
    made.value.shape = shape
    return made


def full_like(v: Any, x: Any, dtype: DType | None = None) -> Vector:
    """Return a vector of the shape of `v`, a vector or a tensor, of its `dtype` by default; all elements are `x`."""
    return full(v.shape, x, dtype or v.dtype)


def ones(shape: Any, dtype: DType) -> Vector:
    """Return a vector of ones of this shape and of `dtype`."""
    return full(shape, True if dtype == boolean else 1, dtype)


def ones_like(v: Any, dtype: DType | None = None) -> Vector:
    """Return a vector of ones, of the shape of `v` and by default of its `dtype`."""
    return ones(v.shape, dtype or v.dtype)


def zeros(shape: Any, dtype: DType) -> Vector:
    """Return a vector of zeros, of `shape` and `dtype`. Zeros that are overwritten before they are read are free."""
    return full(shape, False if dtype == boolean else 0, dtype)


def zeros_like(v: Any, dtype: DType | None = None) -> Vector:
    """Return a vector of zeros, of the shape of `v` and by default of its `dtype`."""
    return zeros(v.shape, dtype or v.dtype)


def check_lengths(name: str, **vectors: Any) -> None:
    """Check that those of `vectors` that are not None are vectors of one length. Errors: `vector`."""
    lengths = {}
    for what, v in vectors.items():
        if isinstance(v, Vector):
            lengths[what] = v.n
        elif v is not None:
            raise mistake("vector", f"`{what}` of {name} is a vector, not {describe(v)}", help="`cl.vector` makes one")
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"`{what}` has {n} elements" for what, n in lengths.items())
        raise mistake("vector", f"the vectors of {name} have one length, but {said}")
