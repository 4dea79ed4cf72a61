"""Predicates read through a copy: the rewrite of `selection_read_late` and `logic_read_late`.

The copy goes through a number (`selp`, `setp.ne`): it is made where it stands, and ptxas turns it into a copy of a
predicate, or removes it. A copy by `mov.pred` does not help for `selp`.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import predicates_written_again


def instruction(words: str) -> Pattern:
    """Return a pattern for instructions named by `words`, guarded or not, with groups word, out and operands."""
    return Pattern(rf"(?:@!?[%\w]+\s+)?\b(?P<word>{words})\s+(?P<out>[%\w|]+),(?P<operands>[^;]*);")


def read_from_copies(ptx: str, instructions: Pattern) -> str:
    """Rewrite `instructions` to read copies of the predicates that are written more than once."""
    again = predicates_written_again(ptx) if "%p" in ptx else set()
    if not again:
        return ptx

    def copied(found: re.Match[str]) -> str:
        operands = found["operands"]
        read = again.intersection(re.findall(r"%p\d+", operands))
        if not read or (found["word"] == "not.pred" and found["out"] in read):  # `not_in_place` rewrites these
            return found[0]
        lines = []
        for i, name in enumerate(sorted(read)):
            lines.append(f".reg .b32 bit{i}; .reg .pred was{i}; selp.b32 bit{i}, 1, 0, {name};")
            lines.append(f"setp.ne.b32 was{i}, bit{i}, 0;")
            operands = re.sub(rf"{name}\b", f"was{i}", operands)
        text = found[0][: found.start("operands") - found.start()]
        return f"{{ {' '.join(lines)} {text}{operands}; }}"

    *statements, end = ptx.split(";")  # few of the statements name a predicate
    return "".join(instructions.compiled.sub(copied, f"{s};") if "%p" in s else f"{s};" for s in statements) + end
