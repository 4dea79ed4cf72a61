"""Reference arithmetic: the numbers that each type holds and its rounding, without code of the simulator.

A value of the reference is a NumPy array with an element for each thread: of the integer types, `bool`, float16,
float32 and float64 as they are; bf16 and tf32 as the float32 numbers that they are.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

Array = Any

SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
INTS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64")
TYPES = ("bool", *INTS, *FLOATS)

HELD: dict[str, Any] = {
    "bool": np.bool_,
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "f16": np.float16,
    "bf16": np.float32,
    "f32": np.float32,
    "f64": np.float64,
}
"""NumPy's dtype of the reference's arrays."""

FORMATS: dict[str, tuple[int, int, Fraction]] = {
    "e4m3": (4, -6, Fraction(448)),
    "e5m2": (3, -14, Fraction(57344)),
    "f16": (11, -14, Fraction(65504)),
    "bf16": (8, -126, (2 - Fraction(1, 2**7)) * 2**127),
    "tf32": (11, -126, (2 - Fraction(1, 2**10)) * 2**127),
    "f32": (24, -126, (2 - Fraction(1, 2**23)) * 2**127),
    "f64": (53, -1022, (2 - Fraction(1, 2**52)) * 2**1023),
}
"""Bits of the significand with the hidden one, least normal exponent, largest number."""


def bits(t: str) -> int:
    return 1 if t == "bool" else int(t[-2:]) if t[-2:].isdigit() else int(t[-1:])


def limits(t: str) -> tuple[int, int]:
    n = bits(t)
    return (-(1 << n - 1), (1 << n - 1) - 1) if t[0] == "i" else (0, (1 << n) - 1)


def each(function: Callable[..., Any], t: str, *arrays: Array) -> Array:
    """Apply `function` to Python numbers, thread by thread; integer results wrap."""
    results = [function(*(x.item() for x in row)) for row in zip(*arrays, strict=True)]
    if t in INTS:
        low, high = limits(t)
        results = [(int(x) - low) % (high - low + 1) + low for x in results]
    return np.array(results, HELD[t])


# Rounding.

WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "rm": math.floor,
    "rp": math.ceil,
    "rna": lambda x: math.trunc(x + (Fraction(1, 2) if x >= 0 else Fraction(-1, 2))),
}


def nearest(exact: Fraction, t: str, mode: str = "rn") -> Fraction | float:
    """Round an exact number once to the float type `t`; beyond the largest, to infinity if the mode rounds there."""
    precision, least, largest = FORMATS[t]
    if exact == 0:
        return Fraction(0)
    exponent = _exponent(abs(exact))
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    value = WHOLE[mode](exact / unit) * unit
    if abs(value) <= largest:
        return value
    stops = mode == "rz" or (mode == "rm" and value > 0) or (mode == "rp" and value < 0)
    size = float(largest) if stops else math.inf
    return size if value > 0 else -size


def _exponent(x: Fraction) -> int:
    """floor(log2(x))."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def rounded(x: float, t: str, mode: str = "rn", saturate: bool = False) -> float:
    """Round a number to the float type `t`; return a float. Infinities and NaN stay; fp8 has the largest, or NaN."""
    saturate = saturate or t in ("e4m3", "e5m2")
    if isinstance(x, float) and math.isnan(x):
        return x
    infinite = isinstance(x, float) and math.isinf(x)
    value = float(x) if infinite else float(nearest(Fraction(x), t, mode))
    if math.isinf(value) and saturate:
        value = math.copysign(float(FORMATS[t][2]), value)
    return math.copysign(value, x) if value == 0 and isinstance(x, float) else value


def from_float(x: Array, t: str, mode: str = "rn", saturate: bool = False) -> Array:
    """Convert numbers (floats or integers) to floats of type `t`."""
    dtype = HELD.get(t, np.float32)
    return np.array([rounded(v.item(), t, mode, saturate) for v in x], dtype)


def to_int(x: Array, t: str, mode: str = "rz") -> Array:
    """Convert floats to integers: rounded, clamped to the range, NaN as 0."""
    low, high = limits(t)

    def one(v: float) -> int:
        if math.isnan(v):
            return 0
        return (high if v > 0 else low) if math.isinf(v) else min(max(WHOLE[mode](Fraction(v)), low), high)

    return np.array([one(float(v)) for v in x], HELD[t])


def wrapped(x: Array, t: str) -> Array:
    """Wrap integers: keep their low bits."""
    return x.astype(HELD[t])


def fused(a: float, b: float, c: float, t: str) -> float:
    """Return a * b + c, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        if math.isfinite(a) and math.isfinite(b):
            return c
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product = math.copysign(1, a) * math.copysign(1, b)
        same = (a == 0 or b == 0) and product == math.copysign(1, c)
        return math.copysign(0.0, product) if same else 0.0
    value = float(nearest(exact, t))
    return math.copysign(value, -1 if exact < 0 else 1)


def least(a: Array, b: Array) -> Array:
    """Return the smaller of floats; the other one if one is NaN; -0 is below +0 (PTX ISA: min)."""
    below = np.where(a == b, np.signbit(a), a < b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(below, a, b)))


def greatest(a: Array, b: Array) -> Array:
    return -least(-a, -b)


# Inputs.


def samples(t: str, count: int, draw: np.random.Generator) -> Array:
    """Return numbers of type `t`: of ordinary size, at the ends of the range, next to powers of 2, halfway between
    those of narrower formats, and any bits."""
    if t == "bool":
        return draw.random(count) < 0.5
    if t in INTS:
        low, high = limits(t)
        wide = np.frombuffer(draw.bytes(count * bits(t) // 8), HELD[t])
        small = draw.integers(max(low, -9), 10, count).astype(HELD[t])
        ends = np.array([low, low + 1, high - 1, high, 0, 1, 1 << bits(t) // 2], HELD[t])
        powers = (1 << draw.integers(0, bits(t) - 1, count)) + draw.integers(-1, 2, count)
        near = (powers * (draw.choice([-1, 1], count) if low else 1)).astype(HELD[t])
        return np.choose(draw.integers(0, 5, count), [wide, small, small, near, draw.choice(ends, count)])
    largest = float(FORMATS[t][2])
    tiny = 2.0 ** FORMATS[t][1]
    ends = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, largest, -largest, tiny, tiny / 4, 0.5, 2.5])
    any_size = np.ldexp(draw.standard_normal(count), draw.integers(-20, 20, count))
    small = draw.integers(-9, 10, count).astype(float)
    halfway = np.ldexp(draw.integers(-(2**12), 2**12, count).astype(float), draw.integers(-30, 20, count))
    drawn = [any_size, any_size, small, small, halfway, draw.choice(ends, count)]
    chosen = np.choose(draw.integers(0, len(drawn), count), drawn)
    return from_float(chosen.astype(np.float64), t)
