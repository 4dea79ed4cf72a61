"""`abs.s32` and `abs.s64` of the most negative number, which is its own absolute value.

ptxas takes the result to be at least 0: a sign test of it (also the one of a remainder) is left out. The absolute value
is computed as the smaller of the number and its negation, both taken as unsigned.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_ABS = Pattern(r"abs\.s(32|64)\s+(%\w+), (%\w+);")


def _rewrite(ptx: str) -> str:
    return _ABS.compiled.sub(r"{ .reg .b\1 minus; neg.s\1 minus, \3; min.u\1 \2, \3, minus; }", ptx)


BUG = Bug("absolute-sign", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
