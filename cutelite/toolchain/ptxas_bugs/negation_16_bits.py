"""`neg.s16` and `abs.s16` of -32768.

ptxas computes them in 32 bits and does not truncate the result to 16 bits: -32768 becomes 32768, and a shift,
comparison or widening of it is wrong. (The PTX ISA does not define the result for the most negative number.) The
rewrite computes in 32 bits and truncates.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_OF_16_BITS = Pattern(r"\b(neg|abs)\.s16\s+(%\w+), (%\w+);")
_IN_32_BITS = r"{ .reg .b32 wide; cvt.s32.s16 wide, \3; \1.s32 wide, wide; cvt.u16.u32 \2, wide; }"


def _rewrite(ptx: str) -> str:
    return _OF_16_BITS.compiled.sub(_IN_32_BITS, ptx)


BUG = Bug("negation-16-bits", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
