"""`selp` by a predicate that is written again, with a constant added to its result behind the loop that writes it.

ptxas folds the constants of the `selp` into the addition, which is placed behind the loop. There it selects by the
predicate as the loop left it. The rewrite lets `selp` read such predicates from a copy.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.predicate_copies import instruction, read_from_copies

_SELP = instruction(r"selp\.\w+")


def _rewrite(ptx: str) -> str:
    return read_from_copies(ptx, _SELP)


BUG = Bug("selection-read-late", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
