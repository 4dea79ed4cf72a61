"""Packing numbers of 1 to 8 bits into 32-bit words, and unpacking them: b1, i4, u4, e2m1, e2m3, e3m2, e8m0, ue4m3.

Where the GPU has instructions for a format they are used; elsewhere integer instructions compute the same. Formats are
those of the OCP Microscaling specification 1.0. e8m0, powers of two, and ue4m3, e4m3 without its sign, are for scales.
"""

from __future__ import annotations

from typing import Any

import cutelite.target as target
from cutelite.ir.types import e4m3, f16, f32, i32, i64, u8, u16, u32, u64
from cutelite.lang.bits import bfe
from cutelite.lang.convert import bitcast
from cutelite.lang.emit import describe, mistake
from cutelite.lang.loops import static_range
from cutelite.lang.math import isnan, rint
from cutelite.lang.packed import Packed, e8m0, pack_pair, unpack_pair
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar, Vector, vector, where


def unpack(words: Any, kind: Packed, dtype: Any = None) -> Any:
    """Return the numbers in 32-bit words as a vector. Exact.

    words   a u32, or a vector of n of them
    kind    `cl.i4`, `cl.u4`, `cl.e2m1`: eight in a word, the first one in its lowest bits; `cl.b1`: 32; `cl.e2m3`,
            `cl.e3m2`, `cl.e8m0`, `cl.ue4m3`: four, each in a byte
    dtype   of the result: default i32 for integers, f16 for floats, f32 for e8m0 and ue4m3
    Errors  `packed` for another format, and for words that are neither u32 nor i32
    """
    check_format(kind)
    if not isinstance(words, Vector):
        words = vector(words if isinstance(words, Scalar) else u32(words))
    if words.dtype not in (u32, i32):
        text = f"the words of {kind} are u32, not {words.dtype}"
        raise mistake("packed", text, help="`t.recast(cl.u32)` and `cl.bitcast(vector, cl.u32)` keep the bits")
    parts = []
    for w in static_range(words.n):
        parts.append(unpack_word(words[w], kind))
    made = vector(*parts)
    return made if dtype is None or made.dtype == dtype else made.to(dtype)


def check_format(kind: Any) -> None:
    """Refuse a `kind` that is no packed format. Errors: `packed`."""
    if not isinstance(kind, Packed):
        text = f"numbers in words are i4, u4, b1, e2m1, e2m3, e3m2, e8m0 or ue4m3, not {describe(kind)}"
        raise mistake("packed", text, help="`vector.to(dtype)` converts to a dtype, which memory holds by itself")


def unpack_word(word: Any, kind: Packed) -> Any:
    if kind.exponents == 0:
        number = word.to(i32) if kind.signed else word
        items = [bfe(number, kind.place * i, kind.place).to(i32) for i in static_range(kind.per_word)]
    elif kind.exponents == 8:
        items = [power_of_two(word >> 8 * i & 0xFF) for i in static_range(4)]
    elif kind.exponents == 4:
        items = [bitcast((word >> 8 * i & 0x7F).to(u8), e4m3).to(f32) for i in static_range(4)]
    elif target.has("fp4"):
        pairs = [unpack_pair((word >> 2 * kind.place * i).to(u16), kind) for i in static_range(kind.per_word // 2)]
        items = [pairs[i // 2][i % 2] for i in static_range(kind.per_word)]
    else:
        half = kind.per_word // 2
        pairs = [pair_of(word >> kind.place * i, kind) for i in static_range(half)]
        items = [pairs[i % half][i // half] for i in static_range(kind.per_word)]
    return vector(*items)


def pair_of(word: Any, kind: Packed) -> Any:
    """Return the two numbers whose codes begin at bits 0 and 16 of a word, as a vector of f16.

    Sign, exponent and fraction are moved to their places in an f16. A product makes up for the difference of the
    biases, and is exact for subnormals too.
    """
    bits = kind.exponents + kind.stored
    size = (word & ((1 << bits) - 1) * 0x10001) << 10 - kind.stored
    sign = (word & (1 << bits) * 0x10001) << 15 - bits
    return bitcast(size | sign, f16) * f16(2.0 ** (15 - kind.bias))


def power_of_two(code: Any) -> Any:
    """Return the e8m0 number `code`, a u32, as f32: 2 ** (code - 127); 255 is NaN."""
    bits = where(code == 0, u32(0x00400000), code << 23)
    return bitcast(where(code == 255, u32(0x7FC00000), bits), f32)


def pack(values: Any, kind: Packed, rounding: str = "") -> Any:
    """Return numbers in 32-bit words, as `unpack` takes them: a u32, or a vector of them.

    values    a vector of as many numbers as fill words: integers for i4, u4 and b1, whose range they are clamped to, or
              floats, whose fractions are dropped; else floats, which are clamped to the largest number of the format.
              f64 are rounded to f32 first
    kind      as for `unpack`
    rounding  of e8m0: 'rz' to the power of two below, the default, or 'rp' to the one above. Others round to nearest
              even
    NaN       e8m0 and ue4m3 have one; in the other floats it becomes the largest number. In ue4m3 less than 0 is 0
    Errors    `packed` for anything else, another rounding, and numbers that fill no whole words
    """
    check_format(kind)
    if not isinstance(values, Vector) or values.n % kind.per_word:
        text = f"a word holds {kind.per_word} numbers of {kind}, and {describe(values)} fills no whole words"
        help = "`t.load()` is a vector of its elements" if isinstance(values, Tensor) else ""
        raise mistake("packed", text, help=help or "put more numbers, or zeros, into the vector")
    if rounding not in (("", "rz", "rp") if kind is e8m0 else ("",)):
        text = f"{kind} is rounded {'down (rz) or up (rp)' if kind is e8m0 else 'to nearest even'}, not {rounding!r}"
        raise mistake("packed", text, help="leave out `rounding`")
    values = narrowed(values, kind) if kind.exponents == 0 else values.to(f32)
    words = []
    for w in static_range(values.n // kind.per_word):
        word = u32(0)
        if kind.exponents in (2, 3) and target.has("fp4"):
            for i in static_range(kind.per_word // 2):
                at = w * kind.per_word + 2 * i
                pair = pack_pair(values[at], values[at + 1], kind)
                word = word | pair.to(u32) << 2 * kind.place * i
        else:
            for i in static_range(kind.per_word):
                word = word | code_of(values[w * kind.per_word + i], kind, rounding) << kind.place * i
        words.append(word)
    return words[0] if len(words) == 1 else vector(*words)


def narrowed(values: Any, kind: Packed) -> Any:
    """Return numbers as i32, after a clamp to the range of a format if an i32 does not hold all of them."""
    low, high = range_of(kind)
    if values.dtype in (u32, u64):
        values = min(values, high)
    elif values.dtype == i64:
        values = min(max(values, low), high)
    return values.to(i32)  # of floats it saturates


def range_of(kind: Packed) -> tuple[int, int]:
    """Return the least and the largest integer of a format."""
    return (-8, 7) if kind.signed else (0, (1 << kind.place) - 1)


def code_of(x: Any, kind: Packed, rounding: str) -> Any:
    """Return the code of a number, a u32."""
    if kind.exponents == 0:
        low, high = range_of(kind)
        return min(max(x, low), high).to(u32) & (1 << kind.place) - 1
    bits = bitcast(x, u32)
    if kind.exponents == 8:
        return scale_of(bits & 0x7FFFFFFF, rounding)
    if kind.exponents == 4:
        return bitcast(where(x <= 0, f32(0), x).to(e4m3), u8).to(u32) & 0x7F  # of NaN 0x7f
    size = min(abs(x), kind.largest)  # of NaN and a number, the number
    least = 1 - kind.bias
    exponent = max((bitcast(size, u32) >> 23).to(i32) - 127, least)
    unit = bitcast((127 + kind.stored - exponent).to(u32) << 23, f32)  # 1 / the last place
    code = rint(size * unit).to(i32) + ((exponent - least) << kind.stored)
    sign = where(isnan(x), u32(0), bits >> 31)
    return code.to(u32) | sign << kind.exponents + kind.stored


def scale_of(size: Any, rounding: str) -> Any:
    """Return the e8m0 code of a positive f32, given its bits."""
    if rounding == "rp":
        up = where(size <= 0x00400000, u32(0), (size + 0x7FFFFF) >> 23)
    else:
        up = size >> 23
    return where(size > 0x7F800000, u32(255), min(up, u32(254)))
