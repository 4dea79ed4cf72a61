"""Fast mathematics of f32: the hardware's approximate instructions, with subnormal operands and results taken as 0."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from cutelite.lang.emit import builder_here
from cutelite.lang.libm import instruction
from cutelite.ops import math as ops

Number = Any
"""A run-time Scalar or Vector of f32."""


sqrt, rsqrt, rcp = (instruction(partial(op, ftz=True)) for op in (ops.SqrtApprox, ops.RsqrtApprox, ops.RcpApprox))
exp2, log2 = (instruction(partial(op, ftz=True)) for op in (ops.Ex2Approx, ops.Lg2Approx))
sin, cos = (instruction(partial(op, ftz=True)) for op in (ops.SinApprox, ops.CosApprox))
divide = instruction(partial(ops.DivApprox, full=False, ftz=True))
tanh = instruction(ops.TanhApprox)


def approximate_quotients(wanted: bool) -> bool:
    """Make ``/`` of f32 compute `divide`, or stop that, from here on; return the setting before."""
    builder = builder_here("/")
    before, builder.approximate = builder.approximate, wanted
    return before


def exp(x: Number) -> Number:
    return exp2(x * math.log2(math.e))


def exp10(x: Number) -> Number:
    return exp2(x * math.log2(10))


def log(x: Number) -> Number:
    return log2(x) * math.log(2)


def log10(x: Number) -> Number:
    return log2(x) * math.log10(2)


def pow(x: Number, y: Number) -> Number:
    return exp2(y * log2(x))


def sincos(x: Number) -> tuple[Number, Number]:
    return sin(x), cos(x)


def tan(x: Number) -> Number:
    return divide(sin(x), cos(x))


HALF = {"exp2": ops.Ex2Approx, "tanh": ops.TanhApprox}
"""Functions with an instruction for f16, two at a time."""
