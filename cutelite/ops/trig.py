"""Argument reduction for sin, cos and tan: any finite float as a multiple of pi/2 and a small rest.

Up to `limit` by subtracting the multiple in three parts (Cody and Waite 1980); beyond it by multiplying with the
relevant bits of 2/pi, in integers (Payne and Hanek 1983). Both are one asm block, so that the long way, which
few arguments need, can be branched over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from cutelite.ir.contract import Ptx, np
from cutelite.ir.op import op
from cutelite.ir.simulation import Lanes
from cutelite.ir.types import Scalar, Type, elem_of, i32, with_elem
from cutelite.ops.arith import Unary, fused_multiply_add
from cutelite.records import dataclass

TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6babf0cfbc209af4361da9e391615ee61b08",
    16,
)
"""floor(2/pi * 2**1344)."""


@dataclass(frozen=True, slots=True)
class Format:
    """The properties of a float type that the reduction needs.

    bits      of the type; also of the words that the long way computes with
    mantissa  stored bits of the significand
    bias      of the exponent
    limit     the largest number that takes the short way
    inverse   2/pi rounded
    parts     pi/2 in three floats that are added up
    stages    number of bits in the index of a word of 2/pi
    """

    bits: int
    mantissa: int
    bias: int
    limit: float
    inverse: float
    parts: tuple[float, float, float]
    stages: int

    def words(self) -> list[int]:
        """Return 2/pi in words, most significant first, behind one word of zeros; enough for every exponent."""
        count = (1 << self.stages) + 3
        fraction = TWO_OVER_PI >> max(0, 1344 - self.bits * (count - 1))
        fraction <<= max(0, self.bits * (count - 1) - 1344)
        mask = (1 << self.bits) - 1
        return [fraction >> self.bits * (count - 1 - i) & mask for i in range(count)]

    def literal(self, x: float) -> str:
        """Return `x` as PTX writes it: 0f3F800000."""
        code = "f" if self.bits == 32 else "d"
        return f"0{code}" + struct.pack(f">{code}", x).hex().upper()


F = float.fromhex
FORMATS = {
    "f32": Format(
        bits=32, mantissa=23, bias=127, limit=2.0**16, inverse=F("0x1.45f306p-1"), stages=3,
        parts=(F("0x1.921fb6p+0"), F("-0x1.777a5cp-25"), F("-0x1.ee59dap-50")),
    ),
    "f64": Format(
        bits=64, mantissa=52, bias=1023, limit=2.0**30, inverse=F("0x1.45f306dc9c883p-1"), stages=5,
        parts=(F("0x1.921fb54442d18p+0"), F("0x1.1a62633145c07p-54"), F("-0x1.f1976b7ed8fbcp-110")),
    ),
}  # fmt: skip
HALF_PI = FORMATS["f64"].parts


@op("trig.reduce", elementwise=True, source="Cody and Waite 1980; Payne and Hanek 1983")
class TrigReduce(Unary):
    """``a = q * pi/2 + r``: results `r`, of the type of `a`, within 2 ulp and hardly above pi/4; and `q` modulo 4, i32.

    Only the two low bits of `q` are defined. For infinities and NaN, `r` is NaN and `q` undefined.
    """

    def result_types(self) -> tuple[Type, ...]:
        return (self.a.type, with_elem(self.a.type, i32))

    def accepts(self, elem: Scalar) -> bool:
        return elem.name in FORMATS

    def ptx(self) -> Ptx:
        f, form = elem_of(self.a.type).name, FORMATS[elem_of(self.a.type).name]
        constant = form.literal
        lines = [
            f".reg .pred long; .reg .{f} q, r, size; .reg .b32 n;",
            f"mul.{f} q, $a, {constant(form.inverse)}; cvt.rni.{f}.{f} q, q; cvt.rzi.s32.{f} n, q; neg.{f} q, q;",
            *(f"fma.rn.{f} r, q, {constant(part)}, {'$a' if part == form.parts[0] else 'r'};" for part in form.parts),
            f"abs.{f} size, $a; setp.gt.{f} long, size, {constant(form.limit)};",
            f"setp.lt.and.{f} long, size, {constant(float('inf'))}, long; @!long bra DONE;",
            *_long_way(f, form),
            f"DONE: mov.b{form.bits} $out0, r; mov.b32 $out1, n;",
        ]
        return Ptx("{ " + " ".join(lines) + " }", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        a, form = lanes.get(self.a), FORMATS[elem_of(self.a.type).name]
        quotient = np.rint(a * a.dtype.type(form.inverse))
        rest = a
        for part in form.parts:
            rest = fused_multiply_add(-quotient, np.full_like(a, part), rest)
        small = np.abs(quotient) < 2.0**31
        number = np.where(small, quotient, 0).astype(np.int64).astype(np.int32)
        for at in np.argwhere((np.abs(a) > form.limit) & np.isfinite(a)):
            place = tuple(at)
            rest[place], number[place] = reduce_long(float(a[place]), form)
        lanes.define(rest, number)


def _long_way(f: str, form: Format) -> Iterator[str]:
    """Yield PTX of the long way, from `$a` to `r` and `n`, with words of `form.bits` bits."""
    w = form.bits
    least = form.bias + form.mantissa + 2 - w  # of the exponent field: there the first word starts at its first bit
    yield f".reg .pred up; .reg .b{w} m, hi, mid, t; .reg .b32 at, left, right; .reg .b64 d;"
    yield f".reg .b{w} " + ", ".join(f"w{i}" for i in range(len(form.words()))) + ";"
    yield f"mov.b{w} t, size; shr.u{w} m, t, {form.mantissa};" + ("mov.b32 at, m;" if w == 32 else "cvt.u32.u64 at, m;")
    yield f"sub.s32 at, at, {least}; and.b32 left, at, {w - 1}; sub.s32 right, {w}, left;"
    yield f"shr.u32 at, at, {w.bit_length() - 1};"
    yield from (f"mov.b{w} w{i}, 0x{word:X};" for i, word in enumerate(form.words()))
    for stage in reversed(
        range(form.stages)
    ):  # leaves the word number `at` in w0, and its three successors in w1, w2, w3
        step = 1 << stage
        yield f"and.b32 n, at, {step}; setp.ne.b32 up, n, 0;"
        yield from (f"selp.b{w} w{i}, w{i + step}, w{i}, up;" for i in range(4 + step - 1))
    for i in range(3):
        yield f"shl.b{w} w{i}, w{i}, left; shr.u{w} t, w{i + 1}, right; or.b{w} w{i}, w{i}, t;"
    yield f"mov.b{w} m, size; and.b{w} m, m, {(1 << form.mantissa) - 1}; or.b{w} m, m, {1 << form.mantissa};"
    # The product, modulo 4, as hi:mid: two bits before the point and 2 w - 2 behind it.
    yield f"mul.hi.u{w} t, w2, m; mul.lo.u{w} mid, w1, m; mul.hi.u{w} hi, w1, m; add.cc.u{w} mid, mid, t;"
    yield f"addc.u{w} hi, hi, 0; mad.lo.u{w} hi, w0, m, hi;"
    yield f"shr.u{w} m, hi, {w - 2}; shr.u{w} t, hi, {w - 3}; and.b{w} t, t, 1; add.u{w} m, m, t;"
    yield "mov.b32 n, m;" if w == 32 else "cvt.u32.u64 n, m;"
    yield f"shl.b{w} hi, hi, 2; shr.u{w} t, mid, {w - 2}; or.b{w} hi, hi, t; shl.b{w} mid, mid, 2;"
    constant = FORMATS["f64"].literal
    if w == 32:
        yield "mov.b64 d, {mid, hi}; cvt.rn.f64.s64 d, d;"
        yield f"mul.f64 d, d, {constant(HALF_PI[0] * 2.0**-64)}; cvt.rn.f32.f64 r, d;"
    else:
        yield f"cvt.rn.f64.s64 d, hi; cvt.rn.f64.u64 t, mid; fma.rn.f64 d, d, {constant(2.0**64)}, t;"
        yield f"mul.f64 t, d, {constant(HALF_PI[1] * 2.0**-128)};"
        yield f"fma.rn.f64 r, d, {constant(HALF_PI[0] * 2.0**-128)}, t;"
    yield f"setp.lt.{f} up, $a, {form.literal(0.0)}; @up neg.{f} r, r; @up neg.s32 n, n;"


def reduce_long(a: float, form: Format) -> tuple[float, int]:
    """Reduce one finite number beyond the limit by the long way, step by step as the PTX does."""
    w = form.bits
    code = "<f" if w == 32 else "<d"
    bits = int.from_bytes(struct.pack(code, abs(a)), "little")
    start = (bits >> form.mantissa) - (form.bias + form.mantissa + 2 - w)
    at, left = divmod(start, w)
    words = form.words()[at : at + 4]
    joined = sum(word << w * (3 - i) for i, word in enumerate(words))
    window = joined >> w - left & (1 << 3 * w) - 1
    significand = bits & (1 << form.mantissa) - 1 | 1 << form.mantissa
    low, high = window & (1 << w) - 1, window >> w
    product = (significand * high + (significand * low >> w)) & (1 << 2 * w) - 1
    quotient = (product >> 2 * w - 2) + (product >> 2 * w - 3 & 1)
    fraction = product << 2 & (1 << 2 * w) - 1
    if fraction >> 2 * w - 1:
        fraction -= 1 << 2 * w
    if w == 32:
        rest = float(np.float32(float(fraction) * (HALF_PI[0] * 2.0**-64)))
    else:
        parts = (np.array([float(fraction >> 64)]), np.array([2.0**64]), np.array([float(fraction & (1 << 64) - 1)]))
        whole = fused_multiply_add(*parts)
        small = whole * (HALF_PI[1] * 2.0**-128)
        rest = float(fused_multiply_add(whole, np.array([HALF_PI[0] * 2.0**-128]), small)[0])
    return (-rest, -quotient) if a < 0 else (rest, quotient)


__all__ = ["TrigReduce", "reduce_long"]
