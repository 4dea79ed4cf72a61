"""`lop3` with the same operand twice.

ptxas merges it with the logical instruction that uses it, into one with a wrong table. It is written as a `lop3` of the
two distinct operands, or as `mov` or `not` if there is only one.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_LOP3 = Pattern(r"lop3\.b32\s+([%\w]+), (%\w+), (%\w+), (%\w+), (\d+);")
_OF_ONE = {(0, 0): "mov.b32 {}, 0;", (0, 1): "mov.b32 {}, {};", (1, 0): "not.b32 {}, {};", (1, 1): "mov.b32 {}, -1;"}
"""A function of one bit, by its values at 0 and 1."""


def _rewrite(ptx: str) -> str:
    return _LOP3.compiled.sub(_of_distinct_operands, ptx)


def _of_distinct_operands(found: re.Match[str]) -> str:
    out, *operands, table = found.groups()
    distinct = list(dict.fromkeys(operands))
    if len(distinct) == 3:
        return found[0]
    places = [distinct.index(operand) for operand in operands]

    def value(*bits: int) -> int:
        a, b, c = (bits[place] for place in places)
        return int(table) >> (4 * a + 2 * b + c) & 1

    if len(distinct) == 2:
        less = sum(value(a, b) << (4 * a + 2 * b + c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
        return f"lop3.b32 {out}, {distinct[0]}, {distinct[1]}, 0, {less};"
    return _OF_ONE[value(0), value(1)].format(out, *distinct)


BUG = Bug("lop3-repeated-operand", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
