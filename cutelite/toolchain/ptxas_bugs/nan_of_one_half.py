"""`min` or `max` of a half of a packed one that has `.NaN` or `.xorsign.abs`.

ptxas makes one VHMNMX of `max(max.NaN(a, b), c)`, which has neither, if the inner one is packed (`f16x2`, `bf16x2`) and
the outer one is not. It keeps them apart, or in VHMNMX.NAN, if both are packed: the rewrite packs the outer one.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern
from cutelite.toolchain.ptxas_bugs.reader import with_copies

_PACKED = Pattern(r"m(?:in|ax)\.[\w.]*(?:NaN|abs)\.b?f16x2\s+([%\w]+),")
_SCALAR = Pattern(r"(m(?:in|ax)(?:\.ftz)?\.b?f16)\s+([%\w]+),\s*([%\w]+),\s*([%\w]+);")  # found fast by its letters
_GUARDED = Pattern(rf"(@!?[%\w]+\s+)?\b{_SCALAR.text}")


def _rewrite(ptx: str) -> str:
    results = set(_PACKED.compiled.findall(ptx))
    operands = {name for _, _, a, b in _SCALAR.compiled.findall(ptx) for name in (a, b)} if results else set()
    halves = operands and operands & with_copies(ptx, results)
    if not halves:
        return ptx

    def packed(found: re.Match[str]) -> str:
        guard, word, out, a, b = found.groups()
        if not halves & {a, b}:
            return found[0]
        pairs = f"mov.b32 first, {{{a}, {a}}}; mov.b32 second, {{{b}, {b}}};"
        both = f"{word}x2 first, first, second; mov.b32 {{one, _}}, first;"
        return f"{{ .reg .b16 one; .reg .b32 first, second; {pairs} {both} {guard or ''}mov.b16 {out}, one; }}"

    return _GUARDED.compiled.sub(packed, ptx)


BUG = Bug("nan-of-one-half", seen=((12, 4, 131), (12, 9, 86), (13, 0, 88), (13, 5, 37)), fixed=None, rewrite=_rewrite)
