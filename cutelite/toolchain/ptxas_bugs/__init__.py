"""Instructions that ptxas computes wrongly, written as others: PTX -> PTX, a file per bug.

PTX that is assembled here avoids the bugs of the assembler that does it; PTX that is kept (`kernel.export`, the disk
cache, `compiled.ptx`) avoids them all, since nobody knows who will assemble it. Where PTX has no word of a bug's
instruction, its file is not even imported.

How each bug was found, and on which numbers it shows: docs/checking-hardware.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, Any

from cutelite.toolchain.ptxas_bugs.bug import Bug, Version

if TYPE_CHECKING:
    BUGS: tuple[Bug, ...]

WORDS: dict[str, tuple[str, ...]] = {
    "negation_16_bits": (".s16 ",),
    "absolute_sign": ("abs.s",),  # after negation_16_bits, whose absolute value is never -2**31
    "saturation_of_negated": (".sat.s32 ",),
    "selection_read_late": ("selp.",),
    "logic_read_late": ("and.pred", "or.pred", "not.pred", ".and.", ".or.", ".xor."),
    "not_in_place": ("not.pred",),  # after selection_read_late, which would copy the predicate of its selp once more
    "min_max_equality": tuple(f"{word}.{kind}" for word in ("min", "max") for kind in ("s16", "u16", "relu")),
    "lop3_repeated_operand": ("lop3.b32",),
    "high_half_difference": ("mul.hi.",),
    "atomic_loops": tuple(
        f"shared{where}.{update}." for where in ("", "::cta") for update in ("add", "min", "max", "and", "or", "xor")
    ),
}
"""The file of each bug, in the order in which they are avoided, and words of which PTX that shows it has one."""


@cache
def _bug(name: str) -> Bug:
    bug: Bug = importlib.import_module(f"{__name__}.{name}").BUG
    return bug


def __getattr__(name: str) -> Any:
    """`BUGS`: all of them, in order."""
    if name != "BUGS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(map(_bug, WORDS))


def bugs_of(version: Version | None) -> tuple[Bug, ...]:
    """Return the bugs of that version of ptxas; all of them where it is not known."""
    return tuple(bug for bug in map(_bug, WORDS) if bug.is_in(version))


def avoid(ptx: str, bugs: Collection[Bug] | None = None) -> str:
    """Return `ptx` without the instructions that `bugs`, or all, are about. Call it once: twice is done twice."""
    for name, words in WORDS.items():
        if any(word in ptx for word in words) and (bugs is None or _bug(name) in bugs):
            ptx = _bug(name).rewrite(ptx)
    return ptx


__all__ = ["BUGS", "WORDS", "Bug", "Version", "avoid", "bugs_of"]
