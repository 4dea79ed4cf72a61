"""A reader of PTX text for the rewrites. It works on the text as backends write it, without a parse tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from cutelite.toolchain.ptxas_bugs.patterns import Pattern

NAME = r"[%A-Za-z]\w*"
"""A register: `%r12`, or one named by a rewrite or by inline PTX."""

_REGISTER = Pattern(NAME)
_WRITTEN_PREDICATE = Pattern(r"%p\d+(?=[,|])")
_COPY = Pattern(r"\b(?:mov|cvt)\.[\w.]+\s+([^;,{]+|\{[^;}]*\}),\s*([^;,{]+|\{[^;}]*\});")
_BRANCH = Pattern(r"\bbra(?:\.uni)?\s+([$%\w]+);|\.branchtargets\s+([^;]*);")
_LABEL = Pattern(r"([$%\w]+):(?!:)")


def predicates_written_again(ptx: str) -> set[str]:
    """Return the predicates that more than one instruction writes: those in loops, and where paths meet."""
    found = _WRITTEN_PREDICATE.compiled.finditer(ptx)  # a result comes first: no comma precedes it
    times = Counter(match[0] for match in found if ptx[match.start() - 2 : match.start()] != ", ")
    return {name for name, n in times.items() if n > 1}


def with_copies(ptx: str, registers: set[str]) -> set[str]:
    """Return `registers` and all registers that `mov` and `cvt` copy from them, whole or in parts."""
    known = set(registers)
    for to, source in _COPY.compiled.findall(ptx):
        if known.intersection(_REGISTER.compiled.findall(source)):
            known.update(_REGISTER.compiled.findall(to))
    return known


def loops(ptx: str) -> Iterator[tuple[int, int]]:
    """Yield each loop as its span in the text: from a label to the last branch back to it."""
    last: dict[str, int] = {}
    for branch in _BRANCH.compiled.finditer(ptx):
        for label in re.findall(r"[$%\w]+", branch[1] or branch[2]):
            last[label] = branch.start()
    for label in _LABEL.compiled.finditer(ptx):
        if label.start() < last.get(label[1], 0):
            yield label.start(), last[label[1]]
