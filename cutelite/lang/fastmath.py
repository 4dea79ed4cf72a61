"""Fast mathematics of f32: the hardware's approximate instructions, with subnormal operands and results taken as 0."""

from __future__ import annotations

import math
from typing import Any

from cutelite.lang.emit import builder_here, emit
from cutelite.ops import math as ops

Number = Any
"""A run-time Scalar or Vector of f32."""


def sqrt(x: Number) -> Number:
    return emit(ops.SqrtApprox(x.value, ftz=True))


def rsqrt(x: Number) -> Number:
    return emit(ops.RsqrtApprox(x.value, ftz=True))


def rcp(x: Number) -> Number:
    return emit(ops.RcpApprox(x.value, ftz=True))


def divide(a: Number, b: Number) -> Number:
    return emit(ops.DivApprox(a.value, b.value, full=False, ftz=True))


def approximate_quotients(wanted: bool) -> bool:
    """Make ``/`` of f32 compute `divide`, or stop that, from here on; return the setting before."""
    builder = builder_here("/")
    before, builder.approximate = builder.approximate, wanted
    return before


def exp2(x: Number) -> Number:
    return emit(ops.Ex2Approx(x.value, ftz=True))


def exp(x: Number) -> Number:
    return exp2(x * math.log2(math.e))


def exp10(x: Number) -> Number:
    return exp2(x * math.log2(10))


def log2(x: Number) -> Number:
    return emit(ops.Lg2Approx(x.value, ftz=True))


def log(x: Number) -> Number:
    return log2(x) * math.log(2)


def log10(x: Number) -> Number:
    return log2(x) * math.log10(2)


def pow(x: Number, y: Number) -> Number:
    return exp2(y * log2(x))


def sin(x: Number) -> Number:
    return emit(ops.SinApprox(x.value, ftz=True))


def cos(x: Number) -> Number:
    return emit(ops.CosApprox(x.value, ftz=True))


def sincos(x: Number) -> tuple[Number, Number]:
    return sin(x), cos(x)


def tan(x: Number) -> Number:
    return divide(sin(x), cos(x))


def tanh(x: Number) -> Number:
    return emit(ops.TanhApprox(x.value))


HALF = {"exp2": ops.Ex2Approx, "tanh": ops.TanhApprox}
"""Functions with an instruction for f16, two at a time."""
