"""Compute each value once: replace a pure op by an equal one that dominates it.

    %a = add a=%x, b=%y; %b = add a=%x, b=%y   ->   %a = add a=%x, b=%y, with %a for %b

LLVM does this too; here it keeps the IR small for later passes (above all address arithmetic).

Needs: verified IR. Keeps: every op with an effect, in order.
"""

from __future__ import annotations

from cutelite.ir.function import Function, Interval, Value, dominated, dominates
from cutelite.ir.op import Op
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite


def cse(function: Function, context: Context) -> Function:
    rewrite = Rewrite(function)
    within = dominated(rewrite.order)
    seen: dict[object, tuple[Interval, tuple[Value, ...]]] = {}
    for block in rewrite.blocks():
        here = within[block]
        for op in rewrite.ops(block):
            if op.terminator or not op.results or not op.is_pure:
                rewrite.keep(op)
                continue
            key = _key(op, rewrite)
            there, results = seen.get(key, (None, ()))
            if there is not None and dominates(there, here):
                for old, new in zip(op.results, results, strict=True):
                    rewrite.replace(old, new)
            else:
                seen[key] = here, rewrite.keep(op).results
    return rewrite.function


def _key(op: Op, rewrite: Rewrite) -> object:
    """Return a key, equal for ops that compute the same. It tells True, 1 and 1.0 apart, and 0.0 and -0.0."""
    parts: list[object] = [op.name]
    for field in op.fields:
        held = getattr(op, field.name)
        if field.kind == "one":
            parts.append(rewrite.value(held))
        elif field.kind == "many":
            parts.append(tuple(map(rewrite.value, held)))
        elif field.kind == "optional":
            parts.append(None if held is None else rewrite.value(held))
        else:
            parts.append((type(held), repr(held) if isinstance(held, float) else held))
    return tuple(parts)
