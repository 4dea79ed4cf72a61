"""`not.pred %p, %p` before a loop with a `selp` by `%p`.

ptxas lets the `selp` read the predicate before the negation, whose register has been overwritten by then: the
wrong one of its two values is selected. The rewrite negates by way of a 32-bit number.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_IN_PLACE = Pattern(r"\bnot\.pred\s+(%\w+), \1;")


def _rewrite(ptx: str) -> str:
    return _IN_PLACE.compiled.sub(r"{ .reg .b32 no; selp.b32 no, 0, 1, \1; setp.ne.b32 \1, no, 0; }", ptx)


BUG = Bug("not-in-place", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
