"""The results of integer ops on known integers: by them constants are folded, and the ends of iterations foreseen.

Floats are left to LLVM, which rounds for every format.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, and_, eq, floordiv, ge, gt, le, lt, mod, mul, ne, or_, sub, xor
from typing import Any

from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, boolean
from cutelite.ops.arith import Cmp, Const, Select
from cutelite.ops.convert import Convert


def wrap(number: int, t: Scalar) -> int | bool:
    """Return `number` as an integer of type `t`: modulo 2**bits."""
    if t == boolean:
        return bool(number)
    low, high = t.range
    return (number - low) % (high - low + 1) + low


def evaluate(op: Op, known: list[Any]) -> int | bool | None:
    """Return the integer or bool that `op` computes from these operands (None: not known)."""
    if isinstance(op, Const):
        return None  # the result of folding is one
    t = op.result.type
    if not isinstance(t, Scalar) or not (t.is_int or t == boolean) or any(not isinstance(k, int) for k in known):
        return None
    if isinstance(op, Cmp):
        return PREDICATES[op.predicate](*known)
    if isinstance(op, Select):
        return known[1] if known[0] else known[2]  # type: ignore[no-any-return]
    if isinstance(op, Convert):
        return _converted(known[0], t, op.saturate)
    rule = RULES.get(op.name)
    result = rule(t.bits, *known) if rule else None
    return None if result is None else wrap(result, t)


def _converted(number: int, t: Scalar, saturate: bool) -> int | bool:
    if t == boolean:
        return number != 0
    low, high = t.range
    return min(max(number, low), high) if saturate else wrap(number, t)


PREDICATES: dict[str, Callable[[int, int], bool]] = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}


def _plain(function: Callable[..., int]) -> Callable[..., int | None]:
    return lambda bits, *known: function(*known)


def _divided(function: Callable[[int, int], int]) -> Callable[..., int | None]:
    return lambda bits, a, b: function(a, b) if b else None


RULES: dict[str, Callable[..., int | None]] = {
    "add": _plain(add),
    "sub": _plain(sub),
    "mul": _plain(mul),
    "floordiv": _divided(floordiv),
    "mod": _divided(mod),
    "neg": _plain(lambda a: -a),
    "abs": _plain(abs),
    "not": lambda bits, a: a ^ 1 if bits == 1 else ~a,
    "and": _plain(and_),
    "or": _plain(or_),
    "xor": _plain(xor),
    "min": _plain(min),
    "max": _plain(max),
    "shl": lambda bits, a, b: a << b if 0 <= b < bits else 0,
    "shr": lambda bits, a, b: a >> (b if 0 <= b < bits else bits),
}
"""For each op the function that folds it: (width in bits, operands) -> result, or None if it has none."""

COMPUTED = frozenset((*RULES, "cmp", "select", "cvt"))
"""Ops that `evaluate` computes where their operands are known."""
