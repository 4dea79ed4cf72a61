"""Updates of shared memory at the head of a loop that ptxas itself turns into loops.

Sums of floats and of 64-bit integers, and most other 64-bit updates, have no instruction in shared memory: ptxas writes
a loop that compares and swaps until no other thread has interfered. If such an update begins a loop of the kernel,
ptxas gives both loops one head, so that threads that are done start the next round while others still try. A value that
is kept once for the warp, such as the loop's counter, is then stepped once for each of these groups of threads, and
rounds are missing. A predicate that ptxas cannot move out of the loop, put before the update, keeps the heads apart.
This costs three instructions, and only in loops.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import loops

_SPINNING = Pattern(
    r"(?:@(?P<guard>!?[%\w]+)\s+)?"
    r"\b(?P<update>(?:atom|red)\.(?:\w+\.)*shared(?:::cta)?\.(?:add|min|max|and|or|xor)\."
    r"(?:noftz\.)?(?:f32|f64|f16x2|bf16x2|[usb]64)\s[^;]*;)"
)


def _rewrite(ptx: str) -> str:
    spans = list(loops(ptx))

    def guarded(found: re.Match[str]) -> str:
        if not any(first < found.start() < last for first, last in spans):
            return found[0]
        test = "setp.ne.b32 any_lane, lanes, 0"
        if found["guard"]:
            test = f"setp.ne.and.b32 any_lane, lanes, 0, {found['guard']}"
        return f"{{ .reg .b32 lanes; .reg .pred any_lane; activemask.b32 lanes; {test}; @any_lane {found['update']} }}"

    return _SPINNING.compiled.sub(guarded, ptx)


BUG = Bug("atomic-loops", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite)
