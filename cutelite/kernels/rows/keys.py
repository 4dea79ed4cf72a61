"""f32 as integers of the same order, where NaN is above all, as torch has it."""

from typing import Any

import cutelite as cl
from cutelite import f32, i32, u32

ALL = 0xFFFFFFFF


def ordered(v: Any) -> Any:
    """Return f32, a number or a vector, as u32 of the same order: -0 is 0, NaN the greatest, and 0 below all."""
    bits = cl.bitcast(v + 0.0, u32)
    sign = cl.bitcast(cl.bitcast(bits, i32) >> 31, u32)
    return cl.where(v != v, u32(ALL), bits ^ (sign | 0x80000000))


def number(key: Any) -> Any:
    """Return the f32 of which `key` is the order."""
    return cl.bitcast(cl.where(key >= 0x80000000, key ^ 0x80000000, ~key), f32)
