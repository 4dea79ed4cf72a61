"""The parts of random kernels: the words of the vocabulary, and the operators of the language on types that meet.

`TABLE` holds one row for each operation and choice of types; `COLLECTIVE` those that all threads of a warp execute.
"""

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from tests.vocabulary import ROWS
from tests.vocabulary.numbers import (
    FLOATS,
    HELD,
    INTS,
    SIGNED,
    TYPES,
    UNSIGNED,
    Array,
    bits,
    each,
    from_float,
    greatest,
    least,
    limits,
    samples,
    to_int,
    wrapped,
)
from tests.vocabulary.row import Meaning, Operation
from tests.vocabulary.warp import REDUCTIONS, spread

WARP = 32
GREATEST = 2**31 - 1

# Types that meet, as docs/language.md has it.


def meet(a: str, b: str, *, of_bits: bool = False) -> str | None:
    """The type of `a + b` (or of `a & b`); None where the language refuses them."""
    if a == b:
        return ("bool" if of_bits else "i32") if a == "bool" else a
    if "bool" in (a, b):
        return a if b == "bool" else b
    if a in FLOATS or b in FLOATS:
        if a in FLOATS and b in FLOATS:
            return max(a, b, key=bits) if bits(a) != bits(b) else "f32"
        return a if a in FLOATS else b
    if a[0] == b[0]:
        return max(a, b, key=bits)
    signed, other = (a, b) if a[0] == "i" else (b, a)
    if of_bits and bits(signed) <= bits(other):
        return other
    if bits(signed) > bits(other):
        return signed
    return None if other == "u64" else f"i{2 * bits(other)}"


def convert(x: Array, source: str, to: str) -> Array:
    """``x.to(to)``."""
    if to == source:
        return x
    if to == "bool":
        return x != 0
    if source == "bool":
        return x.astype(HELD[to])
    if to in INTS:
        return wrapped(x, to) if source in INTS else to_int(x, to)
    return from_float(x, to)


def in_float(t: str, meaning: Meaning) -> Meaning:
    """`meaning` of floats that NumPy computes in f32 or wider, rounded to `t`: once, as 2 p + 2 <= 24 for f16, bf16."""
    if t in ("f32", "f64"):
        return meaning
    return lambda *xs: from_float(meaning(*(x.astype(np.float32) for x in xs)), t)


# The operations of a thread.


def table() -> list[Operation]:
    rows = [operation for row in ROWS if row.op.scope == "thread" for operation in row.operations]
    elementwise = [each for row in ROWS if row.op.elementwise and row.op.scope == "thread" for each in row.operations]
    rows += [*arithmetic(), *comparisons(), *integers(), *floats(), *quotients(), *conversions()]
    rows += [*of_vectors(elementwise), *chosen(), *in_words()]
    for t in TYPES:
        rows.append(Operation("({1} if {0} else {2})", ("bool", t, t), t, np.where))
    for word, meaning in (("and", np.logical_and), ("or", np.logical_or)):
        rows.append(Operation(f"({{0}} {word} {{1}})", ("bool", "bool"), "bool", meaning))
    return rows


def met() -> Iterator[tuple[str, str, str]]:
    """Two types that differ, and the one that both become."""
    for a in TYPES:
        for b in TYPES:
            t = meet(a, b)
            if t is not None and (a != b or t != a):
                yield a, b, t


def arithmetic() -> Iterator[Operation]:
    for a, b, t in met():
        for sign, f in (("+", operator.add), ("-", operator.sub), ("*", operator.mul)):
            yield Operation(f"({{0}} {sign} {{1}})", (a, b), t, promoted(a, b, t, f))
        if t in FLOATS:
            yield Operation("({0} / {1})", (a, b), t, promoted(a, b, t, operator.truediv))
        if "bool" not in (a, b):
            smaller, larger = (least, greatest) if t in FLOATS else (np.minimum, np.maximum)
            yield Operation("min({0}, {1})", (a, b), t, promoted(a, b, t, smaller))
            yield Operation("max({0}, {1})", (a, b), t, promoted(a, b, t, larger))


def promoted(a: str, b: str, t: str, function: Meaning) -> Meaning:
    inner = in_float(t, function) if t in FLOATS else function
    return lambda x, y: inner(convert(x, a, t), convert(y, b, t)).astype(HELD[t])


def comparisons() -> Iterator[Operation]:
    names = {"<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal, ">": np.greater}
    for a, b, t in met():
        if "bool" not in (a, b):
            for sign, f in names.items():
                yield Operation(f"({{0}} {sign} {{1}})", (a, b), "bool", compared(a, b, t, f))


def compared(a: str, b: str, t: str, function: Meaning) -> Meaning:
    return lambda x, y: function(convert(x, a, t), convert(y, b, t))


def integers() -> Iterator[Operation]:
    for t in INTS:
        low, high = limits(t)
        for literal in (3, -2, high):
            if literal >= low:
                yield Operation(f"({{0}} * ({literal}))", (t,), t, lambda x, n=literal: x * x.dtype.type(n))
        for literal in (1, 3, 8, -5, -4):
            if literal >= low:
                yield Operation(f"({{0}} // ({literal}))", (t,), t, lambda x, n=literal, t=t: each(_floordiv(n), t, x))
                yield Operation(f"({{0}} % ({literal}))", (t,), t, lambda x, n=literal, t=t: each(_mod(n), t, x))
        if t not in SIGNED:  # of a signed one it could be -1
            yield Operation("({0} // ({1} | 127))", (t, t), t, quotient(t, operator.floordiv, -1, 127))
            yield Operation("({0} % ({1} | 127))", (t, t), t, quotient(t, operator.mod, -1, 127))
        if t in SIGNED:
            yield Operation("({0} // -({1} & 4 | 3))", (t, t), t, quotient(t, operator.floordiv, 4, 3, -1))
            yield Operation("({0} % -({1} & 4 | 3))", (t, t), t, quotient(t, operator.mod, 4, 3, -1))
        for amount in ("i32", "u8", "u64"):
            yield Operation("({0} << ({1} & 127))", (t, amount), t, lambda x, n, t=t: each(_shl, t, x, n & 127))
            yield Operation("({0} >> ({1} & 127))", (t, amount), t, lambda x, n, t=t: each(_shr, t, x, n & 127))
        yield Operation("({0} << 3)", (t,), t, lambda x: x << 3)
        yield Operation("({0} >> 3)", (t,), t, lambda x: x >> 3)
        yield Operation("cl.ffs({0})", (t,), "i32", lambda x, t=t: each(lambda v: (v & -v).bit_length(), "i32", x))
    for a in ("bool", *INTS):
        for b in ("bool", *INTS):
            common = meet(a, b, of_bits=True)
            if common is not None and a != b:
                for sign, f in (("&", operator.and_), ("|", operator.or_), ("^", operator.xor)):
                    yield Operation(f"({{0}} {sign} {{1}})", (a, b), common, bitwise(a, b, common, f))


def bitwise(a: str, b: str, t: str, function: Meaning) -> Meaning:
    return lambda x, y: function(convert(x, a, t), convert(y, b, t))


def quotient(t: str, function: Callable[[int, int], int], mask: int, bit: int, sign: int = 1) -> Meaning:
    return lambda x, y: each(lambda a, b: function(a, sign * (b & mask | bit)), t, x, y)


def _floordiv(n: int) -> Callable[[int], int]:
    return lambda x: x // n


def _mod(n: int) -> Callable[[int], int]:
    return lambda x: x % n


def _shl(x: int, n: int) -> int:
    return x << n


def _shr(x: int, n: int) -> int:
    return x >> n


def floats() -> Iterator[Operation]:
    for t in FLOATS:
        yield Operation("({0} * 0.5)", (t,), t, in_float(t, lambda x: x * x.dtype.type(0.5)))
        yield Operation("({0} + 1)", (t,), t, in_float(t, lambda x: x + x.dtype.type(1)))
        yield Operation("({0} ** 2)", (t,), t, in_float(t, lambda x: x * x))
        yield Operation("cl.math.fabs({0})", (t,), t, in_float(t, np.abs))


def quotients() -> Iterator[Operation]:
    """Floats, divided as CPython divides its own."""
    for t in FLOATS:
        for sign, f in (("//", operator.floordiv), ("%", operator.mod)):
            yield Operation(f"({{0}} {sign} {{1}})", (t, t), t, by_python(t, f))
    divided = lambda x, y: (x & GREATEST) // (y & GREATEST | 1)  # noqa: E731
    yield Operation(f"(({{0}} & {GREATEST}) // cl.FastDivmod({{1}} & {GREATEST} | 1))", ("i32", "i32"), "i32", divided)


def by_python(t: str, function: Callable[[float, float], float]) -> Meaning:
    def divide(x: float, y: float) -> float:
        if y:
            return function(x, y)
        return float("nan") if function is operator.mod else float(np.float64(x) / np.float64(y))

    return lambda x, y: from_float(each(divide, "f64", x, y), t)


def conversions() -> Iterator[Operation]:
    for a in TYPES:
        for b in TYPES:
            if a != b:
                yield Operation(f"cl.{name(b)}({{0}})", (a,), b, lambda x, a=a, b=b: convert(x, a, b))
                four = "cl.vector({0}, {1}, {2}, {3})"
                yield Operation(
                    f"{four}.to(cl.{name(b)})[2]", (a,) * 4, b, lambda w, x, y, z, a=a, b=b: convert(y, a, b)
                )


def of_vectors(rows: list[Operation]) -> Iterator[Operation]:
    """The same of vectors of two numbers, which may share an instruction."""
    for row in rows:
        if row.text.startswith(("(not", "packed")):  # of conditions, and what makes a vector itself
            continue
        pairs = (f"cl.vector({{{2 * i}}}, {{{2 * i + 1}}})" for i in range(len(row.takes)))
        text, takes = row.text.format(*pairs), tuple(t for t in row.takes for _ in range(2))
        for at in range(2):
            meaning = lambda *xs, f=row.meaning, at=at: f(*xs[at::2])  # noqa: E731
            yield Operation(f"{text}[{at}]", takes, row.gives, meaning)


def chosen() -> Iterator[Operation]:
    """One of several numbers, by an index known at run time: of a tuple, a register tensor, an array of constants."""
    third = "[({3} & 65535) % 3]"
    for t in TYPES:
        one_of = lambda a, b, c, i: np.choose((i & 65535) % 3, (a, b, c))  # noqa: E731
        yield Operation("({0}, {1}, {2})" + third, (t, t, t, "i32"), t, one_of)
        yield Operation(f"held({{0}}, {{1}}, {{2}}, cl.{name(t)}){third}", (t, t, t, "i32"), t, one_of)
        table = samples(t, 8, np.random.default_rng(0))
        numbers = ", ".join(repr(x) if t not in FLOATS else f'float("{x}")' for x in table.tolist())
        array = f"cl.constant([{numbers}], cl.{name(t)})"
        yield Operation(array + "[{0} & 7]", ("i32",), t, lambda i, table=table: table[i & 7])


def in_words() -> Iterator[Operation]:
    """Numbers of 4 bits, packed in words."""
    for kind, low in (("i4", -8), ("u4", 0)):
        for at in (0, 5):
            get = lambda x, low=low, at=at: ((x >> np.uint32(4 * at)).astype(np.int32) - low & 15) + low  # noqa: E731
            yield Operation(f"cl.unpack({{0}}, cl.{kind}, cl.i32)[{at}]", ("u32",), "i32", get)
        pair = ", ".join(["{0}", "{1}"] * 4)
        code = lambda x, low=low: (np.clip(x, low, low + 15) & 15).astype(np.uint32)  # noqa: E731
        put = lambda x, y, code=code: (code(x) | code(y) << 4) * np.uint32(0x01010101)  # noqa: E731
        yield Operation(f"cl.pack(cl.vector({pair}), cl.{kind})", ("i32", "i32"), "u32", put)


def name(t: str) -> str:
    return "boolean" if t == "bool" else t


# Those of a warp: arrays come as (warps, 32).


def collective() -> list[Operation]:
    rows = [operation for row in ROWS if row.op.scope == "warp" for operation in row.operations]
    for t in INTS:
        for how, ufunc in {**REDUCTIONS, "mul": np.multiply}.items():
            for width in (WARP, 8):
                meaning = lambda x, f=ufunc, w=width: spread(  # noqa: E731
                    f.reduce(x.reshape(len(x), -1, w), axis=2, dtype=x.dtype), w
                )
                more = "" if width == WARP else f", width={width}"
                rows.append(Operation(f'cl.warp_reduce({{0}}, "{how}"{more})', (t,), t, meaning))
    for t in FLOATS:
        for how, smaller in (("min", least), ("max", greatest)):
            rows.append(Operation(f'cl.warp_reduce({{0}}, "{how}")', (t,), t, lambda x, f=smaller: spread(_fold(f, x))))
    return rows


def _fold(function: Meaning, x: Array) -> Array:
    total = x[:, 0]
    for lane in range(1, WARP):
        total = function(total, x[:, lane])
    return total


TABLE = table()
COLLECTIVE = collective()


def by_result(rows: list[Operation]) -> dict[str, dict[str, list[Operation]]]:
    """Rows by the type they give, and then by their text: so that no operation is drawn for having many types."""
    found: dict[str, dict[str, list[Operation]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.gives][row.text].append(row)
    return found


BY_RESULT, COLLECTIVE_BY_RESULT = by_result(TABLE), by_result(COLLECTIVE)
__all__ = ["BY_RESULT", "COLLECTIVE", "COLLECTIVE_BY_RESULT", "TABLE", "UNSIGNED", "Operation", "name"]
