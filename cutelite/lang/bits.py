"""Integer instructions for which Python has no operator. Literals become i32, or take the type of the other operand."""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import elem_of, i32, with_elem
from cutelite.lang.emit import emit, wrap
from cutelite.lang.promotion import as_integer, as_value, promote
from cutelite.lang.values import Vector, where
from cutelite.ops import bits as ops

Int = Any
"""An integer: a run-time scalar or vector, or a literal."""


def popc(x: Int) -> Int:
    """Return the number of bits of `x` that are 1. PTX: popc."""
    return emit(ops.Popc(as_value(x)))


def clz(x: Int) -> Int:
    """Return the number of zeros above the highest 1 of `x`; all bits if `x` is 0. PTX: clz."""
    return emit(ops.Clz(as_value(x)))


def ctz(x: Int) -> Int:
    """Return the number of zeros below the lowest 1 of `x`; all bits if `x` is 0. PTX: brev, clz."""
    return emit(ops.Ctz(as_value(x)))


def ffs(x: Int) -> Int:
    """Return the place of the lowest 1 of `x`, counted from 1; 0 if there is none."""
    value = as_value(x)
    return where(wrap(value) == 0, as_value(0, with_elem(value.type, i32)), ctz(x) + 1)


def brev(x: Int) -> Int:
    """Return the bits of `x` in the opposite order. PTX: brev."""
    return emit(ops.Brev(as_value(x)))


def bfe(x: Int, start: Int, length: Int) -> Int:
    """Return `length` bits of `x`, of 32 or 64, from bit `start` on; sign-extended if `x` is signed. PTX: bfe."""
    value = as_value(x)
    return emit(ops.Bfe(value, _amount(start, value), _amount(length, value)))


def bfi(x: Int, into: Int, start: Int, length: Int) -> Int:
    """Return `into` with `length` bits from `start` on replaced by the low bits of `x`. PTX: bfi."""
    a, b = promote(x, into, "bits")
    return emit(ops.Bfi(a, b, _amount(start, b), _amount(length, b)))


def bmsk(start: Int, length: Int, *, wrap: bool = False) -> Int:
    """Return a 32-bit mask of `length` bits from bit `start` on. PTX: bmsk.

    A `start` of 32 or more gives 0 and a `length` of 32 or more reaches to the top; with `wrap` both count modulo 32.
    """
    first, count = promote(start, length, "bits")
    return emit(ops.Bmsk(first, count, "wrap" if wrap else "clamp"))


def szext(x: Int, length: Int, *, wrap: bool = False) -> Int:
    """Return the lowest `length` bits of `x`, of 32, sign-extended if `x` is signed. PTX: szext.

    A `length` of 0 gives 0, one of 32 or more all of `x`; with `wrap` it counts modulo 32.
    """
    value, count = promote(x, length, "bits")
    return emit(ops.Szext(value, count, "wrap" if wrap else "clamp"))


def prmt(a: Int, b: Int, selector: Int, mode: Literal["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"] = "") -> Int:
    """Return four of the eight bytes of `b:a`, chosen by the hexadecimal digits of `selector`, lowest first. PTX: prmt.

    A digit above 7 repeats the sign of the byte of digit - 8. With a `mode`, `selector` chooses one of its patterns.
    """
    x, y = promote(a, b, "bits")
    return emit(ops.Prmt(x, y, as_value(selector, x.type), mode))


def lop3(a: Int, b: Int, c: Int, table: int) -> Int:
    """Return a function of three bits, bit by bit: `table` is its value at a = 0xF0, b = 0xCC, c = 0xAA. PTX: lop3."""
    x, y = promote(a, b, "bits")
    return emit(ops.Lop3(x, y, as_value(c, x.type), table))


def funnel_left(low: Int, high: Int, amount: Int, *, clamp: bool = False) -> Int:
    """Return the high half of ``high:low`` shifted left by `amount` modulo 32; `clamp`: by at most 32. PTX: shf.l."""
    return _funnel("l", low, high, amount, clamp)


def funnel_right(low: Int, high: Int, amount: Int, *, clamp: bool = False) -> Int:
    """Return the low half of ``high:low`` shifted right by `amount` modulo 32; `clamp`: by at most 32. PTX: shf.r."""
    return _funnel("r", low, high, amount, clamp)


def _funnel(direction: str, low: Int, high: Int, amount: Int, clamp: bool) -> Int:
    x, y = promote(low, high, "bits")
    return emit(ops.Shf(x, y, _amount(amount, x), direction, clamp))


def mul_hi(a: Int, b: Int) -> Int:
    """Return the high half of ``a * b``, of 32 or 64 bits. PTX: mul.hi."""
    return emit(ops.MulHi(*promote(a, b)))


def mul_wide(a: Int, b: Int) -> Int:
    """Return ``a * b`` of 16- or 32-bit integers in twice as many bits. PTX: mul.wide."""
    return emit(ops.MulWide(*promote(a, b)))


def mul24(a: Int, b: Int) -> Int:
    """Return the low 32 bits of the product of the low 24 bits of `a` and `b`. PTX: mul24.lo, no faster than `*`."""
    return emit(ops.Mul24(*promote(a, b)))


def mad24(a: Int, b: Int, c: Int) -> Int:
    """Return ``mul24(a, b) + c``. PTX: mad24.lo."""
    x, y = promote(a, b)
    return emit(ops.Mad24(x, y, as_value(c, x.type)))


def sad(a: Int, b: Int, c: Int) -> Int:
    """Return ``c + abs(a - b)``, of 32 or 64 bits. PTX: sad."""
    x, y = promote(a, b)
    return emit(ops.Sad(x, y, as_value(c, x.type)))


def dp4a(a: Int, b: Int, c: Int) -> Int:
    """Return `c` plus the dot product of the four bytes of `a` and those of `b`. PTX: dp4a.

    a, b    i32 (signed bytes) or u32 (unsigned bytes), independently
    c       i32 if one of them is, else u32
    """
    return emit(ops.Dp4a(*_dot(a, b, c)))


def dp2a(a: Int, b: Int, c: Int, *, high: bool = False) -> Int:
    """Return `c` plus the dot product of the two halves of `a` and the low, or `high`, two bytes of `b`. PTX: dp2a.

    Types as for `dp4a`.
    """
    return emit(ops.Dp2a(*_dot(a, b, c), high))


def _dot(a: Int, b: Int, c: Int) -> tuple[Value, Value, Value]:
    x, y = as_value(a), as_value(b)
    signed = elem_of(x.type) == i32
    return x, y, as_value(c, x.type if signed else y.type)


def add_sat(a: Int, b: Int) -> Int:
    """Return ``a + b``, stopping at the ends of the type's range. PTX: add.sat."""
    return emit(ops.AddSat(*promote(a, b)))


def sub_sat(a: Int, b: Int) -> Int:
    """Return ``a - b``, stopping at the ends of the type's range. PTX: sub.sat."""
    return emit(ops.SubSat(*promote(a, b)))


def _amount(n: Int, like: Value) -> Value:
    """Return a number of bits as an i32, one for each element of `like`."""
    return as_value(n if isinstance(n, Vector) else as_integer(n, i32), with_elem(like.type, i32))
