"""Mathematics for kernels, on run-time scalars and, element by element, on vectors; literals go to Python's `math`.

Types     f32 and f64 are computed in their own type, f16 and bf16 in f32 and then rounded; integers become f32, or f64
          if they have 64 bits; literals of functions that Python's `math` lacks are f64
Accurate  by default, from IEEE operations only (`lang.libm`), without libdevice: the same bits on every GPU and in the
          simulator; subnormals, infinities, NaN and signed zeros as in C
fast      lets f32, f16 and bf16 use the hardware's approximate instructions, which take subnormals as 0; f64 has none
Error     in units in the last place (ulp) of the result, rounded up from the largest that the tests see; 0.5 ulp is
          the best possible. With fast, bounds from the PTX ISA, or derived from them
"""

from __future__ import annotations

import builtins
import functools
import math as python_math
from collections.abc import Callable
from typing import Any, TypeVar

from cutelite.ir.contract import np
from cutelite.ir.types import Vec, boolean, f16, f32, f64, i16, i32, i64
from cutelite.lang import fastmath, libm
from cutelite.lang.convert import bitcast
from cutelite.lang.emit import builder_here, describe, emit, mistake, wrap
from cutelite.lang.promotion import as_value, differentiable, promote, to_dtype
from cutelite.lang.straight import Straight
from cutelite.lang.values import RuntimeNumber, Scalar, Vector, where
from cutelite.lang.values import maximum as larger
from cutelite.lang.values import minimum as smaller
from cutelite.ops import math as ops
from cutelite.ops.arith import Abs, Fma

I32_MIN = -(1 << 31)
N = TypeVar("N", Scalar, Vector, float)
"""The type of the arguments and of the result: a scalar, a vector, or a literal."""


def _literal(*xs: Any) -> bool:
    return all(isinstance(x, int | float) for x in xs)


def _known(name: str, function: Callable[..., Any], *xs: float) -> Any:
    """Compute a function of literals: by Python, or, if that has none or raises, as of run-time f64."""
    try:
        return (PYTHON.get(name) or getattr(python_math, name))(*xs)
    except (AttributeError, ArithmeticError, ValueError):
        key = name, len(xs)
        if key not in _OF_F64:
            _OF_F64[key] = Straight(function, (f64,) * len(xs))
        found = _OF_F64[key](*(np.array([x], np.float64) for x in xs))
        return tuple(y.item() for y in found) if isinstance(found, tuple) else found.item()


def _sincospi(x: float) -> tuple[float, float]:
    """By the quarter of a turn that is nearest: what is left is exact, and no result loses bits near 0."""
    rest = python_math.remainder(x, 2.0)
    quarter = builtins.round(rest * 2)
    angle = python_math.pi * (rest - quarter / 2)
    s, c = python_math.sin(angle), python_math.cos(angle)
    sine, cosine = ((s, c), (c, -s), (-s, -c), (-c, s))[quarter % 4]
    return sine or python_math.copysign(0.0, x), cosine + 0.0


PYTHON: dict[str, Callable[..., Any]] = {
    "tgamma": python_math.gamma,
    "sincos": lambda x: (python_math.sin(x), python_math.cos(x)),
    "sincospi": _sincospi,
    "sinpi": lambda x: _sincospi(x)[0],
    "cospi": lambda x: _sincospi(x)[1],
}
"""Functions of literals besides those of Python's `math`: tables of them are made while kernels are compiled."""

_OF_F64: dict[tuple[str, int], Straight] = {}
"""The code of functions that other literals were given to, by name and number of arguments: milliseconds for a call."""


def _floats(*xs: Any) -> tuple[Any, ...]:
    """Return run-time numbers as floats of one type."""
    if len(xs) <= 2:
        values = promote(*xs) if len(xs) == 2 else (as_value(xs[0]),)
        return tuple(_float(wrap(value)) for value in values)
    common = xs[0]
    for x in xs[1:]:
        common = wrap(promote(common, x)[0])
    return tuple(_float(wrap(promote(x, common)[0])) for x in xs)


def _float(x: Any) -> Any:
    if not isinstance(x, RuntimeNumber):
        raise mistake("not-a-number", f"a number is needed here, not {describe(x)}")
    if not (x.dtype.arithmetic or x.dtype == boolean):
        raise mistake("no-arithmetic", f"{x.dtype} is a storage format", help="convert it first: `x.to(cl.f32)`")
    return x if x.dtype.is_float else to_dtype(x, f64 if x.dtype.bits == 64 else f32)


def _call(name: str, x: N, *more: N, fast: bool = False) -> N:
    """Apply the function called `name` of `libm`, or of `fastmath`."""
    if _literal(x, *more):
        return _known(name, functools.partial(_call, name), x, *more)  # type: ignore[no-any-return]
    if (dual := differentiable(x, *more)) is not None:
        return dual.apply(name, lambda *xs: _call(name, *xs, fast=fast), x, *more)  # type: ignore[no-any-return]
    xs = _floats(x, *more)
    dtype = xs[0].dtype
    fast = fast and dtype != f64 and hasattr(fastmath, name)
    if fast and dtype == f16 and name in fastmath.HALF:
        return emit(fastmath.HALF[name](xs[0].value))  # type: ignore[no-any-return]
    function = getattr(fastmath, name) if fast else functools.partial(_exactly, getattr(libm, name))
    if dtype in (f32, f64):
        return function(*xs)  # type: ignore[no-any-return]
    result = function(*(to_dtype(y, f32) for y in xs))
    if isinstance(result, tuple):
        return tuple(to_dtype(y, dtype) if y.dtype.is_float else y for y in result)  # type: ignore[return-value]
    return to_dtype(result, dtype)  # type: ignore[no-any-return]


def _exactly(function: Callable[..., Any], *xs: Any) -> Any:
    """Call `function` with every step rounded: the option `fmad` fuses none."""
    with builder_here("mathematics").rounding_each():
        return function(*xs)


def _emit(op: Callable[..., Any], name: str, x: N, *more: N) -> N:
    """Apply an op that every float type has; literals go to Python's function."""
    if _literal(x, *more):
        return _known(name, functools.partial(_emit, op, name), x, *more)  # type: ignore[no-any-return]
    if (dual := differentiable(x, *more)) is not None:
        return dual.apply(name, lambda *xs: _emit(op, name, *xs), x, *more)  # type: ignore[no-any-return]
    return emit(op(*(y.value for y in _floats(x, *more))))  # type: ignore[no-any-return]


# Roots, reciprocals, quotients.


def sqrt(x: N, *, fast: bool = False) -> N:
    """Return the square root.

    Error   0.5 ulp (sqrt.rn)
    Fast    1 ulp (sqrt.approx)
    """
    return _call("sqrt", x, fast=fast)


def rsqrt(x: N, *, fast: bool = False) -> N:
    """Return one over the square root.

    Error   1.5 ulp (sqrt.rn, rcp.rn)
    Fast    2 ulp (rsqrt.approx)
    """
    return _call("rsqrt", x, fast=fast)


def rcp(x: N, *, fast: bool = False) -> N:
    """Return ``1 / x``.

    Error   0.5 ulp (rcp.rn)
    Fast    1 ulp (rcp.approx)
    """
    return _call("rcp", x, fast=fast)


def fdividef(a: N, b: N) -> N:
    """Return ``a / b``, approximately, for ``|b|`` in 2**-126 .. 2**126; 0 for larger finite `b`. Accurate for f64.

    Error   2 ulp (div.approx)
    """
    return _call("divide", a, b, fast=True)


def cbrt(x: N) -> N:
    """Return the cube root, of negative numbers too. Error: 1 ulp."""
    return _call("cbrt", x)


def rcbrt(x: N) -> N:
    """Return one over the cube root. Error: 1.5 ulp."""
    return _call("rcbrt", x)


def hypot(x: N, y: N, *more: N) -> N:
    """Return the square root of the sum of squares, of two numbers or more, without overflow on the way.

    Error   1.5 ulp
    """
    return _call("hypot", x, y, *more)


def rhypot(x: N, y: N, *more: N) -> N:
    """Return one over `hypot`, without overflow on the way. Error: 2.5 ulp."""
    return _call("rhypot", x, y, *more)


def fma(a: N, b: N, c: N) -> N:
    """Return ``a * b + c``, rounded once. Error: 0.5 ulp (fma.rn)."""
    if _literal(a, b, c):
        return _known("fma", fma, a, b, c)  # type: ignore[no-any-return]
    if (dual := differentiable(a, b, c)) is not None:
        return dual.apply("fma", fma, a, b, c)  # type: ignore[no-any-return]
    x, y = _floats(a, b) if not _literal(a, b) else (a, b)
    x, z = _floats(x, c)
    y, z = _floats(y, z)
    x, z = _floats(x, z)
    return emit(Fma(x.value, y.value, z.value))  # type: ignore[no-any-return]


# Exponentials and logarithms.


def exp(x: N, *, fast: bool = False) -> N:
    """Return e to the power `x`.

    Error   1 ulp
    Fast    2 + 1.2 abs(x) ulp (ex2.approx of a product)
    """
    return _call("exp", x, fast=fast)


def exp2(x: N, *, fast: bool = False) -> N:
    """Return 2 to the power `x`.

    Error   1 ulp
    Fast    2 ulp (ex2.approx); f16 2**-9.9 relative (ex2.approx.f16x2)
    """
    return _call("exp2", x, fast=fast)


def exp10(x: N, *, fast: bool = False) -> N:
    """Return 10 to the power `x`.

    Error   1 ulp
    Fast    3 + 2.4 abs(x) ulp (ex2.approx of a product)
    """
    return _call("exp10", x, fast=fast)


def expm1(x: N) -> N:
    """Return e to the power `x`, minus 1: accurate near 0. Error: 2 ulp."""
    return _call("expm1", x)


def log(x: N, *, fast: bool = False) -> N:
    """Return the natural logarithm: -inf at 0, NaN below.

    Error   1 ulp
    Fast    3 ulp; 2**-21.4 absolute for x in 0.5..2 (lg2.approx, times log(2))
    """
    return _call("log", x, fast=fast)


def log2(x: N, *, fast: bool = False) -> N:
    """Return the logarithm to base 2.

    Error   1 ulp
    Fast    2 ulp; 2**-22 absolute for x in 0.5..2 (lg2.approx)
    """
    return _call("log2", x, fast=fast)


def log10(x: N, *, fast: bool = False) -> N:
    """Return the logarithm to base 10.

    Error   1 ulp
    Fast    3 ulp; 2**-23 absolute for x in 0.5..2 (lg2.approx, times log10(2))
    """
    return _call("log10", x, fast=fast)


def log1p(x: N) -> N:
    """Return the natural logarithm of ``1 + x``: accurate near 0. Error: 2 ulp."""
    return _call("log1p", x)


def pow(x: N, y: N, *, fast: bool = False) -> N:
    """Return `x` to the power `y`, with the special cases of C; NaN for a negative `x` and a `y` that is not whole.

    Error   1 ulp
    Fast    for x > 0: 4 + 3.5 abs(y) max(1, abs(log2(x))) ulp (lg2.approx, ex2.approx)
    """
    return _call("pow", x, y, fast=fast)


def ldexp(x: N, n: Any) -> N:
    """Return ``x * 2**n`` for an integer `n`. Error: 0.5 ulp."""
    if _literal(x, n):
        return _known("ldexp", lambda y, m: ldexp(y, to_dtype(m, i32)), x, n)  # type: ignore[no-any-return]
    if (dual := differentiable(x)) is not None:
        return dual.apply("ldexp", ldexp, x, n)  # type: ignore[no-any-return]
    if _literal(x):
        raise mistake("ldexp", "the first argument of ldexp is a literal: its type is not known", help="cl.f32(x)")
    (y,) = _floats(x)
    exponent = wrap(as_value(n))
    if isinstance(exponent, Scalar) and isinstance(y, Vector):
        exponent = wrap(as_value(exponent, Vec(exponent.dtype, y.n)))
    if not exponent.dtype.is_int:
        raise mistake("ldexp", f"the exponent of ldexp is an integer, not {describe(exponent)}")
    wide = y if y.dtype in (f32, f64) else to_dtype(y, f32)
    result = _exactly(libm.ldexp, wide, exponent)
    return result if wide is y else to_dtype(result, y.dtype)  # type: ignore[no-any-return]


scalbn = ldexp


# Trigonometry, in radians.


def sin(x: N, *, fast: bool = False) -> N:
    """Return the sine, of any finite number.

    Error   1.5 ulp (f64 2)
    Fast    2**-20.4 absolute for x in -2 pi .. 2 pi, growing beyond (sin.approx)
    """
    return _call("sin", x, fast=fast)


def cos(x: N, *, fast: bool = False) -> N:
    """Return the cosine, of any finite number.

    Error   1.5 ulp (f64 2)
    Fast    2**-20.4 absolute for x in -2 pi .. 2 pi, growing beyond (cos.approx)
    """
    return _call("cos", x, fast=fast)


def sincos(x: N, *, fast: bool = False) -> tuple[N, N]:
    """Return the sine and the cosine, for little more than the price of one.

    Error   1.5 ulp (f64 2)
    Fast    as sin and cos
    """
    return _call("sincos", x, fast=fast)  # type: ignore[return-value]


def sinpi(x: N) -> N:
    """Return the sine of pi times `x`: exactly 0 of whole numbers. Error: 1.5 ulp."""
    return _call("sinpi", x)


def cospi(x: N) -> N:
    """Return the cosine of pi times `x`: exactly 0 halfway between whole numbers. Error: 1.5 ulp."""
    return _call("cospi", x)


def sincospi(x: N) -> tuple[N, N]:
    """Return `sinpi` and `cospi`, for little more than the price of one. Error: 1.5 ulp."""
    return _call("sincospi", x)  # type: ignore[return-value]


def tan(x: N, *, fast: bool = False) -> N:
    """Return the tangent, of any finite number.

    Error   3 ulp
    Fast    sin over cos: for x in -2 pi .. 2 pi, 3 ulp and 2**-20.4 (1 + abs(y)) sqrt(1 + y**2) for a result y
    """
    return _call("tan", x, fast=fast)


def asin(x: N) -> N:
    """Return the angle in -pi/2 .. pi/2 with this sine; NaN outside -1..1. Error: 1.5 ulp."""
    return _call("asin", x)


def acos(x: N) -> N:
    """Return the angle in 0 .. pi with this cosine; NaN outside -1..1. Error: 1.5 ulp."""
    return _call("acos", x)


def atan(x: N) -> N:
    """Return the angle in -pi/2 .. pi/2 with this tangent. Error: 1.5 ulp."""
    return _call("atan", x)


def atan2(y: N, x: N) -> N:
    """Return the angle in -pi .. pi of the point (x, y), with the special cases of C. Error: 1.5 ulp."""
    return _call("atan2", y, x)


# Hyperbolic functions.


def sinh(x: N) -> N:
    """Return the hyperbolic sine. Error: 2 ulp."""
    return _call("sinh", x)


def cosh(x: N) -> N:
    """Return the hyperbolic cosine. Error: 2 ulp."""
    return _call("cosh", x)


def tanh(x: N, *, fast: bool = False) -> N:
    """Return the hyperbolic tangent.

    Error   1.5 ulp
    Fast    2**-11 relative (tanh.approx); f16 2**-10.98 absolute (tanh.approx.f16x2)
    """
    return _call("tanh", x, fast=fast)


def asinh(x: N) -> N:
    """Return the inverse of `sinh`. Error: 2 ulp."""
    return _call("asinh", x)


def acosh(x: N) -> N:
    """Return the inverse of `cosh`; NaN below 1. Error: 2 ulp."""
    return _call("acosh", x)


def atanh(x: N) -> N:
    """Return the inverse of `tanh`; NaN outside -1..1. Error: 2.5 ulp."""
    return _call("atanh", x)


# The error function.


def erf(x: N) -> N:
    """Return the error function. Error: 1.5 ulp."""
    return _call("erf", x)


def erfc(x: N) -> N:
    """Return ``1 - erf(x)``, accurate where that is small. Error: 4 ulp."""
    return _call("erfc", x)


def erfinv(x: N) -> N:
    """Return the inverse of `erf`; infinite at -1 and 1, NaN beyond. Error: 6 ulp."""
    return _call("erfinv", x)


def erfcx(x: N) -> N:
    """Return ``exp(x * x) * erfc(x)``: `erfc` scaled so that it does not underflow. Error: 5 ulp."""
    return _call("erfcx", x)


def erfcinv(x: N) -> N:
    """Return the inverse of `erfc`: infinite at 0 and 2, NaN beyond. Error: 1 ulp (f64 6)."""
    return _call("erfcinv", x)


def normcdf(x: N) -> N:
    """Return the distribution function of the standard normal distribution: ``erfc(-x / sqrt(2)) / 2``.

    Error   4 ulp
    """
    return _call("normcdf", x)


def normcdfinv(x: N) -> N:
    """Return the inverse of `normcdf`: infinite at 0 and 1, NaN beyond. Error: 1 ulp (f64 7)."""
    return _call("normcdfinv", x)


def lgamma(x: N) -> N:
    """Return the logarithm of the magnitude of the gamma function; infinite at 0 and negative whole numbers.

    Error   1 ulp for f32. For f64 the larger of 1e-14 absolute and 1e-14 relative; where the result is near 0 for a
            negative `x`, 1e-13
    """
    return _call("lgamma", x)


def tgamma(x: N) -> N:
    """Return the gamma function: ``(x - 1)!`` of whole numbers; NaN at negative whole numbers.

    Error   1 ulp (f64 60)
    """
    return _call("tgamma", x)


def digamma(x: N) -> N:
    """Return the derivative of `lgamma`: infinite at 0, NaN at negative whole numbers.

    Error   1 ulp for f32, but where the result is near 0 for a negative `x`, 1e-13; for f64 the larger of 1e-14
            absolute and relative, and 1e-13 for a negative `x`
    """
    return _call("digamma", x)


# Rounding and remainders. Exact.


def floor(x: N) -> N:
    """Return the largest whole number not above `x`, in the type of `x`. Exact (cvt.rmi)."""
    return _emit(ops.Floor, "floor", x)


def ceil(x: N) -> N:
    """Return the smallest whole number not below `x`, in the type of `x`. Exact (cvt.rpi)."""
    return _emit(ops.Ceil, "ceil", x)


def trunc(x: N) -> N:
    """Return `x` without its fraction. Exact (cvt.rzi)."""
    return _emit(ops.Trunc, "trunc", x)


def rint(x: N) -> N:
    """Return the nearest whole number; of two, the even one, like Python's round(). Exact (cvt.rni)."""
    return _emit(ops.Rint, "rint", x)


roundeven = rint
nearbyint = rint


def round(x: N) -> N:
    """Return the nearest whole number; of two, the one farther from 0, like C's round(). Exact."""
    return _call("round", x)


def fmod(a: N, b: N) -> N:
    """Return the remainder of ``a / b`` rounded towards zero, with the sign of `a`. Exact; slow for large a/b."""
    return _call("fmod", a, b)


def remainder(a: N, b: N) -> N:
    """Return `a` minus the nearest multiple of `b` (of two, the even one). Exact; slow for large a/b."""
    return _call("remainder", a, b)


def remquo(a: N, b: N) -> tuple[N, Any]:
    """Return `remainder`, and the nearest quotient modulo 8, an i32 with its sign. Exact; slow for large a/b."""
    if _literal(a, b):
        return _known("remquo", remquo, a, b)  # type: ignore[no-any-return]
    found: Any = _call("remquo", a, b)
    rest, quotient = found
    return rest, to_dtype(quotient, i32)


def fdim(x: N, y: N) -> N:
    """Return ``x - y``, or 0 where that is negative; NaN if one of them is. Exact, but for one rounding."""
    return _call("fdim", x, y)


# Numbers taken apart, and their neighbours. Exact.


def frexp(x: N) -> tuple[N, Any]:
    """Return a fraction of magnitude 1/2 to 1 and an i32 n, with ``x = fraction * 2**n``. Exact.

    For 0, infinities and NaN the fraction is `x` and n is 0.
    """
    if _literal(x):
        return _known("frexp", frexp, x)  # type: ignore[no-any-return]
    found: Any = _call("frexp", x)
    fraction, n = found
    return fraction, to_dtype(n, i32)


def modf(x: N) -> tuple[N, N]:
    """Return the fraction and the whole part, both with the sign of `x`, as Python's `math.modf` has them. Exact."""
    return _call("modf", x)  # type: ignore[return-value]


def logb(x: N) -> N:
    """Return the exponent of `x`, as a float: ``floor(log2(abs(x)))``; -inf at 0, inf at infinities. Exact."""
    return _call("logb", x)


def ilogb(x: Any) -> Any:
    """Return the exponent of `x`, an i32: its least for 0 and NaN, its greatest for infinities, as in CUDA. Exact."""
    if _literal(x):
        return _known("ilogb", ilogb, x)
    exponent = _call("logb", x)
    return where(exponent != exponent, I32_MIN, to_dtype(where(exponent != exponent, 0.0, exponent), i32))


def nextafter(x: Any, y: Any) -> Any:
    """Return the next number of its type after `x` in the direction of `y`; `y` if they are equal. Exact."""
    if _literal(x, y):
        return _known("nextafter", nextafter, x, y)
    if _literal(x):
        raise mistake(
            "nextafter", "the first argument of nextafter is a literal: its type is not known", help="cl.f32(x)"
        )
    if differentiable(x, y) is not None:
        return _call("nextafter", x, y)
    (x,) = _floats(x)
    y = wrap(as_value(to_dtype(y, x.dtype) if isinstance(y, RuntimeNumber) else y, x.value.type))
    words = {16: i16, 32: i32, 64: i64}[x.dtype.bits]
    bits = bitcast(x, words)
    away = (x < y) == (bits >= 0)  # from 0
    least = bitcast(wrap(as_value(1, bits.value.type)), x.dtype)
    moved = bitcast(where(away, bits + 1, bits - 1), x.dtype)
    moved = where(x == 0.0, copysign(least, y), moved)
    return where((x != x) | (y != y), x + y, where(x == y, y, moved))


# Signs, comparisons, kinds of numbers. Exact.


def fabs(x: N) -> N:
    """Return the magnitude of `x`, as a float. Exact."""
    return _emit(Abs, "fabs", x)


def copysign(x: N, y: N) -> N:
    """Return the magnitude of `x` with the sign of `y`. Exact."""
    return _emit(ops.CopySign, "copysign", x, y)


def minimum(a: N, b: N) -> N:
    """Return the smaller of `a` and `b`; NaN if one is NaN (`min` gives the other). -0 is below +0. Exact (min.NaN)."""
    return _emit(ops.MinNan, "minimum", a, b)


def maximum(a: N, b: N) -> N:
    """Return the larger of `a` and `b`; NaN if one is NaN (`max` gives the other). -0 is below +0. Exact (max.NaN)."""
    return _emit(ops.MaxNan, "maximum", a, b)


def clamp(x: N, low: Any, high: Any) -> N:
    """Return `x` clamped to `low` .. `high`; NaN becomes `low`. Exact."""
    if _literal(x, low, high):
        return min(max(x, low), high) if x == x else low  # type: ignore[no-any-return]
    return smaller(larger(x, low), high)  # type: ignore[no-any-return]


def saturate(x: N) -> N:
    """Return `x` clamped to 0..1; NaN becomes 0. Exact (cvt.sat)."""
    return _emit(ops.Saturate, "saturate", x)


def isnan(x: Any) -> Any:
    """Return whether `x` is NaN."""
    return _emit(lambda value: ops.FpTest(value, kind="nan"), "isnan", x)


def isinf(x: Any) -> Any:
    """Return whether `x` is infinite."""
    return _emit(lambda value: ops.FpTest(value, kind="inf"), "isinf", x)


def isfinite(x: Any) -> Any:
    """Return whether `x` is neither infinite nor NaN."""
    return _emit(lambda value: ops.FpTest(value, kind="finite"), "isfinite", x)


def isnormal(x: Any) -> Any:
    """Return whether `x` is neither 0, subnormal, infinite nor NaN."""
    if _literal(x):
        return python_math.isfinite(x) and abs(x) >= 2.0**-1022
    (x,) = _floats(x)
    least = {"f16": 2.0**-14, "f64": 2.0**-1022}.get(x.dtype.name, 2.0**-126)
    size = fabs(x)
    return (size >= least) & (size < python_math.inf)


def signbit(x: Any) -> Any:
    """Return whether the sign of `x` is minus, also that of -0 and of NaN."""
    return copysign(1.0, x) < 0.0 if _literal(x) else _emit(ops.CopySign, "copysign", 1.0, x) < 0.0
