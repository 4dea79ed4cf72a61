"""Numbers as LLVM writes them: exact, in the format of their type."""

from __future__ import annotations

import struct
from math import copysign, frexp, inf, isfinite, isnan, ldexp

from cutelite.ir.types import Scalar

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23), "tf32": (8, 23)}
"""Bits of the exponent and of the stored significand, by format."""


def constant(value: int | float | bool, elem: Scalar) -> str:
    """Return `value` as a constant of type `elem`; floats are rounded to nearest even."""
    if elem.kind == "bool":
        return "true" if value else "false"
    if not elem.is_float:
        return str(int(value))
    bits = float_bits(float(value), elem)
    match elem.name:
        case "f16":
            return f"0xH{bits:04X}"
        case "bf16":
            return f"0xR{bits:04X}"
        case "e4m3" | "e5m2":
            return str(bits)
        case "f64":
            return f"0x{bits:016X}"
    single: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return f"0x{_double_bits(single):016X}"  # LLVM writes a float as the double of the same value


def _double_bits(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


def float_bits(value: float, elem: Scalar) -> int:
    """Return the bits of `value` in the format of `elem`. e4m3 has no infinity: too large numbers become NaN."""
    if elem.name == "f64":
        return _double_bits(value)
    exponent_bits, stored = FORMATS[elem.name]
    sign = int(copysign(1.0, value) < 0) << (exponent_bits + stored)
    top = (1 << exponent_bits) - 1
    no_infinity = elem.name == "e4m3"
    infinity = top << stored
    nan = infinity | ((1 << stored) - 1 if no_infinity else 1 << (stored - 1))
    if isnan(value):
        return sign | nan
    if not isfinite(value):
        return sign | (nan if no_infinity else infinity)
    if value == 0.0:
        return sign
    bias = top >> 1
    exponent = max(frexp(abs(value))[1] - 1, 1 - bias)
    units = ldexp(abs(value), stored - exponent)
    whole = _to_even(units)
    bits = whole + ((exponent + bias - 1) << stored)  # the hidden bit of `whole` adds 1 to the exponent
    largest = nan - 1 if no_infinity else infinity - 1
    return sign | (bits if bits <= largest else nan if no_infinity else infinity)


def _to_even(x: float) -> int:
    """Round to the nearest integer; of two equally near ones, to the even one."""
    return int(x) if x >= ldexp(1.0, 53) or x == inf else round(x)
