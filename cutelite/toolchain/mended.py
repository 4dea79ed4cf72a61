"""PTX without the instructions that ptxas computes otherwise than they say.

In    PTX of a backend. Out   the same, with others in their places:

neg.s16, abs.s16     are computed in 32 bits, and not cut to 16 again: of -32768 comes 32768, and a shift, comparison
                     or widening behind it goes wrong. PTX ISA does not say what becomes of the most negative number
add.sat, sub.sat     of a negated number take minus -2**31 for 2**31
not.pred %p, %p      a selp by it in a loop behind is made one by the predicate of before, which is overwritten by then:
                     the wrong one of its two values is taken

Seen with ptxas 13.0.88 for sm_90a; 13.5 does the last one rightly.
"""

from __future__ import annotations

import re

_OF_16_BITS = re.compile(r"\b(neg|abs)\.s16\s+(%\w+), (%\w+);")
_SATURATING = re.compile(r"\b(add|sub)\.sat\.s32\s+(%\w+), (%\w+|-?\d+), (%\w+|-?\d+);")
_IN_PLACE = re.compile(r"\bnot\.pred\s+(%\w+), \1;")


def mended(ptx: str) -> str:
    if ".s16 " in ptx:
        ptx = _OF_16_BITS.sub(
            r"{ .reg .b32 wide; cvt.s32.s16 wide, \3; \1.s32 wide, wide; cvt.u16.u32 \2, wide; }", ptx
        )
    if ".sat.s32 " in ptx:
        ptx = _SATURATING.sub(_in_64_bits, ptx)
    if "not.pred" in ptx:
        ptx = _IN_PLACE.sub(r"{ .reg .b32 no; selp.b32 no, 0, 1, \1; setp.ne.b32 \1, no, 0; }", ptx)
    return ptx


def _in_64_bits(found: re.Match[str]) -> str:
    word, out, a, b = found.groups()
    lines = [_widened("a", a), _widened("b", b), f"{word}.s64 a, a, b;", f"cvt.sat.s32.s64 {out}, a;"]
    return f"{{ .reg .b64 a, b; {' '.join(lines)} }}"


def _widened(name: str, operand: str) -> str:
    return f"cvt.s64.s32 {name}, {operand};" if operand.startswith("%") else f"mov.b64 {name}, {operand};"
