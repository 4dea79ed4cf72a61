"""Congruences: the remainder modulo some number that is known, before launch, of a run-time integer.

In: a value, by the ops that made it. Out: a `Known`, which a layout can be applied to like any other index. Alignments
of addresses follow from it: ``8 * i + 2`` is 2 more than a multiple of 8.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from cutelite.ir.function import Value
from cutelite.ir.types import Scalar
from cutelite.layout import DimExpr, known_divisor
from cutelite.layout.frozen import Frozen
from cutelite.ops.arith import Add, And, Const, FloorDiv, Mod, Mul, Shl, Shr, Sub
from cutelite.ops.convert import Convert
from cutelite.ops.index import Dim

DEPTH = 12
"""The depth of ops to look through: indices are made of few ops."""


class Known(Frozen):
    """An integer that is `rest` more than some multiple of `modulus`; just `rest` where `modulus` is 0."""

    __slots__ = ("rest", "modulus")  # noqa: RUF023 (as they are given)
    rest: int
    modulus: int

    def __str__(self) -> str:
        return f"{self.rest} mod {self.modulus}"

    @property
    def divisor(self) -> int:
        """The greatest number that is known to divide the integer; 0 if the integer is 0."""
        return gcd(self.rest, self.modulus)

    def excludes(self, n: int) -> bool:
        """Tell whether it is certainly no multiple of `n`."""
        return self.rest % gcd(self.modulus, n) != 0

    def __add__(self, other: Any) -> Known:
        b = known(other)
        return _reduced(self.rest + b.rest, gcd(self.modulus, b.modulus))

    def __sub__(self, other: Any) -> Known:
        return self + known(other) * -1

    def __mul__(self, other: Any) -> Known:
        a, b = self, known(other)
        return _reduced(a.rest * b.rest, gcd(a.modulus * b.modulus, a.rest * b.modulus, b.rest * a.modulus))

    def __floordiv__(self, other: Any) -> Known:
        if not isinstance(other, int) or other <= 0 or self.modulus % other:
            return ANY
        return _reduced(self.rest // other, self.modulus // other)

    def __mod__(self, other: Any) -> Known:
        if not isinstance(other, int) or other <= 0:
            return ANY
        if self.modulus % other == 0:
            return Known(self.rest % other, 0)
        return _reduced(self.rest, gcd(self.modulus, other))

    __radd__ = __add__
    __rmul__ = __mul__


ANY = Known(0, 1)


def _reduced(rest: int, modulus: int) -> Known:
    return Known(rest % modulus if modulus else rest, abs(modulus))


def known(x: Any) -> Known:
    """Return the congruence of an integer: a number, an expression over dims, or a value."""
    if isinstance(x, Known):
        return x
    if isinstance(x, DimExpr):
        return Known(0, known_divisor(x))
    return _of_value(x, DEPTH) if isinstance(x, Value) else Known(int(x), 0)


def _of_value(value: Value, depth: int) -> Known:
    op: Any = value.op
    if depth == 0 or op is None or not isinstance(value.type, Scalar) or not value.type.is_int:
        return ANY
    match op:
        case Const():
            return Known(int(op.value), 0)
        case Dim():
            return known(op.expr)
        case Convert():
            return _of_value(op.a, depth - 1)
        case Add() | Sub() | Mul():
            a, b = _of_value(op.a, depth - 1), _of_value(op.b, depth - 1)
            return a + b if isinstance(op, Add) else a - b if isinstance(op, Sub) else a * b
    if not isinstance(op, FloorDiv | Mod | And | Shl | Shr) or not isinstance(op.b.op, Const):
        return ANY
    a, number = _of_value(op.a, depth - 1), int(op.b.op.value)
    if isinstance(op, FloorDiv | Mod):
        return a // number if isinstance(op, FloorDiv) else a % number
    if isinstance(op, And):
        if a.modulus == 0 or number == 0:
            return Known(a.rest & number, 0)
        return Known(0, max(number & -number, a.divisor & -a.divisor))
    if not 0 <= number < 32:
        return ANY
    return a * (1 << number) if isinstance(op, Shl) else a // (1 << number)
