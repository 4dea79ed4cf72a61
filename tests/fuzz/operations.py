"""What random kernels are made of: each operation with its types, how it is written, and what it gives in NumPy.

`TABLE` holds one row for each operation and choice of types; `COLLECTIVE` those that all threads of a warp execute.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.numbers import (
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
    fused,
    greatest,
    least,
    limits,
    rounded,
    to_int,
    wrapped,
)

Meaning = Callable[..., Array]
WARP = 32


class Operation(NamedTuple):
    """`text` with {0}, {1}... for operands of the types `takes`; `meaning` takes their arrays."""

    text: str
    takes: tuple[str, ...]
    gives: str
    meaning: Meaning


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
    rows = [*arithmetic(), *comparisons(), *integers(), *words(), *floats(), *conversions()]
    for t in TYPES:
        rows.append(Operation("cl.where({0}, {1}, {2})", ("bool", t, t), t, np.where))
        rows.append(Operation("({1} if {0} else {2})", ("bool", t, t), t, np.where))
    rows.append(Operation("(not {0})", ("bool",), "bool", np.logical_not))
    for word, meaning in (("and", np.logical_and), ("or", np.logical_or)):
        rows.append(Operation(f"({{0}} {word} {{1}})", ("bool", "bool"), "bool", meaning))
    return rows


def arithmetic() -> Iterator[Operation]:
    for a in TYPES:
        for b in TYPES:
            t = meet(a, b)
            if t is None:
                continue
            for sign, f in (("+", operator.add), ("-", operator.sub), ("*", operator.mul)):
                yield Operation(f"({{0}} {sign} {{1}})", (a, b), t, promoted(a, b, t, f))
            if t in FLOATS:
                yield Operation("({0} / {1})", (a, b), t, promoted(a, b, t, operator.truediv))
            if t in FLOATS and "bool" not in (a, b):
                yield Operation("min({0}, {1})", (a, b), t, promoted(a, b, t, least))
                yield Operation("max({0}, {1})", (a, b), t, promoted(a, b, t, greatest))
            elif "bool" not in (a, b):
                yield Operation("min({0}, {1})", (a, b), t, promoted(a, b, t, np.minimum))
                yield Operation("max({0}, {1})", (a, b), t, promoted(a, b, t, np.maximum))


def promoted(a: str, b: str, t: str, function: Meaning) -> Meaning:
    inner = in_float(t, function) if t in FLOATS else function
    return lambda x, y: inner(convert(x, a, t), convert(y, b, t)).astype(HELD[t])


def comparisons() -> Iterator[Operation]:
    names = {"<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal, ">": np.greater}
    for a in TYPES:
        for b in TYPES:
            t = meet(a, b)
            if t is not None and "bool" not in (a, b):
                for sign, f in names.items():
                    yield Operation(f"({{0}} {sign} {{1}})", (a, b), "bool", compared(a, b, t, f))


def compared(a: str, b: str, t: str, function: Meaning) -> Meaning:
    return lambda x, y: function(convert(x, a, t), convert(y, b, t))


def integers() -> Iterator[Operation]:
    for t in INTS:
        low, high = limits(t)
        yield Operation("(-{0})", (t,), t, np.negative)
        yield Operation("(~{0})", (t,), t, np.invert)
        yield Operation("abs({0})", (t,), t, np.abs)
        for literal in (3, -2, high):
            if literal >= low:
                yield Operation(f"({{0}} * ({literal}))", (t,), t, lambda x, n=literal: x * x.dtype.type(n))
        for literal in (1, 3, 8, -5, -4):
            if literal >= low:
                yield Operation(f"({{0}} // ({literal}))", (t,), t, lambda x, n=literal, t=t: each(_floordiv(n), t, x))
                yield Operation(f"({{0}} % ({literal}))", (t,), t, lambda x, n=literal, t=t: each(_mod(n), t, x))
        for divisor, small in (("({1} & 7 | 1)", (7, 1)), ("({1} | 127)", (-1, 127))):
            if divisor.endswith("127)") and t[0] == "i":
                continue  # could be -1
            yield Operation(f"({{0}} // {divisor})", (t, t), t, quotient(t, operator.floordiv, *small))
            yield Operation(f"({{0}} % {divisor})", (t, t), t, quotient(t, operator.mod, *small))
        if t in SIGNED:
            yield Operation("({0} // -({1} & 4 | 3))", (t, t), t, quotient(t, operator.floordiv, 4, 3, -1))
            yield Operation("({0} % -({1} & 4 | 3))", (t, t), t, quotient(t, operator.mod, 4, 3, -1))
        for amount in ("i32", "u8", "u64"):
            yield Operation("({0} << ({1} & 127))", (t, amount), t, lambda x, n, t=t: each(_shl, t, x, n & 127))
            yield Operation("({0} >> ({1} & 127))", (t, amount), t, lambda x, n, t=t: each(_shr, t, x, n & 127))
        yield Operation("({0} << 3)", (t,), t, lambda x: x << 3)
        yield Operation("({0} >> 3)", (t,), t, lambda x: x >> 3)
        yield Operation("cl.popc({0})", (t,), "i32", lambda x, t=t: each(lambda v: _u(v, t).bit_count(), "i32", x))
        yield Operation("cl.clz({0})", (t,), "i32", lambda x, t=t: each(lambda v: _clz(v, t), "i32", x))
        yield Operation("cl.ctz({0})", (t,), "i32", lambda x, t=t: each(lambda v: _ctz(v, t), "i32", x))
        yield Operation("cl.ffs({0})", (t,), "i32", lambda x, t=t: each(lambda v: (v & -v).bit_length(), "i32", x))
        yield Operation("cl.brev({0})", (t,), t, lambda x, t=t: each(lambda v: _brev(v, t), t, x))
        yield Operation("cl.add_sat({0}, {1})", (t, t), t, saturating(t, operator.add))
        yield Operation("cl.sub_sat({0}, {1})", (t, t), t, saturating(t, operator.sub))
    for a in ("bool", *INTS):
        for b in ("bool", *INTS):
            common = meet(a, b, of_bits=True)
            if common is not None:
                for sign, f in (("&", operator.and_), ("|", operator.or_), ("^", operator.xor)):
                    yield Operation(f"({{0}} {sign} {{1}})", (a, b), common, bitwise(a, b, common, f))


def bitwise(a: str, b: str, t: str, function: Meaning) -> Meaning:
    return lambda x, y: function(convert(x, a, t), convert(y, b, t))


def quotient(t: str, function: Callable[[int, int], int], mask: int, bit: int, sign: int = 1) -> Meaning:
    return lambda x, y: each(lambda a, b: function(a, sign * (b & mask | bit)), t, x, y)


def saturating(t: str, function: Callable[[int, int], int]) -> Meaning:
    low, high = limits(t)
    return lambda x, y: each(lambda a, b: min(max(function(a, b), low), high), t, x, y)


def _floordiv(n: int) -> Callable[[int], int]:
    return lambda x: x // n


def _mod(n: int) -> Callable[[int], int]:
    return lambda x: x % n


def _shl(x: int, n: int) -> int:
    return x << n


def _shr(x: int, n: int) -> int:
    return x >> n


def _u(x: int, t: str) -> int:
    return x & ((1 << bits(t)) - 1)


def _clz(x: int, t: str) -> int:
    return bits(t) - _u(x, t).bit_length()


def _ctz(x: int, t: str) -> int:
    return (_u(x, t) & -_u(x, t)).bit_length() - 1 if x else bits(t)


def _brev(x: int, t: str) -> int:
    return int(format(_u(x, t), f"0{bits(t)}b")[::-1], 2)


def words() -> Iterator[Operation]:
    """Instructions on whole registers."""
    for t in ("i32", "u32", "i64", "u64"):
        n = bits(t)
        yield Operation(
            "cl.bfe({0}, {1} & 63, {2} & 63)",
            (t, "i32", "i32"),
            t,
            lambda x, s, k, t=t: each(_bfe(t), t, x, s & 63, k & 63),
        )
        yield Operation(
            "cl.bfi({0}, {1}, {2} & 63, {3} & 63)",
            (t, t, "i32", "i32"),
            t,
            lambda x, y, s, k, t=t: each(_bfi(t), t, x, y, s & 63, k & 63),
        )
        yield Operation("cl.mul_hi({0}, {1})", (t, t), t, lambda x, y, t=t, n=n: each(lambda a, b: a * b >> n, t, x, y))
        yield Operation(
            "cl.sad({0}, {1}, {2})", (t, t, t), t, lambda x, y, z, t=t: each(lambda a, b, c: c + abs(a - b), t, x, y, z)
        )
    for t, wide in (("i16", "i32"), ("u16", "u32"), ("i32", "i64"), ("u32", "u64")):
        yield Operation("cl.mul_wide({0}, {1})", (t, t), wide, lambda x, y, w=wide: each(operator.mul, w, x, y))
    for t in ("i32", "u32"):
        signed = t == "i32"
        yield Operation(
            "cl.mul24({0}, {1})",
            (t, t),
            t,
            lambda x, y, t=t, s=signed: each(lambda a, b: _low24(a, s) * _low24(b, s), t, x, y),
        )
        yield Operation(
            "cl.mad24({0}, {1}, {2})",
            (t, t, t),
            t,
            lambda x, y, z, t=t, s=signed: each(lambda a, b, c: _low24(a, s) * _low24(b, s) + c, t, x, y, z),
        )
        for shape, parts in (("dp4a", ((0, 0), (1, 1), (2, 2), (3, 3))), ("dp2a", ((0, 0), (1, 1)))):
            yield Operation(f"cl.{shape}({{0}}, {{1}}, {{2}})", (t, t, t), t, dot(t, shape, parts))
        yield Operation("cl.dp2a({0}, {1}, {2}, high=True)", (t, t, t), t, dot(t, "dp2a", ((0, 2), (1, 3))))
    yield Operation("cl.prmt({0}, {1}, {2})", ("u32",) * 3, "u32", lambda a, b, s: each(_prmt, "u32", a, b, s))
    for code in (0xE8, 0x96, 0x1D):
        yield Operation(
            f"cl.lop3({{0}}, {{1}}, {{2}}, {code})", ("u32",) * 3, "u32", lambda a, b, c, k=code: _lop3(a, b, c, k)
        )
    for clamp in (False, True):
        for side, function in (("left", _funnel_left), ("right", _funnel_right)):
            yield Operation(
                f"cl.funnel_{side}({{0}}, {{1}}, {{2}} & 63, clamp={clamp})",
                ("u32", "u32", "i32"),
                "u32",
                lambda a, b, n, f=function, c=clamp: each(f(c), "u32", a, b, n & 63),
            )


def _bfe(t: str) -> Callable[[int, int, int], int]:
    n = bits(t)

    def one(x: int, start: int, length: int) -> int:
        """PTX ISA, bfe: bits beyond the top are copies of the sign, which is 0 for unsigned ones."""
        if length == 0:
            return 0
        sign = _u(x, t) >> min(start + length - 1, n - 1) & 1 if t[0] == "i" else 0
        found = 0
        for i in range(n):
            bit = _u(x, t) >> (start + i) & 1 if i < length and start + i < n else sign
            found |= bit << i
        return found

    return one


def _bfi(t: str) -> Callable[[int, int, int, int], int]:
    def one(x: int, into: int, start: int, length: int) -> int:
        mask = ((1 << length) - 1) << start
        return (into & ~mask) | (x << start & mask)

    return one


def _low24(x: int, signed: bool) -> int:
    low = x & 0xFFFFFF
    return low - (1 << 24) if signed and low >> 23 else low


def dot(t: str, shape: str, parts: tuple[tuple[int, int], ...]) -> Meaning:
    wide = 8 if shape == "dp4a" else 16

    def piece(x: int, i: int, n: int) -> int:
        low = x >> i * n & ((1 << n) - 1)
        return low - (1 << n) if t == "i32" and low >> n - 1 else low

    return lambda a, b, c: each(
        lambda x, y, z: z + sum(piece(x, i, wide) * piece(y, j, 8) for i, j in parts), t, a, b, c
    )


def _prmt(a: int, b: int, selector: int) -> int:
    both = b << 32 | a
    found = 0
    for i in range(4):
        digit = selector >> 4 * i & 15
        byte = both >> 8 * (digit & 7) & 255
        found |= (byte if digit < 8 else 255 * (byte >> 7)) << 8 * i
    return found


def _lop3(a: Array, b: Array, c: Array, code: int) -> Array:
    found = np.zeros_like(a)
    for i in range(8):
        if code >> i & 1:
            found |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return found


def _funnel_left(clamp: bool) -> Callable[[int, int, int], int]:
    return lambda low, high, n: ((high << 32 | low) << (min(n, 32) if clamp else n % 32)) >> 32


def _funnel_right(clamp: bool) -> Callable[[int, int, int], int]:
    return lambda low, high, n: (high << 32 | low) >> (min(n, 32) if clamp else n % 32)


def floats() -> Iterator[Operation]:
    for t in FLOATS:
        yield Operation("(-{0})", (t,), t, np.negative)
        yield Operation("abs({0})", (t,), t, np.abs)
        yield Operation("({0} * 0.5)", (t,), t, in_float(t, lambda x: x * x.dtype.type(0.5)))
        yield Operation("({0} + 1)", (t,), t, in_float(t, lambda x: x + x.dtype.type(1)))
        yield Operation("({0} ** 2)", (t,), t, in_float(t, lambda x: x * x))
        yield Operation("cl.math.sqrt({0})", (t,), t, in_float(t, np.sqrt))
        yield Operation("cl.math.rcp({0})", (t,), t, in_float(t, lambda x: x.dtype.type(1) / x))
        for name in ("floor", "ceil", "trunc", "rint", "fabs"):
            yield Operation(f"cl.math.{name}({{0}})", (t,), t, in_float(t, getattr(np, name)))
        yield Operation(
            "cl.math.copysign({0}, cl.where({1} == {1}, {1}, {0}))",
            (t, t),
            t,
            lambda x, y: np.copysign(x, np.where(np.isnan(y), x, y)),
        )
        yield Operation(
            "cl.math.fma({0}, {1}, {2})",
            (t,) * 3,
            t,
            lambda a, b, c, t=t: each(lambda x, y, z: _float(fused(x, y, z, t), t), t, a, b, c),
        )
        for name in ("isnan", "isinf", "isfinite"):
            yield Operation(f"cl.math.{name}({{0}})", (t,), "bool", getattr(np, name))


def _float(x: float, t: str) -> float:
    return rounded(x, t)


def conversions() -> Iterator[Operation]:
    for a in TYPES:
        for b in TYPES:
            if a != b:
                yield Operation(f"cl.{name(b)}({{0}})", (a,), b, lambda x, a=a, b=b: convert(x, a, b))
    for a in INTS:
        for b in INTS:
            if a != b:
                low, high = limits(b)
                yield Operation(
                    f"cl.convert({{0}}, cl.{b}, saturate=True)",
                    (a,),
                    b,
                    lambda x, b=b, lo=low, hi=high: each(lambda v: min(max(v, lo), hi), b, x),
                )
    for a, b, modes in (
        ("f32", "f16", ("rz", "rm", "rp")),
        ("f64", "f32", ("rz", "rm", "rp")),
        ("f64", "f16", ("rz", "rm", "rp")),
        ("f32", "bf16", ("rz",)),
    ):
        for mode in modes:
            yield Operation(
                f'cl.convert({{0}}, cl.{b}, rounding="{mode}")', (a,), b, lambda x, b=b, m=mode: from_float(x, b, m)
            )
    for b in ("f16", "bf16"):
        yield Operation(
            f"cl.convert({{0}}, cl.{b}, saturate=True)", ("f32",), b, lambda x, b=b: from_float(x, b, saturate=True)
        )
    for a in ("f16", "f32", "f64"):
        for b in INTS:
            for mode in ("rn", "rm", "rp"):
                yield Operation(
                    f'cl.convert({{0}}, cl.{b}, rounding="{mode}")', (a,), b, lambda x, b=b, m=mode: to_int(x, b, m)
                )
    for a in INTS:
        for b in ("f32", "f64", "f16"):
            for mode in ("rz", "rm", "rp"):
                yield Operation(
                    f'cl.convert({{0}}, cl.{b}, rounding="{mode}")', (a,), b, lambda x, b=b, m=mode: from_float(x, b, m)
                )
    for mode in ("rna", "rn", "rz"):
        if mode == "rna":  # the others need a newer GPU
            yield Operation(
                f'cl.convert({{0}}, cl.tf32, rounding="{mode}").to(cl.f32)',
                ("f32",),
                "f32",
                lambda x, m=mode: from_float(x, "tf32", m),
            )
    for small in ("e4m3", "e5m2"):
        for a, back in (("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("f32", "bf16")):
            yield Operation(
                f"{{0}}.to(cl.{small}).to(cl.{back})",
                (a,),
                back,
                lambda x, s=small, b=back: from_float(from_float(x, s), b),
            )
    for to in ("f16", "bf16", "e4m3", "e5m2"):
        for i in (0, 1):
            yield Operation(
                f"packed({{0}}, {{1}}, cl.{to})[{i}].to(cl.f32)",
                ("f32", "f32"),
                "f32",
                lambda x, y, t=to, i=i: from_float((x, y)[i], t).astype(np.float32),
            )
    for a, b in (("i32", "u32"), ("u64", "i64"), ("u16", "i16"), ("u8", "i8")):
        yield Operation(f"cl.bitcast({{0}}, cl.{b})", (a,), b, lambda x, b=b: x.view(HELD[b]))
    for a, b in (("f32", "u32"), ("f64", "i64"), ("f16", "u16")):
        yield Operation(
            f"cl.bitcast(cl.where({{0}} == {{0}}, {{0}}, 0), cl.{b})",
            (a,),
            b,
            lambda x, b=b: np.where(np.isnan(x), 0, x).astype(x.dtype).view(HELD[b]),
        )
        yield Operation(f"cl.bitcast({{0}}, cl.{a})", (b,), a, lambda x, a=a: x.view(HELD[a]))


def name(t: str) -> str:
    return "boolean" if t == "bool" else t


# Those of a warp: arrays come as (warps, 32).


def collective() -> list[Operation]:
    rows: list[Operation] = []
    lanes = np.arange(WARP)
    for t in TYPES:
        for how, source in (
            ("shuffle({0}, 5)", np.full(WARP, 5)),
            ("shuffle({0}, 3, width=8)", lanes // 8 * 8 + 3),
            ("shuffle_up({0}, 3)", np.where(lanes < 3, lanes, lanes - 3)),
            ("shuffle_down({0}, 9)", np.where(lanes > 22, lanes, lanes + 9)),
            ("shuffle_down({0}, 2, width=4)", np.where(lanes % 4 > 1, lanes, lanes + 2)),
            ("shuffle_xor({0}, 21)", lanes ^ 21),
        ):
            rows.append(Operation(f"cl.{how}", (t,), t, lambda x, s=source: x[:, s]))
        if t != "bool":
            rows.append(
                Operation(
                    "cl.shuffle({0}, {1} & 31)",
                    (t, "i32"),
                    t,
                    lambda x, n: np.take_along_axis(x, (n & 31).astype(int), 1),
                )
            )
    for t in INTS:
        for how, ufunc in REDUCTIONS.items():
            rows.append(
                Operation(
                    f'cl.warp_reduce({{0}}, "{how}")',
                    (t,),
                    t,
                    lambda x, f=ufunc: spread(f.reduce(x, axis=1, dtype=x.dtype), WARP),
                )
            )
            rows.append(
                Operation(
                    f'cl.warp_reduce({{0}}, "{how}", width=8)',
                    (t,),
                    t,
                    lambda x, f=ufunc: spread(f.reduce(x.reshape(-1, 4, 8), axis=2, dtype=x.dtype), 8),
                )
            )
    for t in FLOATS:
        for how, smaller in (("min", least), ("max", greatest)):
            rows.append(
                Operation(f'cl.warp_reduce({{0}}, "{how}")', (t,), t, lambda x, f=smaller: spread(_fold(f, x), WARP))
            )
    for t in ("i32", "u32"):
        for how in ("add", "min", "max", "and", "or", "xor"):
            rows.append(
                Operation(
                    f'cl.redux({{0}}, "{how}")',
                    (t,),
                    t,
                    lambda x, f=REDUCTIONS[how]: spread(f.reduce(x, axis=1, dtype=x.dtype), WARP),
                )
            )
    for t in ("i32", "u64"):
        rows.append(Operation("cl.match_any({0})", (t,), "u32", lambda x: ballots(x[:, :, None] == x[:, None, :])))
        rows.append(Operation("cl.match_all({0})[1]", (t,), "bool", lambda x: spread((x == x[:, :1]).all(1), WARP)))
    rows.append(Operation("cl.ballot({0})", ("bool",), "u32", lambda x: ballots(np.repeat(x[:, None, :], WARP, 1))))
    rows.append(Operation("cl.vote_all({0})", ("bool",), "bool", lambda x: spread(x.all(1), WARP)))
    rows.append(Operation("cl.vote_any({0})", ("bool",), "bool", lambda x: spread(x.any(1), WARP)))
    rows.append(Operation("cl.vote_uniform({0})", ("bool",), "bool", lambda x: spread((x == x[:, :1]).all(1), WARP)))
    return rows


REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def spread(x: Array, width: int) -> Array:
    """What each segment of `width` lanes found, for each of its lanes."""
    return np.repeat(x.reshape(-1), width).reshape(-1, WARP)


def ballots(x: Array) -> Array:
    """Bools (warps, lanes, lanes) as a u32 for each lane."""
    return (x.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(-1).astype(np.uint32)


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
