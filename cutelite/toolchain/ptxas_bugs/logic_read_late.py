"""`and`, `or`, `xor` of a predicate that is written again and one whose value ptxas knows.

`or.pred p, q, 0` becomes `q`, which is then read where `p` is used: after `q` has been written again. Logic therefore
reads predicates that are written again from a copy; so does `setp` that combines its result with one.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.predicate_copies import instruction, read_from_copies

_LOGIC = instruction(r"(?:and|or|xor|not)\.pred|setp\.\w+\.(?:and|or|xor)\.\w+")


def _rewrite(ptx: str) -> str:
    return read_from_copies(ptx, _LOGIC)


BUG = Bug("logic-read-late", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite)
