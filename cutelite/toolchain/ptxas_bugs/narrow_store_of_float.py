"""A store of the low bits of a float.

A register may be wider than what a store writes of it (PTX ISA, operand size exceeding instruction-type size). If an
instruction on floats has made it, ptxas stores the float converted to an integer instead. The rewrite stores a copy.
"""

from __future__ import annotations

import re

from cutelite.toolchain.ptxas_bugs.bug import Bug
from cutelite.toolchain.ptxas_bugs.patterns import Pattern

_FLOAT = Pattern(r"\.b?f(?:16|32|64)\S*\s+(%\w+),")
_STORED = Pattern(r"st\.(?:[\w:.]+\.)?b(8|16|32)\s+\[[^\]]*\],\s*(%(?:rs|rd|r)\d+);")  # found fast by its letters
_STORE = Pattern(rf"(?:@!?[%\w]+\s+)?\b{_STORED.text}")
_BITS = {"%rs": 16, "%r": 32, "%rd": 64}  # of registers, by the names that LLVM gives them


def _rewrite(ptx: str) -> str:
    narrow = {source for stored, source in _STORED.compiled.findall(ptx) if int(stored) < _bits(source)}
    floats = narrow and narrow.intersection(_FLOAT.compiled.findall(ptx))
    if not floats:
        return ptx

    def copied(found: re.Match[str]) -> str:
        stored, source = found.groups()
        bits = _bits(source)
        if source not in floats or int(stored) >= bits:
            return found[0]
        return f"{{ .reg .b{bits} low; mov.b{bits} low, {source}; {found[0].replace(f'{source};', 'low;')} }}"

    return _STORE.compiled.sub(copied, ptx)


def _bits(register: str) -> int:
    return _BITS[register.rstrip("0123456789")]


BUG = Bug("narrow-store-of-float", seen=((12, 9, 86), (13, 0, 88)), fixed=(13, 5, 37), rewrite=_rewrite)
