"""`min` or `max` of three numbers of 32 bits, the second of which is negated.

ptxas makes one VIMNMX3 of `max(max(a, -b), c)`, and loses the sign of b; those of a and c become instructions. The
rewrite puts the negated number first. Where both are negated, it hides the second one behind a `prmt` that changes
nothing.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import with_copies

_NEGATION = Pattern(r"\bneg\.s32\s+([%\w]+),|\bsub\.s32\s+([%\w]+),\s*0,|\bmul\.lo\.s32\s+([%\w]+),[^;]*,\s*-1;")
_MIN_MAX = Pattern(r"((?:@!?[%\w]+\s+)?)\b(m(?:in|ax)(?:\.relu)?\.s32\s+)([%\w]+),\s*([%\w]+|-\d+),\s*([%\w]+);")


def _rewrite(ptx: str) -> str:
    negations = {name for names in _NEGATION.compiled.findall(ptx) for name in names if name}
    if not negations:
        return ptx
    negations = with_copies(ptx, negations)

    def ordered(found: re.Match[str]) -> str:
        guard, word, out, a, b = found.groups()
        if b not in negations:
            return found[0]
        if a not in negations:
            return f"{guard}{word}{out}, {b}, {a};"
        return f"{{ .reg .b32 same; prmt.b32 same, {b}, {b}, 0x3210; {guard}{word}{out}, {a}, same; }}"

    return _MIN_MAX.compiled.sub(ordered, ptx)


BUG = Bug("negated-second-of-three", seen=((12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
