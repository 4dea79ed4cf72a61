"""Instructions that ptxas computes wrongly, written as others: PTX -> PTX, a file per bug.

PTX that is assembled here avoids the bugs of the assembler that does it; PTX that is kept (`kernel.export`, the disk
cache, `compiled.ptx`) avoids them all, since nobody knows who will assemble it. A rewrite looks for its instruction
first, and costs next to nothing where there is none.

How each bug was found, and on which numbers it shows: docs/checking-hardware.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from cutelite.toolchain.ptxas_bugs import (
    absolute_sign,
    atomic_loops,
    high_half_difference,
    logic_read_late,
    lop3_repeated_operand,
    min_max_equality,
    negation_16_bits,
    not_in_place,
    saturation_of_negated,
    selection_read_late,
)
from cutelite.toolchain.ptxas_bugs.bug import Bug, Version

BUGS: tuple[Bug, ...] = (
    negation_16_bits.BUG,
    absolute_sign.BUG,  # after negation_16_bits, whose absolute value of 32 bits holds no most negative number
    saturation_of_negated.BUG,
    selection_read_late.BUG,
    logic_read_late.BUG,
    not_in_place.BUG,  # after selection_read_late, which would copy the predicate of its selp once more
    min_max_equality.BUG,
    lop3_repeated_operand.BUG,
    high_half_difference.BUG,
    atomic_loops.BUG,
)
"""All of them, in the order in which they are avoided."""


def bugs_of(version: Version | None) -> tuple[Bug, ...]:
    """Return the bugs of that version of ptxas; all of them where it is not known."""
    return tuple(bug for bug in BUGS if bug.is_in(version))


def avoid(ptx: str, bugs: Iterable[Bug] = BUGS) -> str:
    """Return `ptx` without the instructions that `bugs` are about. To be called once: a second call does it again."""
    for bug in bugs:
        ptx = bug.rewrite(ptx)
    return ptx


__all__ = ["BUGS", "Bug", "Version", "avoid", "bugs_of"]
