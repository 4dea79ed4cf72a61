"""Fold constants: integer arithmetic on constants, algebraic identities, branches on constants.

    %a = add a=%x, b=%zero; cond_br cond=%true, then=^bb1, other=^bb2   ->   br to=^bb1, with %x for %a

Only integers and bools are computed here: that decides indices and branches. Floats are left to LLVM, which
rounds for every format. Blocks that are no longer reached are dropped, and so are block parameters that every jump
gives the same value.

Needs: verified IR. Keeps: effects, in order; the value of every result.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, and_, eq, floordiv, ge, gt, le, lt, mod, mul, ne, or_, sub, xor
from typing import Any

from cutelite.ir.function import Block, Function, Value, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, boolean
from cutelite.ops.arith import Cmp, Const, Select
from cutelite.ops.control import Br, CondBr
from cutelite.ops.convert import Convert
from cutelite.ops.index import Special
from cutelite.passes.algebra import simplify
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite


def fold(function: Function, context: Context) -> Function:
    decided = True
    while decided:  # a decided branch may leave a parameter one value, which may decide another branch
        function, decided = _round(function)
    return function


def _round(function: Function) -> tuple[Function, bool]:
    """Return the function with all that is known folded, and whether a branch was decided."""
    order = reverse_postorder(function.entry)
    same = _single_valued(order)
    rewrite = Rewrite(function, same, order)
    decided = False
    for block in rewrite.blocks():
        for param in block.params:
            if param in same:
                rewrite.replace(param, _here(rewrite, same[param]))
        for op in rewrite.ops(block):
            if isinstance(op, CondBr):
                decided |= _branch(rewrite, op)
            elif op.name in FOLDED:
                _value(rewrite, op)
            else:
                rewrite.keep(op)
    return rewrite.function, decided


def _here(rewrite: Rewrite, value: Value) -> Value:
    """Return `value`; a constant is made anew, since the known one may not be defined on every path here."""
    if isinstance(value.op, Const):
        return rewrite.emit(Const(value.op.value, value.op.type))  # type: ignore[no-any-return]
    return rewrite.value(value)


def _single_valued(order: list[Block]) -> dict[Value, Value]:
    """Map block parameters that every jump gives one value (or themselves, around a loop) to that value."""
    before = predecessors(order)
    same: dict[Value, Value] = {}

    def final(value: Value) -> Value:
        while value in same:
            value = same[value]
        return value

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            if not block.params:
                continue
            for index, param in enumerate(block.params):
                if param in same:
                    continue
                passed = {_key(v): v for _, jump in before[block] if (v := final(jump.args[index])) is not param}
                if len(passed) == 1:
                    same[param] = next(iter(passed.values()))
                    changed = True
    return {param: final(value) for param, value in same.items()}


def _key(value: Value) -> object:
    return ("const", value.type, repr(value.op.value)) if isinstance(value.op, Const) else value


def _branch(rewrite: Rewrite, op: CondBr) -> bool:
    """Replace a branch whose condition is known; tell whether it was."""
    cond = constant(rewrite.value(op.cond))
    then, other = op.then, op.other
    if cond is None and not (then.block is other.block and then.args == other.args):
        rewrite.keep(op)
        return False
    taken = Br(then if cond is None or cond else other)
    rewrite.emit(rewrite.mapped(taken))
    return True


def _value(rewrite: Rewrite, op: Op) -> None:
    if isinstance(op, Special):
        known = launch_constant(op.register, rewrite.function.attrs)
    else:
        known = evaluate(op, [constant(rewrite.value(v)) for v in op.operands])
    if known is not None:
        rewrite.replace(op.result, rewrite.emit(Const(known, op.result.type)))
        return
    new = rewrite.mapped(op)
    simpler = simplify(new, rewrite.emit)
    if simpler is None:
        rewrite.keep(op)
    else:
        rewrite.replace(op.result, simpler)


def constant(value: Value) -> int | float | bool | None:
    """Return the number that `value` is known to be."""
    return value.op.value if isinstance(value.op, Const) else None


def launch_constant(register: str, attrs: dict[str, Any]) -> int | None:
    """Return the value of a special register if the shape of the block or cluster decides it."""
    name, _, axis = register.partition(".")
    shape = attrs.get({"tid": "block", "ntid": "block"}.get(name, "cluster"))
    if not shape or not axis or name not in ("tid", "ntid", "cluster_ctaid", "cluster_nctaid"):
        return None
    extent: int = shape["xyz".index(axis)]
    return extent if name in ("ntid", "cluster_nctaid") else 0 if extent == 1 else None


# Arithmetic on known integers.


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

FOLDED = frozenset((*RULES, "cmp", "select", "cvt", "special"))
"""Ops that may be folded: all are pure, but for special registers, which are folded only where they are known."""
