"""Conversions of 4-bit and 8-bit weights in registers to bf16, by integer instructions: fewer than `cvt` would take.

The elements of a 32-bit word have a certain order in it: element `e` is at place ``narrow_place(bits, e)``.

    word = 0
    for e in range(32 // bits):
        word |= (value[e] & (1 << bits) - 1) << bits * cl.narrow_place(bits, e)
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import bf16, u32
from cutelite.lang.bits import lop3
from cutelite.lang.convert import bitcast
from cutelite.lang.emit import describe, mistake
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor

AND_XOR = (0xF0 & 0xCC) ^ 0xAA  # lop3's table for a & b ^ c
AND_OR = (0xF0 & 0xCC) | 0xAA  # and for a & b | c
ONES = 0x43004300  # 128.0 twice. From 128 to 256 the last place of a bf16 is 1, so that 128 + i is 0x4300 | i


def narrow_place(bits: int, e: int) -> int:
    """Return the place of element `e` in its word, in units of `bits` from the lowest bit.

    Elements 2 i and 2 i + 1 are at place i of the word's low and high half: shifted right by i places, the word has
    them at the low ends of two bf16.
    """
    return e % 2 * (16 // bits) + e // 2


def bf16_of_i4(words: Any) -> Any:
    """Convert n u32, each eight signed 4-bit integers, to a vector of 8 n bf16. Exact.

    With its sign bit flipped, the code of i is i + 8. One `lop3` flips it and puts it into the low bits of 128.0, which
    makes 136 + i; a subtraction of 136 is left.
    """
    pairs = make_rmem_tensor(u32, (4, words.n))
    for w in static_range(words.n):
        for i in static_range(4):
            pairs[i, w] = lop3(words[w] >> 4 * i, 0x000F000F, ONES ^ 0x00080008, AND_XOR)
    return bitcast(pairs.load(), bf16) - 136.0


def bf16_of_e2m1(words: Any) -> Any:
    """Convert n u32, each eight e2m1, to a vector of 8 n bf16. Exact, the subnormal 0.5 too.

    Sign, exponent and fraction are moved to their places in a bf16. Its exponent has a bias of 127 where e2m1 has 1,
    and the factor 2**126 makes that good.
    """
    pairs = make_rmem_tensor(u32, (4, words.n))
    for w in static_range(words.n):
        for i in static_range(4):
            moved = words[w] << 6 - 4 * i if i < 2 else words[w] >> 4 * i - 6
            pairs[i, w] = lop3(words[w] << 12 - 4 * i, 0x80008000, moved & 0x01C001C0, AND_OR)
    return bitcast(pairs.load(), bf16) * 2.0**126


def bf16_of_i8(words: Any) -> Any:
    """Convert n u32, each four signed 8-bit integers, to a vector of 4 n bf16. Exact.

    Put into 128.0, the low seven bits make 128 + them, and the sign bit makes 128 or 256: the difference is the number.
    """
    low, sign = make_rmem_tensor(u32, (2, words.n)), make_rmem_tensor(u32, (2, words.n))
    for w in static_range(words.n):
        for i in static_range(2):
            low[i, w] = lop3(words[w] >> 8 * i, 0x007F007F, ONES, AND_OR)
            sign[i, w] = lop3(words[w] >> 8 * i, 0x00800080, ONES, AND_OR)
    return bitcast(low.load(), bf16) - bitcast(sign.load(), bf16)


def bf16_of_e4m3(words: Any) -> Any:
    """Convert n u32, each four e4m3, to a vector of 4 n bf16. Exact, subnormals too; but NaN becomes 480.

    Sign, exponent and fraction are moved to their places in a bf16. Its exponent has a bias of 127 where e4m3 has 7,
    and the factor 2**120 makes that good.
    """
    pairs = make_rmem_tensor(u32, (2, words.n))
    for w in static_range(words.n):
        for i, moved in ((0, words[w] << 4), (1, words[w] >> 4)):
            sign = words[w] << 8 if i == 0 else words[w]
            pairs[i, w] = lop3(sign, 0x80008000, moved & 0x07F007F0, AND_OR)
    return bitcast(pairs.load(), bf16) * 2.0**120


def bf16_of(words: Any, kind: Any) -> Any:
    """Convert `words`, a vector of u32 of packed weights, to a vector of bf16.

    kind    i4, e2m1, i8 or e4m3: the format or dtype, or its name
    Errors  `packed` for another one
    """
    name = kind if isinstance(kind, str) else getattr(kind, "name", None)
    if name not in CONVERSIONS:
        raise mistake("packed", f"bf16_of converts {', '.join(CONVERSIONS)}, not {describe(kind)}")
    return CONVERSIONS[name](words)


CONVERSIONS = {"i4": bf16_of_i4, "e2m1": bf16_of_e2m1, "i8": bf16_of_i8, "e4m3": bf16_of_e4m3}
