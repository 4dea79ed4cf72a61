"""Arithmetic on packed pairs of f32 by Blackwell's instructions."""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.lang.emit import emit
from cutelite.lang.promotion import as_value
from cutelite.lang.values import Vector
from cutelite.ops import f32x2 as ops

Rounding = Literal["rn", "rz", "rm", "rp"]


def add_packed_f32x2(a: Vector, b: Vector, *, ftz: bool = False, rounding: Rounding = "rn") -> Vector:
    """Return ``a + b`` of two vectors of two f32, by one instruction.

    ftz       take subnormal operands and results as 0
    rounding  to nearest even (rn), towards zero (rz), down (rm) or up (rp)
    Errors    for a GPU before sm_100, and for other vectors
    Source    PTX ISA: add.f32x2
    """
    return emit(ops.AddF32x2(_pair(a), _pair(b), ftz, rounding))  # type: ignore[no-any-return]


def sub_packed_f32x2(a: Vector, b: Vector, *, ftz: bool = False, rounding: Rounding = "rn") -> Vector:
    """Return ``a - b`` of two vectors of two f32, by one instruction; arguments and errors as for `add_packed_f32x2`.

    Source   PTX ISA: sub.f32x2
    """
    return emit(ops.SubF32x2(_pair(a), _pair(b), ftz, rounding))  # type: ignore[no-any-return]


def mul_packed_f32x2(a: Vector, b: Vector, *, ftz: bool = False, rounding: Rounding = "rn") -> Vector:
    """Return ``a * b`` of two vectors of two f32, by one instruction; arguments and errors as for `add_packed_f32x2`.

    Source   PTX ISA: mul.f32x2
    """
    return emit(ops.MulF32x2(_pair(a), _pair(b), ftz, rounding))  # type: ignore[no-any-return]


def fma_packed_f32x2(a: Vector, b: Vector, c: Vector, *, ftz: bool = False, rounding: Rounding = "rn") -> Vector:
    """Return ``a * b + c`` of vectors of two f32, rounded once, by one instruction; else as `add_packed_f32x2`.

    Source   PTX ISA: fma.f32x2
    """
    return emit(ops.FmaF32x2(_pair(a), _pair(b), ftz, rounding, _pair(c)))  # type: ignore[no-any-return]


def _pair(x: Any) -> Value:
    return as_value(x, ops.PAIR)
