"""`min` or `max` of 16 bits, compared for equality with one of its operands.

VIMNMX.S16x2 gives a predicate that says that the first operand is the result. ptxas also uses it if the second
operand, a constant, is compared: `max(x, 3) == 3` becomes the code of `max(x, 3) == x`. It does not if the comparison
is written as the complement of `!=`. 13.5.37 uses the predicate for the first operand only; but both halves then
share one predicate register, and whether that is right for the low half is not known yet.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import with_copies

_MIN_MAX = Pattern(r"m(?:in|ax)(?:\.relu)?\.[su]16(?:x2)?\s+([%\w]+),")
_EQUAL = Pattern(r"(@!?[%\w]+\s+)?\bsetp\.eq\.([bsu](?:16|32)\s+)([%\w]+),\s*([%\w]+|-\d+),\s*([%\w]+|-\d+);")


def _rewrite(ptx: str) -> str:
    results = set(_MIN_MAX.compiled.findall(ptx))
    if not results:
        return ptx
    results = with_copies(ptx, results)

    def unequal(found: re.Match[str]) -> str:
        guard, t, out, a, b = found.groups()
        if not results & {a, b}:
            return found[0]
        return f"{{ .reg .pred differ; {guard or ''}setp.ne.{t}differ|{out}, {a}, {b}; }}"

    return _EQUAL.compiled.sub(unequal, ptx)


BUG = Bug("min-max-equality", seen=((12, 9, 86), (13, 0, 88)), fixed=None, rewrite=_rewrite)
