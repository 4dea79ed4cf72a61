"""Arithmetic, comparison and bit operations on scalars and, element by element, on vectors.

Integers wrap at their width. `//` and `%` round as Python's do. Each op rounds once unless `contract` allows
a multiply and an add to fuse (the kernel option `fmad`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from cutelite.ir.contract import Llvm, Problem, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import LOCAL_BYTES, Ptr, Scalar, Type, Vec, bf16, boolean, elem_of, with_elem
from cutelite.ops.address import among
from cutelite.ops.convert import rounded

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes


@op("const", source="LLVM LangRef: constants")
class Const(Op):
    """The number `value`, of scalar type `type`."""

    value: int | float | bool
    type: Scalar
    gives = "type"

    def simulate(self, lanes: Lanes) -> None:
        count = len(lanes.mask)
        array = self._arrays.get(count)
        if array is None:
            value: Any = self.value
            if self.type == bf16:  # NumPy rounds a second time, after f32
                value = rounded(np.array([value], np.float64), bf16, "rn")[0]
            array = self._arrays[count] = np.full(count, value, numpy_dtype(self.type))
        lanes.define(array)

    @cached_property
    def _arrays(self) -> dict[int, Array]:
        """The result as an array, kept for each number of lanes: half the ops of an unrolled kernel are constants."""
        return {}


def pairs(t: Type) -> int:
    """Return the number of elements of one instruction: 2 for vectors of 16-bit floats (`add.f16x2`), else 1."""
    return 2 if isinstance(t, Vec) and t.elem.is_float and t.elem.bits == 16 else 1


def _untaken(name: str, elem: Scalar) -> Problem:
    """Return the problem of an operation on numbers of `elem`."""
    stored = elem.is_float and not elem.arithmetic
    help = f"{elem} is a format to store and multiply: compute with `x.to(cl.f32)`" if stored else ""
    return Problem("a", f"{name} does not take {elem}", help)


class Unary(Op):
    """An op with one operand and a result of the same type. `ufunc`: of NumPy, which computes it."""

    ufunc: ClassVar[str]

    a: Value
    gives = "a"

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, (Scalar, Vec)):
            yield Problem("a", f"{self.name} takes numbers, not {self.a.type}")
        elif not self.accepts(elem_of(self.a.type)):
            yield _untaken(self.name, elem_of(self.a.type))

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic

    def simulate(self, lanes: Lanes) -> None:
        a = lanes.get(self.a)
        lanes.define(np.asarray(self.compute(a)).astype(a.dtype, copy=False))

    def compute(self, a: Array) -> Array:
        return getattr(np, self.ufunc)(a)


class Binary(Op):
    """An op with two operands of one type and a result of that type. `opcodes`: LLVM's name by kind of element."""

    opcodes: ClassVar[dict[str, str]] = {}
    ufunc: ClassVar[str]

    a: Value
    b: Value
    gives = "a"

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, (Scalar, Vec)):
            yield Problem("a", f"{self.name} takes numbers, not {self.a.type}")
        elif self.a.type != self.b.type:
            yield Problem("b", f"{self.name} takes two of one type, not {self.a.type} and {self.b.type}")
        elif not self.accepts(elem_of(self.a.type)):
            yield _untaken(self.name, elem_of(self.a.type))

    def accepts(self, elem: Scalar) -> bool:
        return elem.kind in self.opcodes and (elem.arithmetic or elem.kind == "bool")

    def llvm(self) -> Llvm:
        return Llvm(f"$out = {self.opcodes[elem_of(self.a.type).kind]} $a:type $a, $b", group=pairs(self.a.type))

    def simulate(self, lanes: Lanes) -> None:
        a, b = lanes.get(self.a), lanes.get(self.b)
        lanes.define(np.asarray(self.compute(a, b)).astype(a.dtype, copy=False))

    def compute(self, a: Array, b: Array) -> Array:
        return getattr(np, self.ufunc)(a, b)


class Fusible(Binary):
    """An addition, subtraction or product, which the option `fmad` lets fuse into an fma unless `rounded` is set."""

    rounded: bool = False

    @property
    def fusible(self) -> bool:
        """Tell whether `rounded` makes a difference."""
        return elem_of(self.a.type).is_float

    def llvm(self) -> Llvm:
        form = super().llvm()
        return Llvm(form.body.replace("$contract ", "")) if self.rounded else form


@op("add", elementwise=True, source="LLVM LangRef: add, fadd")
class Add(Fusible):
    """``a + b``."""

    opcodes = {"int": "add", "uint": "add", "float": "fadd $contract"}
    ufunc = "add"


@op("sub", elementwise=True, source="LLVM LangRef: sub, fsub")
class Sub(Fusible):
    """``a - b``."""

    opcodes = {"int": "sub", "uint": "sub", "float": "fsub $contract"}
    ufunc = "subtract"


@op("mul", elementwise=True, source="LLVM LangRef: mul, fmul")
class Mul(Fusible):
    """``a * b``, the low half for integers."""

    opcodes = {"int": "mul", "uint": "mul", "float": "fmul $contract"}
    ufunc = "multiply"


@op("div", elementwise=True, source="LLVM LangRef: fdiv; PTX ISA: div.rn")
class Div(Binary):
    """``a / b`` of floats, correctly rounded. `math.fdividef` is the approximate form."""

    opcodes = {"float": "fdiv"}
    ufunc = "divide"


@op("floordiv", elementwise=True, source="Python: integer division")
class FloorDiv(Binary):
    """``a // b`` of integers, rounded towards minus infinity. `b` must not be 0.

    natural  promise that neither operand is negative: a single unsigned division
    """

    opcodes = {"int": "sdiv", "uint": "udiv"}

    natural: bool = False
    ufunc = "floor_divide"

    def llvm(self) -> Llvm:
        if self.natural or elem_of(self.a.type).kind == "uint":
            return Llvm("$out = udiv $a:type $a, $b")
        return Llvm(
            "$.q = sdiv $a:type $a, $b\n"
            "$.r = srem $a:type $a, $b\n"
            "$.inexact = icmp ne $a:type $.r, 0\n"
            "$.mixed = xor $a:type $.r, $b\n"
            "$.opposite = icmp slt $a:type $.mixed, 0\n"
            "$.below = and i1 $.inexact, $.opposite\n"
            "$.one = zext i1 $.below to $a:type\n"
            "$out = sub $a:type $.q, $.one"
        )


@op("mod", elementwise=True, source="Python: modulo")
class Mod(Binary):
    """``a % b`` of integers; the result has the sign of `b`, which must not be 0. `natural` as for `floordiv`."""

    opcodes = {"int": "srem", "uint": "urem"}

    natural: bool = False
    ufunc = "mod"

    def llvm(self) -> Llvm:
        if self.natural or elem_of(self.a.type).kind == "uint":
            return Llvm("$out = urem $a:type $a, $b")
        return Llvm(
            "$.r = srem $a:type $a, $b\n"
            "$.inexact = icmp ne $a:type $.r, 0\n"
            "$.mixed = xor $a:type $.r, $b\n"
            "$.opposite = icmp slt $a:type $.mixed, 0\n"
            "$.wrong = and i1 $.inexact, $.opposite\n"
            "$.fix = select i1 $.wrong, $a:type $b, $a:type 0\n"
            "$out = add $a:type $.r, $.fix"
        )


@op("neg", elementwise=True, source="LLVM LangRef: fneg")
class Neg(Unary):
    """``-a``."""

    ufunc = "negative"

    def llvm(self) -> Llvm:
        if elem_of(self.a.type).is_float:
            return Llvm("$out = fneg $a:type $a", group=pairs(self.a.type))
        return Llvm("$out = sub $a:type 0, $a")


@op("abs", elementwise=True, source="LLVM LangRef: llvm.abs, llvm.fabs")
class Abs(Unary):
    """``abs(a)``; the most negative integer is its own absolute value."""

    ufunc = "abs"

    def llvm(self) -> Llvm:
        elem = elem_of(self.a.type)
        if elem.kind == "uint":
            return Llvm("$out = or $a:type $a, 0")
        if elem.is_float:
            return Llvm("$out = call $a:type @llvm.fabs.$a:suffix($a:type $a)", group=pairs(self.a.type))
        return Llvm("$out = call $a:type @llvm.abs.$a:suffix($a:type $a, i1 false)")


@op("not", elementwise=True, source="LLVM LangRef: xor")
class Not(Unary):
    """``~a`` of an integer, ``not a`` of a bool."""

    as_llvm = Llvm("$out = xor $a:type $a, -1")
    ufunc = "invert"

    def accepts(self, elem: Scalar) -> bool:
        return elem.is_int or elem.kind == "bool"


class Bitwise(Binary):
    """An operation on each bit of integers and bools."""


@op("and", elementwise=True, source="LLVM LangRef: and")
class And(Bitwise):
    """``a & b``."""

    opcodes = {"int": "and", "uint": "and", "bool": "and"}
    ufunc = "bitwise_and"


@op("or", elementwise=True, source="LLVM LangRef: or")
class Or(Bitwise):
    """``a | b``."""

    opcodes = {"int": "or", "uint": "or", "bool": "or"}
    ufunc = "bitwise_or"


@op("xor", elementwise=True, source="LLVM LangRef: xor")
class Xor(Bitwise):
    """``a ^ b``."""

    opcodes = {"int": "xor", "uint": "xor", "bool": "xor"}
    ufunc = "bitwise_xor"


class Shift(Binary):
    """A shift by 0 to width - 1 bits; larger amounts are clamped to the width, as PTX clamps them."""

    def simulate(self, lanes: Lanes) -> None:
        a, b = lanes.get(self.a), lanes.get(self.b)
        width = elem_of(self.a.type).bits
        amount = b.astype(f"uint{width}")
        over = amount >= width
        lanes.define(self.shifted(a, np.where(over, width - 1, amount).astype(a.dtype), over))

    def shifted(self, a: Array, amount: Array, over: Array) -> Array:
        raise NotImplementedError


@op("shl", elementwise=True, source="PTX ISA: shl")
class Shl(Shift):
    """``a << b``; 0 where `b` is the width or more."""

    opcodes = {"int": "shl", "uint": "shl"}

    def llvm(self) -> Llvm:
        bits = elem_of(self.a.type).bits
        return Llvm(
            f"$.over = icmp uge $a:type $b, {bits}\n"
            f"$.amount = select i1 $.over, $a:type {bits - 1}, $a:type $b\n"
            "$.shifted = shl $a:type $a, $.amount\n"
            "$out = select i1 $.over, $a:type 0, $a:type $.shifted"
        )

    def shifted(self, a: Array, amount: Array, over: Array) -> Array:
        return np.where(over, 0, a << amount).astype(a.dtype)


@op("shr", elementwise=True, source="PTX ISA: shr")
class Shr(Shift):
    """``a >> b``: fills with the sign where `a` is signed, with 0 where it is not."""

    opcodes = {"int": "ashr", "uint": "lshr"}

    def llvm(self) -> Llvm:
        bits = elem_of(self.a.type).bits
        clamp = f"$.over = icmp uge $a:type $b, {bits}\n$.amount = select i1 $.over, $a:type {bits - 1}, $a:type $b\n"
        if elem_of(self.a.type).kind == "int":
            return Llvm(clamp + "$out = ashr $a:type $a, $.amount")
        return Llvm(
            clamp + "$.shifted = lshr $a:type $a, $.amount\n$out = select i1 $.over, $a:type 0, $a:type $.shifted"
        )

    def shifted(self, a: Array, amount: Array, over: Array) -> Array:
        fill = a >> amount if elem_of(self.a.type).kind == "int" else 0
        return np.where(over, fill, a >> amount).astype(a.dtype)


class MinMax(Binary):
    """The smaller or the larger of two numbers. If one is NaN, the result is the other one; -0 is below +0."""

    word: ClassVar[str]

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic

    def llvm(self) -> Llvm:
        kind = elem_of(self.a.type).kind
        name = {"int": f"s{self.word}", "uint": f"u{self.word}", "float": f"{self.word}num"}[kind]
        return Llvm(f"$out = call $a:type @llvm.{name}.$a:suffix($a:type $a, $a:type $b)", group=pairs(self.a.type))


@op("min", elementwise=True, source="PTX ISA: min")
class Min(MinMax):
    """The smaller of `a` and `b`."""

    word = "min"

    def compute(self, a: Array, b: Array) -> Array:
        smaller = np.fmin(a, b)
        return np.where(a == b, np.where(np.signbit(a), a, b), smaller) if elem_of(self.a.type).is_float else smaller


@op("max", elementwise=True, source="PTX ISA: max")
class Max(MinMax):
    """The larger of `a` and `b`."""

    word = "max"

    def compute(self, a: Array, b: Array) -> Array:
        larger = np.fmax(a, b)
        return np.where(a == b, np.where(np.signbit(a), b, a), larger) if elem_of(self.a.type).is_float else larger


@op("fma", elementwise=True, source="PTX ISA: fma.rn")
class Fma(Op):
    """``a * b + c`` of floats, rounded once."""

    a: Value
    b: Value
    c: Value
    gives = "a"

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, (Scalar, Vec)) or not self.accepts(elem_of(self.a.type)):
            yield Problem("a", f"fma takes floats, not {self.a.type}")
        elif not self.a.type == self.b.type == self.c.type:
            yield Problem("b", f"fma takes three of one type, not {self.a.type}, {self.b.type} and {self.c.type}")

    def accepts(self, elem: Scalar) -> bool:
        return elem.is_float and elem.arithmetic

    def llvm(self) -> Llvm:
        body = "$out = call $a:type @llvm.fma.$a:suffix($a:type $a, $a:type $b, $a:type $c)"
        return Llvm(body, group=pairs(self.a.type))

    def simulate(self, lanes: Lanes) -> None:
        a, b, c = lanes.get(self.a), lanes.get(self.b), lanes.get(self.c)
        lanes.define(fused_multiply_add(a, b, c))


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` rounded once: by a sum in a wider type, rounded to odd if it is inexact there.

    Boldo and Melquiond 2008: rounding to odd in a format with at least two more bits, and then to nearest,
    is rounding once.
    """
    if a.dtype == np.float64:
        return _fma64(*np.broadcast_arrays(a, b, c))
    if a.dtype == np.float32:
        total = np.add(np.multiply(a, b, dtype=np.float64), c)
        found: Array = total.astype(np.float32)
        if _rounds_alike(total, found):
            return found
    x, y, z = (v.astype(np.float64) for v in (a, b, c))
    wide = product_and_sum(x, y, z)
    return rounded(wide, bf16, "rn") if a.dtype == numpy_dtype(bf16) else wide.astype(a.dtype)


def _rounds_alike(total: Array, found: Array) -> bool:
    """Tell whether exact sums, of which `total` is the nearest f64, surely round to f32 as that does: to `found`.

    Not where it is half-way between two f32, in the 29 bits that an f64 has more, or where an f32 has fewer bits.
    """
    low = np.ascontiguousarray(total).view(np.uint64) & np.uint64((1 << 29) - 1)
    if np.count_nonzero(low == np.uint64(1 << 28)):
        return False
    small = np.abs(found) < np.float32(2.0**-126)
    return not np.count_nonzero(small) or not np.count_nonzero(small & (total != 0))


def product_and_sum(x: Array, y: Array, z: Array) -> Array:
    """Return ``x * y + z`` in f64, rounded to odd. The operands hold f32; rounding it to f32 is then rounding once."""
    return _to_odd(*_two_sum(x * y, z))  # the product is exact: twice 24 bits fit in 53


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Return a sum of f64 and its error, both exact (Knuth)."""
    total = x + y
    other = total - x
    return total, (x - (total - other)) + (y - other)


def _to_odd(total: Array, error: Array) -> Array:
    """Round `total` + `error` to odd: an inexact sum whose last bit is even goes one step towards the error."""
    bits = total.view(np.int64)
    even = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    towards = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(even, (bits + towards).view(np.float64), total)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` of f64 rounded once: by pairs of f64 if no part can leave the range, else by fractions."""
    product, (high, low) = a * b, (_halves(x) for x in (a, b))
    error = ((high[0] * low[0] - product) + high[0] * low[1] + high[1] * low[0]) + high[1] * low[1]  # Dekker
    small, rest = _two_sum(c, error)
    total, more = _two_sum(product, small)
    result = np.asarray(total + _to_odd(*_two_sum(more, rest)))
    size = [np.abs(x) for x in (a, b, c)]
    plain = (size[0] < 2.0**500) & (size[1] < 2.0**500) & (size[2] < 2.0**1000) & (np.abs(product) > 2.0**-900)
    plain &= (size[0] > 2.0**-500) & (size[1] > 2.0**-500) & ((size[2] > 2.0**-900) | (c == 0))
    for at in zip(*np.nonzero(~plain), strict=True):
        result[at] = _fma_of_fractions(float(a[at]), float(b[at]), float(c[at]))
    return result


def _halves(x: Array) -> tuple[Array, Array]:
    """Return two f64 of 26 bits each whose sum is `x` (Veltkamp)."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _fma_of_fractions(a: float, b: float, c: float) -> float:
    from fractions import Fraction  # slow to import, and seldom needed

    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return c if isfinite(a) and isfinite(b) else a * b + c  # a finite product may be too large for an f64
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
UFUNCS = dict(zip(PREDICATES, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), strict=True))


@op("cmp", elementwise=True, source="LLVM LangRef: icmp, fcmp")
class Cmp(Op):
    """Compare: `predicate` is eq, ne, lt, le, gt or ge. Any comparison with NaN is false, except ne."""

    predicate: str
    a: Value
    b: Value
    takes = {"predicate": among(PREDICATES)}

    def result_types(self) -> tuple[Type, ...]:
        return (with_elem(self.a.type, boolean),)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, (Scalar, Vec)):
            yield Problem("a", f"cmp takes numbers, not {self.a.type}")
        elif self.a.type != self.b.type:
            yield Problem("b", f"cmp takes two of one type, not {self.a.type} and {self.b.type}")
        elif not (elem_of(self.a.type).arithmetic or elem_of(self.a.type).kind == "bool"):
            yield _untaken("cmp", elem_of(self.a.type))

    def llvm(self) -> Llvm:
        elem, p = elem_of(self.a.type), self.predicate
        if elem.is_float:
            return Llvm(f"$out = fcmp {'une' if p == 'ne' else 'o' + p} $a:type $a, $b")
        word = p if p in ("eq", "ne") else ("s" if elem.kind == "int" else "u") + p
        return Llvm(f"$out = icmp {word} $a:type $a, $b")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.compare(lanes.get(self.a), lanes.get(self.b)))

    @cached_property
    def compare(self) -> Callable[[Array, Array], Array]:
        """NumPy's function for the predicate."""
        found: Callable[[Array, Array], Array] = getattr(np, UFUNCS[self.predicate])
        return found


@op("select", elementwise=True, source="LLVM LangRef: select")
class Select(Op):
    """`a` where `cond` holds, `b` elsewhere; a scalar `cond` chooses whole vectors."""

    cond: Value
    a: Value
    b: Value
    gives = "a"
    as_llvm = Llvm("$out = select i1 $cond, $a:type $a, $a:type $b")

    def verify(self) -> Iterator[Problem]:
        if self.cond.type != boolean and self.cond.type != with_elem(self.a.type, boolean):
            yield Problem("cond", f"the condition is {self.cond.type}, not bool")
        elif self.a.type != self.b.type:
            yield Problem("b", f"select takes two of one type, not {self.a.type} and {self.b.type}")

    def simulate(self, lanes: Lanes) -> None:
        cond, a, b = lanes.get(self.cond), lanes.get(self.a), lanes.get(self.b)
        lanes.define(np.where(cond.reshape(cond.shape + (1,) * (a.ndim - cond.ndim)), a, b))


@op("choose", source="none: an indexed load of a parameter, or selects")
class Choose(Op):
    """The item of `items` that the integer `key` numbers; the first for a key out of range.

    Items that are parameters in a row stay with it, as a table in parameter space (`ops.parameters`).
    """

    key: Value
    items: tuple[Value, ...]

    def result_types(self) -> tuple[Type, ...]:
        return (self.items[0].type,)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.key.type, Scalar) or not self.key.type.is_int:
            yield Problem("key", f"the key is {self.key.type}, not an integer")
        elif len(kinds := {item.type for item in self.items}) != 1 or not isinstance(self.items[0].type, (Scalar, Ptr)):
            yield Problem("items", f"choose takes numbers or addresses of one type, not {sorted(map(str, kinds))}")

    def simulate(self, lanes: Lanes) -> None:
        key, items = lanes.get(self.key), np.stack([lanes.get(item) for item in self.items])
        lanes.define(items[np.where((key >= 0) & (key < len(items)), key, 0), np.arange(len(key))])


@op("vec.make", source="LLVM LangRef: insertelement")
class VecMake(Op):
    """A vector of the scalars in `items` and the elements of the vectors in it, in order."""

    items: tuple[Value, ...]

    def result_types(self) -> tuple[Type, ...]:
        count = sum(item.type.n if isinstance(item.type, Vec) else 1 for item in self.items)
        return (Vec(elem_of(self.items[0].type), count),)

    def verify(self) -> Iterator[Problem]:
        if not all(isinstance(item.type, (Scalar, Vec)) for item in self.items):
            yield Problem("items", "a vector holds numbers only")
        elif len(kinds := {elem_of(item.type) for item in self.items}) != 1:
            yield Problem("items", f"a vector holds numbers of one type, not {sorted(map(str, kinds))}")

    def simulate(self, lanes: Lanes) -> None:
        columns = [lanes.get(item) for item in self.items]
        lanes.define(np.concatenate([a if a.ndim == 2 else a[:, None] for a in columns], axis=1))


@op("vec.splat", source="LLVM LangRef: insertelement")
class VecSplat(Op):
    """A vector whose `n` elements are all `a`."""

    a: Value
    n: int

    def verify(self) -> Iterator[Problem]:
        if self.n * elem_of(self.a.type).bytes > LOCAL_BYTES:
            yield Problem("n", f"a thread has {LOCAL_BYTES} bytes of local memory, too few for {self.n} elements")

    def result_types(self) -> tuple[Type, ...]:
        return (Vec(elem_of(self.a.type), self.n),)

    def simulate(self, lanes: Lanes) -> None:
        a = lanes.get(self.a)
        lanes.define(np.repeat(a[:, None], self.n, axis=1))


@op("vec.undefined", source="LLVM LangRef: poison values")
class VecUndefined(Op):
    """A vector of `n` elements that nobody has written; the simulator gives NaN, -1 and True."""

    elem: Scalar
    n: int

    def result_types(self) -> tuple[Type, ...]:
        return (Vec(self.elem, self.n),)

    def simulate(self, lanes: Lanes) -> None:
        dtype = numpy_dtype(self.elem)
        ones = np.ones((), bool) if dtype.kind == "b" else np.frombuffer(b"\xff" * dtype.itemsize, dtype)
        lanes.define(np.full((len(lanes.mask), self.n), ones, dtype))


@op("vec.gather", source="LLVM LangRef: shufflevector")
class VecGather(Op):
    """The vector of elements ``a[picks[0]], a[picks[1]], ...``; a single pick with `scalar` gives a scalar."""

    a: Value
    picks: tuple[int, ...]
    scalar: bool = False

    def result_types(self) -> tuple[Type, ...]:
        elem = elem_of(self.a.type)
        return (elem,) if self.scalar else (Vec(elem, len(self.picks)),)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, Vec):
            yield Problem("a", f"vec.gather takes a vector, not {self.a.type}")
        elif not all(0 <= pick < self.a.type.n for pick in self.picks) or (self.scalar and len(self.picks) != 1):
            yield Problem("picks", f"{self.picks} are not all elements of {self.a.type}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.a)[self.where])

    @cached_property
    def where(self) -> tuple[slice, int | slice | Array]:
        """The picks as a NumPy index into the vectors of all lanes; for neighbours a slice, which copies nothing."""
        if self.scalar:
            return slice(None), self.picks[0]
        run = slice(self.picks[0], self.picks[0] + len(self.picks)) if self.picks else slice(0)
        neighbours = self.picks == tuple(range(run.start or 0, run.stop))
        return slice(None), run if neighbours else np.array(self.picks)


@op("vec.put", source="LLVM LangRef: insertelement")
class VecPut(Op):
    """`a` with its elements ``places[0], places[1], ...`` replaced by `b` (a vector, or one scalar)."""

    a: Value
    b: Value
    places: tuple[int, ...]
    gives = "a"

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, Vec) or elem_of(self.a.type) != elem_of(self.b.type):
            yield Problem("b", f"cannot put {self.b.type} into {self.a.type}")
        elif (self.b.type.n if isinstance(self.b.type, Vec) else 1) != len(self.places):
            yield Problem("places", f"{len(self.places)} places for {self.b.type}")
        elif not all(0 <= place < self.a.type.n for place in self.places):
            yield Problem("places", f"{self.places} are not all elements of {self.a.type}")

    def simulate(self, lanes: Lanes) -> None:
        a, b = lanes.get(self.a).copy(), lanes.get(self.b)
        a[:, list(self.places)] = b if b.ndim == 2 else b[:, None]
        lanes.define(a)
