"""Accurate mathematics, written in the language itself: exp, log, pow, sin, erf and so on of f32 and f64.

In: a run-time `Scalar` or `Vector` of f32 or f64. Out: the same. `lang.math` documents the functions, converts other
types, and has the hardware's fast forms. Nothing here branches: special cases are selected at the end.

Every step is an IEEE operation or an explicit `fma`, so the GPU and the simulator agree to the last bit, and the
kernel option `fmad` changes nothing. Names: `hi` and `lo` are two floats whose exact sum is the number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import elem_of, f32, f64, i32, i64, with_elem
from cutelite.lang.emit import emit
from cutelite.lang.libm_tables import TABLES
from cutelite.lang.promotion import as_value
from cutelite.lang.values import where
from cutelite.ops import arith, convert, math, trig
from cutelite.records import dataclass

Number = Any
"""A run-time Scalar or Vector of f32 or f64."""

INF, NAN = float("inf"), float("nan")
H = float.fromhex


@dataclass(frozen=True)
class Form:
    """The constants of one float type; `x_hi` and `x_lo` add up to x."""

    dtype: DType
    integer: DType
    mantissa: int  # stored bits
    bias: int
    round_magic: float  # adding it leaves the nearest integer in the low bits
    ln2: tuple[float, float]
    ln2_short: tuple[float, float]  # with a high part so short that its product with any exponent is exact
    log2_e: tuple[float, float]
    log10_e: tuple[float, float]
    log10_2: tuple[float, float]
    ln10: tuple[float, float]
    pi: tuple[float, float]
    two_thirds: tuple[float, float]
    half_pi: tuple[float, float]
    exp_range: tuple[float, float]  # beyond it exp is 0 or infinite, and sinh and cosh are infinite
    sqrt_half: int  # bits of the square root of 1/2
    subnormal_shift: int  # a factor of 2 to this power makes every subnormal number normal
    large: float  # so large that 1 + its square rounds to its square
    erf_limit: float  # erf is 1 from here on

    @property
    def tables(self) -> dict[str, tuple[float, ...]]:
        return TABLES[self.dtype.name]

    @property
    def least(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)


FORMS = {
    "f32": Form(
        f32, i32, 23, 127, round_magic=1.5 * 2**23, sqrt_half=0x3F3504F3, subnormal_shift=24, large=2.0**13,
        ln2=(H("0x1.62e430p-1"), H("-0x1.05c610p-29")),
        ln2_short=(H("0x1.62e800p-1"), H("-0x1.e8082ep-16")),
        log2_e=(H("0x1.715476p+0"), H("0x1.4ae0c0p-26")),
        log10_e=(H("0x1.bcb7b2p-2"), H("-0x1.5b235ep-27")),
        log10_2=(H("0x1.344136p-2"), H("-0x1.ec10c0p-27")),
        ln10=(H("0x1.26bb1cp+1"), H("-0x1.12aabap-25")),
        pi=(H("0x1.921fb6p+1"), H("-0x1.777a5cp-24")),
        two_thirds=(H("0x1.555556p-1"), H("-0x1.555556p-26")),
        half_pi=(H("0x1.921fb6p+0"), H("-0x1.777a5cp-25")),
        exp_range=(-104.0, 90.0), erf_limit=4.0,
    ),
    "f64": Form(
        f64, i64, 52, 1023, round_magic=1.5 * 2**52, sqrt_half=0x3FE6A09E667F3BCD, subnormal_shift=54, large=2.0**28,
        ln2=(H("0x1.62e42fefa39efp-1"), H("0x1.abc9e3b39803fp-56")),
        ln2_short=(H("0x1.62e42fefa4000p-1"), H("-0x1.8432a1b0e2634p-43")),
        log2_e=(H("0x1.71547652b82fep+0"), H("0x1.777d0ffda0d24p-56")),
        log10_e=(H("0x1.bcb7b1526e50ep-2"), H("0x1.95355baaafad3p-57")),
        log10_2=(H("0x1.34413509f79ffp-2"), H("-0x1.9dc1da994fd21p-59")),
        ln10=(H("0x1.26bb1bbb55516p+1"), H("-0x1.f48ad494ea3e9p-53")),
        pi=(H("0x1.921fb54442d18p+1"), H("0x1.1a62633145c07p-53")),
        two_thirds=(H("0x1.5555555555555p-1"), H("0x1.5555555555555p-55")),
        half_pi=(H("0x1.921fb54442d18p+0"), H("0x1.1a62633145c07p-54")),
        exp_range=(-746.0, 711.0), erf_limit=6.0,
    ),
}  # fmt: skip


def form_of(x: Number) -> Form:
    return FORMS[x.dtype.name]


# Building blocks.


def instruction(op: Callable[..., Any]) -> Callable[..., Number]:
    """Return the function that an op computes of run-time numbers."""
    return lambda *xs: emit(op(*(x.value for x in xs)))


sqrt, rcp, truncated, absolute = map(instruction, (math.Sqrt, math.Rcp, math.Trunc, arith.Abs))
fmod, remainder, opposite = map(instruction, (math.Fmod, math.Remainder, arith.Not))


def fma(a: Any, b: Any, c: Any) -> Number:
    """Return ``a * b + c`` rounded once; at least one of them is a run-time number."""
    shape = next(v for v in (a, b, c) if hasattr(v, "value")).type
    return emit(arith.Fma(as_value(a, shape), as_value(b, shape), as_value(c, shape)))


def polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """Evaluate a polynomial by Horner's rule; coefficients are lowest first."""
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = fma(x, total, coefficient)
    return total


def bits(x: Number) -> Number:
    """Return the bits of a float as an integer."""
    return emit(convert.Bitcast(x.value, with_elem(x.type, form_of(x).integer)))


def from_bits(n: Number, like: Number) -> Number:
    """Return the float of the type of `like` that has the bits `n`."""
    return emit(convert.Bitcast(n.value, like.type))


def to_float(n: Number, like: Number) -> Number:
    return emit(convert.Convert(n.value, elem_of(like.type)))


def copysign(magnitude: Any, sign: Number) -> Number:
    return emit(math.CopySign(as_value(magnitude, sign.type), sign.value))


def rsqrt(x: Number) -> Number:
    return rcp(sqrt(x))


def divide(a: Number, b: Number) -> Number:
    return a / b


def round(x: Number) -> Number:
    whole = truncated(x)
    return copysign(where(absolute(x - whole) >= 0.5, absolute(whole) + 1.0, absolute(whole)), x)


def is_nan(x: Number) -> Number:
    return x != x


def as_proxy(constant: Any, like: Number) -> Number:
    """Return a compile-time number as a run-time one of the type of `like`."""
    return type(like)(as_value(constant, like.type))


def clamped(x: Number, low: float, high: float) -> Number:
    """Return `x` clamped to a range; NaN stays NaN, which min and max would not keep."""
    return where(x > high, high, where(x < low, low, x))


def nearest(x: Number, factor: float = 1.0) -> tuple[Number, Number]:
    """Return ``x * factor`` rounded to the nearest integer, as a float and as an integer; it must be small."""
    form = form_of(x)
    shifted = fma(x, factor, form.round_magic)
    magic = as_bits(form.round_magic, form)
    return shifted - form.round_magic, bits(shifted) - magic


def as_bits(x: float, form: Form) -> int:
    """Return the bits of a compile-time float in the type of `form`, as an integer."""
    code = "f" if form.dtype == f32 else "d"
    return int.from_bytes(struct.pack(f"<{code}", x), "little", signed=True)


def power_of_two(n: Number, like: Number) -> Number:
    """Return 2 to the integer power `n`, which must be in the range of normal numbers."""
    form = form_of(like)
    return from_bits((n + form.bias) << form.mantissa, like)


def scaled(x: Number, n: Number) -> Number:
    """Return ``x * 2**n`` rounded once, also if it over- or underflows; `x` near 1, `n` up to twice the exponents."""
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


def fast_two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """Return hi and lo of ``a + b``, for ``|a| >= |b|`` (Dekker 1971)."""
    hi = a + b
    return hi, b - (hi - a)


# Exponentials.


def exp_core(x: Number, low: Any = None, shift: int = 0) -> Number:
    """Return ``e**(x + low) * 2**shift``, with `low` far below 1."""
    form = form_of(x)
    x = clamped(x, *form.exp_range)
    n, whole = nearest(x, form.log2_e[0])
    r = fma(n, -form.ln2[0], x)
    r = fma(n, -form.ln2[1], r) if low is None else fma(n, -form.ln2[1], low) + r
    q = polynomial(r, form.tables["expm1"])
    return scaled(fma(r * r, q, r) + 1.0, whole + shift if shift else whole)


def exp(x: Number) -> Number:
    return exp_core(x)


def exp2(x: Number) -> Number:
    form = form_of(x)
    limit = 2.0 * form.bias
    x = clamped(x, -limit, limit)
    n, whole = nearest(x)
    r = x - n
    return scaled(fma(r, polynomial(r, form.tables["exp2"]), 1.0), whole)


def exp10(x: Number) -> Number:
    form = form_of(x)
    x = clamped(x, -4.0 * form.bias, 4.0 * form.bias)
    hi, lo = form.ln10
    product = x * hi
    return exp_core(product, fma(x, hi, -product) + x * lo)


def expm1(x: Number) -> Number:
    form = form_of(x)
    c = clamped(x, -2.0 * form.mantissa, (form.bias + 1) * form.ln2[0] + 0.25)  # 2**n stays finite
    n, whole = nearest(c, form.log2_e[0])
    r = fma(n, -form.ln2[1], fma(n, -form.ln2[0], c))
    part = fma(r * r, polynomial(r, form.tables["expm1"]), r)
    half = power_of_two(whole - 1, x)  # half of 2**n: that can overflow where the result does not
    result = fma(part, half, half - 0.5) * 2.0
    return where(absolute(x) < 2.0 ** -(form.mantissa + 2), x, result)


# Logarithms.


def split(x: Number) -> tuple[Number, Number]:
    """Return f and e, a float, with x = (1 + f) * 2**e and 1 + f between the square roots of 1/2 and 2; for x > 0."""
    form = form_of(x)
    tiny = x < form.least
    x = where(tiny, x * 2.0**form.subnormal_shift, x)
    e = (bits(x) - form.sqrt_half) >> form.mantissa
    m = from_bits(bits(x) - (e << form.mantissa), x)
    return m - 1.0, to_float(e, x) - where(tiny, float(form.subnormal_shift), as_proxy(0.0, x))


def log1p_parts(f: Number) -> tuple[Number, Number]:
    """Return log(1 + f) as `f` and a correction, for the `f` of `split`."""
    square = f * f
    return f, square * fma(f, polynomial(f, form_of(f).tables["log1p"]), -0.5)


def log_specials(x: Number, result: Number) -> Number:
    """Return `result`, but -inf at 0, NaN below it, and infinities and NaN as they are."""
    ordinary = (x > 0.0) & (x < INF)
    special = where(x == 0.0, -INF, where(x < 0.0, NAN, x))
    return where(ordinary, result, special)


def log(x: Number) -> Number:
    form = form_of(x)
    f, e = split(x)
    hi, lo = log1p_parts(f)
    return log_specials(x, fma(e, form.ln2[0], fma(e, form.ln2[1], lo) + hi))


def log_scaled(x: Number, factor: tuple[float, float], step: tuple[float, float]) -> Number:
    """Return log(x) times `factor`; `step` is the result for x = 2. All three are given in two parts."""
    f, e = split(x)
    hi, lo = fast_two_sum(*log1p_parts(f))
    product = hi * factor[0]
    error = fma(hi, factor[0], -product) + fma(hi, factor[1], lo * factor[0])
    return log_specials(x, fma(e, step[0], fma(e, step[1], error) + product))


def log2(x: Number) -> Number:
    return log_scaled(x, form_of(x).log2_e, (1.0, 0.0))


def log10(x: Number) -> Number:
    return log_scaled(x, form_of(x).log10_e, form_of(x).log10_2)


def log1p(x: Number) -> Number:
    form = form_of(x)
    far = x > form.large * form.large  # there 1 + x rounds to x, and 2**-e might be subnormal
    x_or_less = where(far, x * 2.0**-form.mantissa, x)
    one = where(far, 0.0, as_proxy(1.0, x))
    e = (bits(x_or_less + one) - form.sqrt_half) >> form.mantissa
    step = power_of_two(-e, x)
    f = fma(x_or_less, step, fma(one, step, -1.0))
    hi, lo = log1p_parts(f)
    e = to_float(e, x) + where(far, float(form.mantissa), as_proxy(0.0, x))
    result = fma(e, form.ln2[0], fma(e, form.ln2[1], lo) + hi)
    special = where(x == -1.0, -INF, where(x < -1.0, NAN, x))
    return where((x > -1.0) & (x < INF), where(x == 0.0, x, result), special)


# Powers and roots.


def log_two_parts(x: Number) -> tuple[Number, Number]:
    """Return log(x) of a positive `x` as hi and lo, with about ten bits more than the type has."""
    form = form_of(x)
    f, e = split(x)
    m = f + 1.0
    d = m + 1.0
    d_lo = m - (d - 1.0)
    inverse = rcp(d)
    s = f * inverse
    s_lo = fma(-s, d_lo, fma(-s, d, f)) * inverse  # s + s_lo = f / (2 + f), and log(1 + f) = 2 atanh of it
    z = s * s
    z_lo = fma(s * 2.0, s_lo, fma(s, s, -z))
    cube = z * s
    cube_lo = fma(z_lo, s, fma(z, s_lo, fma(z, s, -cube)))
    third, third_lo = form.two_thirds
    t = cube * third
    t_lo = fma(cube, third, -t) + fma(cube_lo, third, cube * third_lo)
    rest = cube * z * polynomial(z, form.tables["atanh"])
    hi, lo = fast_two_sum(s * 2.0, t)
    lo = lo + (fma(s_lo, 2.0, t_lo) + rest)
    whole = e * form.ln2_short[0]
    hi, low = fast_two_sum(whole, hi)
    return fast_two_sum(hi, fma(e, form.ln2_short[1], low + lo))


def pow(x: Number, y: Number) -> Number:
    size = absolute(x)
    hi, lo = log_two_parts(size)
    product = y * hi
    error = fma(y, hi, -product) + y * lo
    error = where(absolute(product) < 2.0 * form_of(x).bias, error, 0.0)
    result = exp_core(product, error)
    result = where((size == 0.0) | (size == INF), where((size == 0.0) == (y < 0.0), INF, as_proxy(0.0, x)), result)
    result = where(size == 1.0, 1.0, result)
    whole = truncated(y) == y
    odd = whole & (truncated(y * 0.5) != y * 0.5)
    result = where(odd, copysign(result, x), result)
    result = where((x < 0.0) & (size < INF) & opposite(whole), NAN, result)
    result = where(is_nan(x) | is_nan(y), NAN, result)
    return where((x == 1.0) | (y == 0.0), 1.0, result)


def cbrt(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    tiny, huge = size < form.least, size > 2.0 ** (form.bias - 1)
    size = where(tiny, size * 2.0 ** (3 * form.mantissa), where(huge, size * 2.0**-6, size))
    # A third of the bits has about a third of the exponent; the constant makes the largest error as small as possible.
    third = to_float(bits(size), x) * (1.0 / 3.0)
    guess = int(as_bits(1.0, form) * 2 / 3 - 0.0330624 * 2**form.mantissa)
    t = from_bits(emit(convert.Convert(third.value, form.integer)) + guess, x)
    for _ in range(2 if form.dtype == f32 else 3):  # Halley: each step triples the digits
        cube = t * t * t
        t = t * (fma(size, 2.0, cube) / fma(cube, 2.0, size))
    square = t * t
    square_lo = fma(t, t, -square)
    residue = fma(-square, t, size) - square_lo * t
    t = fma(residue, rcp(square * 3.0), t)
    t = where(tiny, t * 2.0**-form.mantissa, where(huge, t * 4.0, t))
    return where((size > 0.0) & (size < INF), copysign(t, x), x)


def length(xs: tuple[Number, ...]) -> tuple[Number, Number, Number]:
    """Return r, up and down: ``r * up`` is the square root of the sum of squares, and ``down`` is ``1 / up``."""
    form = form_of(xs[0])
    sizes = [absolute(x) for x in xs]
    big = sizes[0]
    for size in sizes[1:]:
        big = emit(arith.Max(big.value, size.value))
    # A power of two near the largest one, in the middle range so that its inverse exists.
    exponent = clamped_integer((bits(big) >> form.mantissa) - form.bias, 2 - form.bias, form.bias - 2)
    down, up = power_of_two(-exponent, big), power_of_two(exponent, big)
    if len(sizes) == 2:
        small = emit(arith.Min(sizes[0].value, sizes[1].value))
        p, q = big * down, small * down
        square = p * p
        return sqrt(fma(q, q, square) + fma(p, p, -square)), up, down
    total: Any = 0.0
    rest: Any = 0.0
    for size in sizes:  # add each square in two parts, and what each sum loses
        p = size * down
        square = p * p
        found = square + total
        lost = (square - (found - total)) + (total - (found - (found - total)))
        total, rest = found, rest + (fma(p, p, -square) + lost)
    return sqrt(total + rest), up, down


def of_length(result: Number, xs: tuple[Number, ...], infinite: float) -> Number:
    """Return `result`, but NaN where one of `xs` is, and `infinite` where one of them is infinite."""
    for x in xs:
        result = where(is_nan(x), NAN, result)
    for x in xs:
        result = where(absolute(x) == INF, infinite, result)
    return result


def hypot(*xs: Number) -> Number:
    root, up, _ = length(xs)
    return of_length(root * up, xs, INF)


def rhypot(*xs: Number) -> Number:
    root, _, down = length(xs)
    return of_length(rcp(root) * down, xs, 0.0)


def rcbrt(x: Number) -> Number:
    size = absolute(x)
    y = rcp(cbrt(x))
    root = y * y
    # One step of Newton's method on 1 / y**3 = x, where none of its terms is subnormal or infinite.
    off = fma(-(root * x), y, 1.0)
    better = fma(y * (1.0 / 3.0), off, y)
    return where((size > form_of(x).least) & (size < INF), better, y)


def clamped_integer(n: Number, low: int, high: int) -> Number:
    return where(n > high, high, where(n < low, low, n))


def ldexp(x: Number, n: Number) -> Number:
    form = form_of(x)
    n = emit(convert.Convert(n.value, form.integer)) if n.dtype != form.integer else n
    top, bottom = form.bias, 1 - form.bias
    down = form.bias - 1 - form.mantissa - 1  # so large a step that roundings on the way vanish in the end
    n = clamped_integer(n, bottom - 2 * down, 3 * top)
    for _ in range(2):
        below, above = n < bottom, n > top
        x = x * where(below, 2.0**-down, where(above, 2.0**top, as_proxy(1.0, x)))
        n = n + where(below, down, where(above, -top, as_proxy(0, n)))
    return x * power_of_two(n, x)


# Trigonometry.


def reduced(x: Number) -> tuple[Number, Number]:
    """Return r and q, where x = q * pi/2 + r."""
    return emit(trig.TrigReduce(x.value))  # type: ignore[no-any-return]


def sin_core(r: Number) -> Number:
    z = r * r
    return fma(z * r, polynomial(z, form_of(r).tables["sin"]), r)


def cos_core(r: Number) -> Number:
    z = r * r
    half = z * 0.5
    head = 1.0 - half
    return head + fma(z * z, polynomial(z, form_of(r).tables["cos"]), (1.0 - head) - half)


def quadrant(q: Number, even: Number, odd: Number) -> Number:
    """Return `even` or `odd` by the lowest bit of `q`, negated if the next bit is set."""
    value = where((q & 1) == 0, even, odd)
    return where((q & 2) == 0, value, -value)


def sincos(x: Number) -> tuple[Number, Number]:
    r, q = reduced(x)
    s, c = sin_core(r), cos_core(r)
    return where(x == 0.0, x, quadrant(q, s, c)), quadrant(q + 1, s, c)


def sin(x: Number) -> Number:
    return sincos(x)[0]


def cos(x: Number) -> Number:
    return sincos(x)[1]


def tan(x: Number) -> Number:
    r, q = reduced(x)
    z = r * r
    t = fma(z * r, polynomial(z, form_of(x).tables["tan"]), r)
    return where(x == 0.0, x, where((q & 1) == 0, t, -1.0 / t))


def sincospi(x: Number) -> tuple[Number, Number]:
    """Return sin(pi x) and cos(pi x). x = 2 n + q / 2 + r is exact, so the results at multiples of 1/2 are too."""
    form = form_of(x)
    rest = fma(emit(math.Rint((x * 0.5).value)), -2.0, x)
    q = emit(math.Rint((rest * 2.0).value))
    r = fma(q, -0.5, rest)
    q = where(q < 0.0, q + 4.0, q)
    hi = r * form.pi[0]
    lo = fma(r, form.pi[0], -hi) + r * form.pi[1]
    s = sin_core(hi)
    s = s + lo * fma(s * 0.5, -s, 1.0)  # 1 - s**2 / 2 is close enough to the cosine, as lo is small
    c = cos_core(hi) - lo * hi
    turned, back = (q == 1.0) | (q == 3.0), q >= 2.0
    left = (q == 1.0) | (q == 2.0)
    sine, cosine = where(turned, c, s), where(turned, s, c)
    sine = where(back, -sine, sine)
    cosine = where(left, -cosine, cosine)
    sine = where(r == 0.0, where(turned, sine, copysign(as_proxy(0.0, x), x)), sine)  # IEEE 754: sinPi(-1) is -0
    return sine, where((r == 0.0) & turned, 0.0, cosine)  # and cosPi of a half +0


def sinpi(x: Number) -> Number:
    return sincospi(x)[0]


def cospi(x: Number) -> Number:
    return sincospi(x)[1]


def atan_core(x: Number) -> Number:
    """Return the arc tangent for 0..1."""
    z = x * x
    return fma(z * x, polynomial(z, form_of(x).tables["atan"]), x)


def atan(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    steep = size > 1.0
    t = atan_core(where(steep, rcp(size), size))
    return copysign(where(steep, form.half_pi[0] - (t - form.half_pi[1]), t), x)


def atan2(y: Number, x: Number) -> Number:
    form = form_of(x)
    a, b = absolute(x), absolute(y)
    big, small = emit(arith.Max(a.value, b.value)), emit(arith.Min(a.value, b.value))
    ratio = where(big == small, 1.0, small / big)  # also if both are infinite
    t = where(big == 0.0, 0.0, atan_core(ratio))
    t = where(b > a, form.half_pi[0] - (t - form.half_pi[1]), t)
    left = copysign(1.0, x) < 0.0
    t = where(left, form.half_pi[0] * 2.0 - (t - form.half_pi[1] * 2.0), t)
    return where(is_nan(x) | is_nan(y), NAN, copysign(t, y))


def asin_rest(x: Number) -> Number:
    """Return asin(x) - x for 0..1/2."""
    z = x * x
    return z * x * polynomial(z, form_of(x).tables["asin"])


def asin(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    steep = size > 0.5
    base = where(steep, sqrt(fma(size, -0.5, 0.5)), size)
    more = asin_rest(base)
    hi, lo = fast_two_sum(as_proxy(form.half_pi[0], x), base * -2.0)
    complement = hi + (lo - fma(more, 2.0, -form.half_pi[1]))
    return copysign(where(steep, complement, base + more), x)


def acos(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    steep = size > 0.5
    base = where(steep, sqrt(fma(size, -0.5, 0.5)), size)
    t = base + asin_rest(base)
    flat = form.half_pi[0] - (copysign(t, x) - form.half_pi[1])
    obtuse = form.half_pi[0] * 2.0 - fma(t, 2.0, -2.0 * form.half_pi[1])
    return where(steep, where(x > 0.0, t * 2.0, obtuse), flat)


# Hyperbolic functions.


def sinh(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    z = size * size
    small = fma(z * size, polynomial(z, form.tables["sinh"]), size)
    half = exp_core(size, shift=-1)
    return copysign(where(size < 1.0, small, half - 0.25 / half), x)


def cosh(x: Number) -> Number:
    half = exp_core(absolute(x), shift=-1)
    return half + 0.25 / half


def tanh(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    z = size * size
    small = fma(z * size, polynomial(z, form.tables["tanh"]), size)
    return copysign(where(size < 0.6, small, 1.0 - 2.0 / (exp_core(size * 2.0) + 1.0)), x)


def asinh(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    far = size > form.large
    inner = size + size * size / (sqrt(fma(size, size, 1.0)) + 1.0)
    result = log1p(where(far, size - 1.0, inner))
    return copysign(where(far, result + form.ln2[0], result), x)


def acosh(x: Number) -> Number:
    form = form_of(x)
    t = x - 1.0
    far = x > form.large
    result = log1p(where(far, t, t + sqrt(fma(t, t, t * 2.0))))
    return where(x < 1.0, NAN, where(far, result + form.ln2[0], result))


def atanh(x: Number) -> Number:
    size = absolute(x)
    return copysign(log1p(size * 2.0 / (1.0 - size)) * 0.5, x)


# The error function.


def erf(x: Number) -> Number:
    form = form_of(x)
    size = absolute(x)
    small = erf_core(size)
    if "erf_tail" in form.tables:
        y = clamped(size, 0.0, form.erf_limit)
        rest = exp2(-polynomial(y, form.tables["erf_tail"]))
    else:
        rest = erfc_core(clamped(size, 0.0, form.erf_limit))
    return copysign(where(size < 1.0, small, 1.0 - rest), x)


def erf_core(x: Number) -> Number:
    """Return erf(x) for -1..1."""
    return fma(x, polynomial(x * x, form_of(x).tables["erf"]), x)


def erfcx_core(a: Number) -> Number:
    """Return exp(a * a) erfc(a) for 0 to where erfc is 0."""
    t = (a - 4.0) / (a + 4.0)
    return polynomial(t, form_of(a).tables["erfcx"]) / fma(a, 2.0, 1.0)


def erfc_core(a: Number) -> Number:
    """Return erfc(x) for 0 and above."""
    tail = erfcx_core(a)
    square = a * a
    gauss = exp_core(-square, -fma(a, a, -square))
    return gauss * tail


def erfc(x: Number) -> Number:
    size = absolute(x)
    rest = erfc_core(clamped(size, 0.0, 40.0))  # 0 far before 40
    rest = where(x < 0.0, 2.0 - rest, rest)
    return where(size < 0.5, 1.0 - erf_core(x), rest)


FAR = (-1 / 2, 3 / 4, -15 / 8, 105 / 16, -945 / 32, 10395 / 64, -135135 / 128)
"""The series of sqrt(pi) x erfcx(x) - 1 in 1 / x**2, from x**-2 on (Abramowitz and Stegun, 7.1.23)."""


def erfcx(x: Number) -> Number:
    size = absolute(x)
    start = 10.0 if x.dtype == f32 else 26.0  # from here on the series is accurate to the last place
    near = erfcx_core(clamped(size, 0.0, start))
    inverse = rcp(size)
    square = inverse * inverse
    far = fma(inverse, square * polynomial(square, FAR), inverse) * 0.5641895835477563
    positive = where(size > start, far, near)
    square = x * x
    low = where(square < 1000.0, fma(x, x, -square), 0.0)  # above, the exponential is infinite anyway
    return where(x < 0.0, exp_core(square, low, shift=1) - where(size < INF, positive, 0.0), positive)


def normcdf(x: Number) -> Number:
    """Return ``erfc(-x / sqrt(2)) / 2``; the square, not the quotient, is taken in two parts."""
    size = absolute(x)
    size = clamped(size, 0.0, 15.0 if x.dtype == f32 else 39.0)  # 0 from there on
    root = size * 0.7071067811865476
    square = size * size
    gauss = exp_core(square * -0.5, fma(size, size, -square) * -0.5)
    rest = gauss * (erfcx_core(root) * 0.5)
    small = erf_core(root) * 0.5
    centre = where(x < 0.0, 0.5 - small, small + 0.5)
    return where(size < 0.7, centre, where(x > 0.0, 1.0 - rest, rest))


# The gamma function, and the inverse of the error function. f32 is computed in f64, and rounded.


def in_f64(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """Return a function of f64 that takes f32 too: it is computed in f64, and the result rounded to f32."""

    def computed(x: Number) -> Number:
        if x.dtype != f32:
            return function(x)
        return emit(convert.Convert(function(emit(convert.Convert(x.value, f64))).value, f32))

    return computed


STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""The series of lgamma in 1 / x, from x ** -1 on in odd powers (Abramowitz and Stegun, 6.1.41)."""
LEAST = 10.0  # from here on the series is accurate to the last place
HALF_LOG_TWO_PI = 0.9189385332046727
PI = 3.141592653589793


def shifted(x: Number) -> tuple[Number, Number, Number]:
    """Return x + n for the least n that gives `LEAST` or more, x (x + 1) ... (x + n - 1), and its derivative; x > 0."""
    n = where(x < LEAST, emit(math.Ceil((LEAST - x).value)), 0.0)
    product: Any = 1.0
    slope: Any = 0.0
    for k in range(int(LEAST)):
        term = x + float(k)
        slope = where(term < LEAST, fma(term, slope, product), slope)
        product = product * where(term < LEAST, term, 1.0)
    return x + n, product, slope


def sin_pi(x: Number) -> Number:
    """Return sin(pi x), with multiples of 2 subtracted from x first."""
    whole = emit(math.Rint(x.value))
    rest = x - whole
    half = whole * 0.5
    odd = half != emit(math.Rint(half.value))
    value = sin(rest * PI)
    return where(odd, -value, value)


@in_f64
def lgamma(x: Number) -> Number:
    """Return the logarithm of the magnitude of gamma(x)."""
    size = absolute(x)
    z, product, _ = shifted(size)
    inverse = rcp(z)
    series = inverse * polynomial(inverse * inverse, STIRLING)
    value = fma(z - 0.5, log(z), -z) + (HALF_LOG_TWO_PI + series) - log(product)
    sine = absolute(sin_pi(x))
    value = where(x <= 0.0, log(divide(as_proxy(PI, x), sine * size)) - value, value)  # gamma(1 - x) = -x gamma(-x)
    value = where((x == 1.0) | (x == 2.0), 0.0, where(size < 1e-100, -log(size), value))  # sine * size is 0 there
    return where(size == INF, as_proxy(INF, x), value)


@in_f64
def tgamma(x: Number) -> Number:
    """Return gamma(x)."""
    size = absolute(x)
    z, product, _ = shifted(size)
    z = clamped(z, 0.0, 200.0)
    inverse = rcp(z)
    root = pow(z, fma(z, 0.5, -0.25))  # half of the exponent: z ** (z - 0.5) overflows before exp(-z) brings it back
    series = exp(inverse * polynomial(inverse * inverse, STIRLING))
    rest = divide(exp(-z) * root * (2.5066282746310002 * series), product)
    reflected = divide(divide(divide(as_proxy(PI, x), sin_pi(x) * size), root), rest)
    whole = (emit(math.Rint(x.value)) == x) & (x < 0.0)
    reflected = where(whole, NAN, where(size < 1e-17, rcp(x), reflected))  # sin_pi(x) * size is 0 there
    return where(x <= 0.0, where(x == -INF, NAN, reflected), where(x > 172.0, INF, root * rest))


@in_f64
def digamma(x: Number) -> Number:
    """Return the derivative of log(gamma(x))."""
    size = absolute(x)
    z, product, slope = shifted(size)
    inverse = rcp(z)
    square = inverse * inverse
    series = polynomial(square, tuple(c * (2 * k + 1) for k, c in enumerate(STIRLING)))
    value = log(z) - fma(square, series, inverse * 0.5) - divide(slope, product)
    sine, cosine = sincospi(size)
    reflected = where(sine == 0.0, NAN, value + rcp(size) + divide(cosine, sine) * PI)
    value = where(x < 0.0, where(x == -INF, NAN, reflected), value)
    return where(size < 1e-17, -rcp(x), value)


def erfinv(y: Number) -> Number:
    size = absolute(y)
    x = quantile(size, 1.0 - size, -log1p(-size * size))
    return copysign(where(size > 1.0, NAN, x), y)


@in_f64
def erfcinv(y: Number) -> Number:
    rest = where(y > 1.0, 2.0 - y, y)
    size = 1.0 - rest
    x = quantile(size, rest, -(log(rest) + log1p(size)))
    x = where(y > 1.0, -x, x)
    return where((y >= 0.0) & (y <= 2.0), x, NAN)


@in_f64
def normcdfinv(p: Number) -> Number:
    return erfcinv(p * 2.0) * -1.4142135623730951


def quantile(size: Number, rest: Number, w: Number) -> Number:
    """Return the x with erf(x) = size and erfc(x) = rest: a guess right to 2e-3 (Winitzki), and Halley's method.

    w  -log(1 - size * size)
    """
    w = where(w > 0.0, w, 0.0)
    shift = 4.330746750799873 - w * 0.5
    more = w * (1 / 0.147)
    x = sqrt(divide(more, sqrt(fma(shift, shift, more)) + shift))
    for _ in range(2 if size.dtype == f32 else 4):
        square = x * x
        half = exp_core(square * 0.5, fma(x, x, -square) * 0.5)  # its square is e**(x * x), which can overflow
        off = where(size < 0.5, (erf_core(x) - size) * half * half, rest * half * half - erfcx_core(x))
        step = off * 0.886226925452758
        x = x - divide(step, fma(x, step, 1.0))
    return where(size == 0.0, size, where(rest == 0.0, INF, x))


# Numbers taken apart. Exact.


def frexp(x: Number) -> tuple[Number, Number]:
    form = form_of(x)
    size = absolute(x)
    tiny = size < form.least
    wide = where(tiny, x * 2.0**form.subnormal_shift, x)
    field = (bits(absolute(wide)) >> form.mantissa) - (form.bias - 1)
    ordinary = (size > 0.0) & (size < INF)
    kept = bits(wide) & ~(((1 << form.dtype.bits - 1 - form.mantissa) - 1) << form.mantissa)
    mantissa = from_bits(kept | ((form.bias - 1) << form.mantissa), x)
    exponent = where(ordinary, field - where(tiny, form.subnormal_shift, as_proxy(0, field)), 0)
    return where(ordinary, mantissa, x), exponent


def modf(x: Number) -> tuple[Number, Number]:
    whole = truncated(x)
    return copysign(where(absolute(x) == INF, 0.0, x - whole), x), copysign(whole, x)


def logb(x: Number) -> Number:
    size = absolute(x)
    result = to_float(frexp(x)[1], x) - 1.0
    return where(size == 0.0, -INF, where(size < INF, result, where(is_nan(x), x, INF)))


def fdim(x: Number, y: Number) -> Number:
    return where(is_nan(x) | is_nan(y), NAN, where(x > y, x - y, 0.0))


def remquo(x: Number, y: Number) -> tuple[Number, Number]:
    """Return the remainder, and the quotient modulo 8 with its sign."""
    rest = remainder(x, y)
    eightfold = absolute(y) * 8.0
    more = where(eightfold < INF, fmod(x, eightfold), x)
    quotient = emit(math.Rint((more / absolute(y) - rest / absolute(y)).value))
    quotient = quotient - truncated(quotient * 0.125) * 8.0
    return rest, where(is_nan(rest), 0.0, copysign(1.0, y) * quotient)
