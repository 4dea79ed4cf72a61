"""`add.sat` and `sub.sat` of a negated number.

ptxas computes -(-2**31) as 2**31. So it does in `cvt.sat` of a sum in 64 bits, which it folds back to `add.sat`. The
rewrite adds with wrap-around; if signs show an overflow, it takes the end of the range opposite to the sum's sign.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_SATURATING = Pattern(r"\b(add|sub)\.sat\.s32\s+(%\w+), (%\w+|-?\d+), (%\w+|-?\d+);")


def _rewrite(ptx: str) -> str:
    return _SATURATING.compiled.sub(_by_its_overflow, ptx)


def _by_its_overflow(found: re.Match[str]) -> str:
    word, out, a, b = found.groups()
    other = "sum" if word == "add" else "a"  # overflow: a's sign differs from the sum's, and b's from that of `other`
    lines = [f"mov.b32 a, {a};", f"mov.b32 b, {b};", f"{word}.s32 sum, a, b;"]
    lines += [f"xor.b32 c, sum, a; xor.b32 d, {other}, b; and.b32 c, c, d; setp.lt.s32 over, c, 0;"]
    lines += [f"shr.s32 c, sum, 31; xor.b32 c, c, 0x80000000; selp.b32 {out}, c, sum, over;"]
    return f"{{ .reg .b32 a, b, c, d, sum; .reg .pred over; {' '.join(lines)} }}"


BUG = Bug(
    "saturation-of-negated", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite
)
