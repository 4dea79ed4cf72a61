"""`mul.hi`, widened to 64 bits, minus a number whose low 32 bits are 0.

ptxas multiplies and subtracts in one instruction, IMAD.HI, which adds the negated number; if its low half is 0, the
carry of the negation is lost, and the difference is 2**32 too small. The product is therefore taken as half of
`mul.wide`, from which ptxas subtracts in a separate instruction.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_HIGH_HALF = Pattern(r"mul\.hi\.([us]32)\s+(%\w+), (%\w+), (%\w+|-?\d+);")
_WIDENED = (Pattern(r"cvt\.u64\.u32\s+%\w+, (%\w+);"), Pattern(r"mov\.b64\s+%\w+, \{(%\w+), %\w+\};"))


def _rewrite(ptx: str) -> str:
    widened = {low for widening in _WIDENED for low in widening.compiled.findall(ptx)}

    def half_of_wide(found: re.Match[str]) -> str:
        t, out, a, b = found.groups()
        if out not in widened:
            return found[0]
        return f"{{ .reg .b64 product; mul.wide.{t} product, {a}, {b}; mov.b64 {{_, {out}}}, product; }}"

    return _HIGH_HALF.compiled.sub(half_of_wide, ptx)


BUG = Bug(
    "high-half-difference", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite
)
