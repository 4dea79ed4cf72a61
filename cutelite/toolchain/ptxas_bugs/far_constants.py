"""Two constants of 64 bits added to one number, as for the descriptors by which two wgmma read shared memory.

    add.s64 %rd2, %rd1, -4611685949707845632;       add.s64 %rd2, %rd1, -4611685949707845632;
    add.s64 %rd3, %rd1, -4611685949707845600;  ->   add.s64 %rd3, %rd2, 32;

ptxas computes the second from the first in uniform registers, and leaves the high word of the first uncomputed. The
rewrite says the same itself, which ptxas takes as it is.
"""

from __future__ import annotations

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_ADD = Pattern(r"\badd\.s64\s+(%\w+), (%\w+), (-?\d{10,});")
_WRITTEN = Pattern(r"(?:^|;|\{)\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(%\w+|\{[^}]*\})")


def _rewrite(ptx: str) -> str:
    if not _ADD.compiled.search(ptx):
        return ptx
    lines: list[str] = []
    first: dict[str, tuple[str, int]] = {}  # a number -> what is its sum with a constant, in this block
    for line in ptx.split("\n"):
        if line.startswith(("$", ".", "}", "{")) or "\tbra" in line or "bra." in line:
            first = {}
        found = None if "@" in line else _ADD.compiled.search(line)  # a sum under a predicate may not be there
        if found is not None:
            out, base, constant = found[1], found[2], int(found[3])
            known, near = first.get(base, ("", 0))
            if known and abs(constant - near) < 1 << 31:
                line = line.replace(found[0], f"add.s64 \t{out}, {known}, {constant - near};")
        for written in _WRITTEN.compiled.finditer(line):
            again = set(written[1].strip("{}").split(", "))
            first = {b: made for b, made in first.items() if b not in again and made[0] not in again}
        if found is not None and out != base and base not in first:
            first[base] = out, constant
        lines.append(line)
    return "\n".join(lines)


BUG = Bug("far-constants", seen=((12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
