"""Make `cutelite/lang/libm_tables.py`: polynomials for the accurate functions of `cutelite.lang.libm`.

    python docs/tools/fit_libm.py > cutelite/lang/libm_tables.py          (needs mpmath)

Each is a weighted least-squares fit on Chebyshev points, which is near-minimax; its coefficients are rounded to the
type one after the other, lowest first, and the rest fitted anew each time. The weight makes the error one relative
to the value of the function that the polynomial is a part of. Written beside each table: the largest such error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill

from mpmath import mp, mpf

mp.prec = 400
Real = Callable[[mpf], mpf]
SMALL = mpf(10) ** -8  # closer to 0 than this, the Taylor series stands in for a quotient that cancels


@dataclass(frozen=True)
class Fit:
    """A polynomial for `function` on `interval`, with errors counted `weight` times; degrees for f32 and f64."""

    function: Real
    weight: Real
    interval: tuple[object, object]
    degrees: tuple[int | None, int | None]


def odd(f: Real, first: object, series: tuple[object, ...], end: object, degrees: tuple[int, int]) -> Fit:
    """q(z) in f(x) = first * x + x**3 q(x**2), for x**2 up to `end`; `series` are the first coefficients of q."""
    quotient = near_zero(lambda z: (f(mp.sqrt(z)) - first * mp.sqrt(z)) / z**1.5, series)
    return Fit(quotient, lambda z: z**1.5 / f(mp.sqrt(z)), (0, end), degrees)


def near_zero(f: Real, series: tuple[object, ...]) -> Real:
    return lambda z: f(z) if abs(z) > SMALL else mp.polyval([mpf(c) for c in series[::-1]], z)


def fraction(top: int, bottom: int) -> mpf:
    return mpf(top) / bottom


LN2 = mp.ln(2)
QUARTER = (mp.pi / 4) ** 2 * mpf("1.01")  # x**2 of a reduced angle, which can lie a little outside pi/4
FITS = {
    # e**r - 1 = r + r**2 q(r)
    "expm1": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, (fraction(1, 2), fraction(1, 6), fraction(1, 24))),
        lambda r: r * r / mp.expm1(r),
        (mpf("-0.3502"), mpf("0.3502")),
        (5, 10),
    ),
    # 2**r = 1 + r q(r)
    "exp2": Fit(
        near_zero(lambda r: mp.expm1(r * LN2) / r, (LN2, LN2**2 / 2, LN2**3 / 6, LN2**4 / 24)),
        lambda r: r / 2**r,
        (mpf("-0.5"), mpf("0.5")),
        (5, 12),
    ),
    # log(1 + f) = f - f**2 / 2 + f**3 q(f)
    "log1p": Fit(
        near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, (fraction(1, 3), fraction(-1, 4), fraction(1, 5))),
        lambda f: f**3 / mp.log1p(f),
        (mpf("-0.2930"), mpf("0.4143")),
        (8, 20),
    ),
    # 2 atanh(s) = 2 s + 2 / 3 s**3 + s**5 q(s**2)
    "atanh": Fit(
        near_zero(
            lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z) - 2 * z**1.5 / 3) / z**2.5,
            (fraction(2, 5), fraction(2, 7), fraction(2, 9)),
        ),
        lambda z: z**2.5 / (2 * mp.atanh(mp.sqrt(z))),
        (0, mpf("0.0296")),
        (2, 7),
    ),
    "sin": odd(mp.sin, 1, (fraction(-1, 6), fraction(1, 120)), QUARTER, (3, 6)),
    # cos(x) = 1 - z / 2 + z**2 q(z), z = x**2
    "cos": Fit(
        near_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, (fraction(1, 24), fraction(-1, 720))),
        lambda z: z**2 / mp.cos(mp.sqrt(z)),
        (0, QUARTER),
        (2, 6),
    ),
    "tan": odd(mp.tan, 1, (fraction(1, 3), fraction(2, 15)), QUARTER, (6, 14)),
    "asin": odd(mp.asin, 1, (fraction(1, 6), fraction(3, 40)), mpf("0.2501"), (4, 12)),
    "atan": odd(mp.atan, 1, (fraction(-1, 3), fraction(1, 5)), 1, (8, 19)),
    "sinh": odd(mp.sinh, 1, (fraction(1, 6), fraction(1, 120)), 1, (3, 8)),
    "tanh": odd(mp.tanh, 1, (fraction(-1, 3), fraction(2, 15)), mpf("0.3601"), (4, 11)),
    # erf(x) = x + x q(x**2)
    "erf": Fit(
        near_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, (2 / mp.sqrt(mp.pi) - 1, -2 / mp.sqrt(mp.pi) / 3)),
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        (0, 1),
        (6, 13),
    ),
    # erf(y) = 1 - 2**-q(y) for y from 1 on
    "erf_tail": Fit(
        lambda y: -mp.log(mp.erfc(y), 2),
        lambda y: LN2 * mp.erfc(y) / mp.erf(y),
        (1, 4),
        (6, None),
    ),
    # erfc(a) = exp(-a**2) q(t) / (1 + 2 a), t = (a - 4) / (a + 4)
    "erfcx": Fit(
        lambda t: (1 + 2 * outside(t)) * mp.exp(outside(t) ** 2) * mp.erfc(outside(t)),
        lambda t: 1 / ((1 + 2 * outside(t)) * mp.exp(outside(t) ** 2) * mp.erfc(outside(t))),
        (-1, (mpf("6.2") / mpf("14.2"), mpf("23.3") / mpf("31.3"))),
        (10, 23),
    ),
}


def outside(t: mpf) -> mpf:
    return 4 * (1 + t) / (1 - t)


def fitted(fit: Fit, which: int) -> tuple[list[mpf], mpf]:
    """Coefficients, lowest first, and the largest weighted error. `which`: 0 for f32, 1 for f64."""
    degree, bits = fit.degrees[which], (24, 53)[which]
    assert degree is not None
    low, end = fit.interval
    high = end[which] if isinstance(end, tuple) else end
    points = chebyshev(mpf(low), mpf(high), 6 * degree + 20)
    rest = [fit.function(x) for x in points]
    weights = [fit.weight(x) for x in points]
    found = []
    for power in range(degree + 1):
        coefficient = rounded(least_squares(points, rest, weights, power, degree), bits)
        found.append(coefficient)
        rest = [value - coefficient * x**power for value, x in zip(rest, points, strict=True)]
    tests = chebyshev(mpf(low), mpf(high), 701)
    errors = (fit.weight(x) * (mp.polyval(found[::-1], x) - fit.function(x)) for x in tests)
    return found, max(map(abs, errors))


def chebyshev(low: mpf, high: mpf, count: int) -> list[mpf]:
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + 0.5) / count) for i in range(count)]


def least_squares(points: list[mpf], values: list[mpf], weights: list[mpf], lowest: int, degree: int) -> mpf:
    """The coefficient of x**lowest in the best polynomial of the powers from `lowest` to `degree`."""
    count = degree + 1 - lowest
    moments = [mpf(0)] * (2 * count - 1)
    right = [mpf(0)] * count
    for x, value, weight in zip(points, values, weights, strict=True):
        for j in range(2 * count - 1):
            moments[j] += weight**2 * x ** (2 * lowest + j)
        for j in range(count):
            right[j] += weight**2 * value * x ** (lowest + j)
    rows = mp.matrix([[moments[i + j] for j in range(count)] for i in range(count)])
    return mp.lu_solve(rows, mp.matrix(right))[0]


def rounded(x: mpf, bits: int) -> mpf:
    mantissa, exponent = mp.frexp(x)
    return mp.ldexp(mp.nint(mantissa * 2**bits), exponent - bits)


def shortest(x: float, which: int) -> str:
    """The shortest decimal that rounds to `x` in its type."""
    if which:
        return repr(x)
    texts = (f"{x:.{digits}g}" for digits in range(1, 18))
    return next(text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == x)


def main() -> None:
    made = "Coefficients of the polynomials in `lang.libm`, lowest power first. Made by `docs/tools/fit_libm.py`."
    print(f'"""{made}"""\n\n# fmt: off')
    print("TABLES: dict[str, dict[str, tuple[float, ...]]] = {")
    for which, dtype in enumerate(("f32", "f64")):
        print(f'    "{dtype}": {{')
        for name, fit in FITS.items():
            if fit.degrees[which] is None:
                continue
            coefficients, error = fitted(fit, which)
            print(f'        "{name}": (  # within 2**{mp.nstr(mp.log(error, 2), 3)}')
            numbers = ", ".join(shortest(float(coefficient), which) for coefficient in coefficients)
            print(fill(f"{numbers},", 120, initial_indent=" " * 12, subsequent_indent=" " * 12))
            print("        ),")
        print("    },")
    print("}")


if __name__ == "__main__":
    main()
