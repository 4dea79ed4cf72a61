"""Updates of shared memory that ptxas makes loops of, at the head of a loop.

Sums of floats and of 64-bit integers, and most other updates of 64 bits, have no instruction: ptxas compares and swaps
until nobody came between. Where such an update begins a loop, both loops get one head, and threads that are done go on
to the next round while others try again. A value that the warp has once, such as the counter of the loop, is then
stepped for each part of it: rounds are missing. A predicate that ptxas cannot move out of the loop goes before the
update, and keeps the heads apart. It costs three instructions, in loops alone.
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
