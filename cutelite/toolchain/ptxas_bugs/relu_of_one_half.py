"""`max` with 0 of a `min` or `max` of 16 bits, beside another such `min` or `max`.

ptxas makes one VIMNMX.S16x2 of two independent instructions, and takes from the first of them whether negative results
become 0. So the other one loses its `max` with 0, or gets one. It does that in kernels with packed floats of 16 bits.
The rewrite takes the `max` with 0 in 32 bits.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import with_copies

_MIN_MAX = Pattern(r"m(?:in|ax)\.s16(?:x2)?\s+([%\w]+),")
_RELU = Pattern(r"(@!?[%\w]+\s+)?\bmax\.s16\s+([%\w]+),\s*(?:([%\w]+),\s*0|0,\s*([%\w]+));")


def _rewrite(ptx: str) -> str:
    if _RELU.compiled.search(ptx) is None:
        return ptx
    results = with_copies(ptx, set(_MIN_MAX.compiled.findall(ptx)))

    def wide(found: re.Match[str]) -> str:
        guard, out, a = found[1] or "", found[2], found[3] or found[4]
        if a not in results:
            return found[0]
        return f"{{ .reg .b32 w; cvt.s32.s16 w, {a}; max.s32 w, w, 0; {guard}cvt.u16.u32 {out}, w; }}"

    return _RELU.compiled.sub(wide, ptx)


BUG = Bug("relu-of-one-half", seen=((12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite)
