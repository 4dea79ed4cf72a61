"""Fold constants: integer arithmetic on constants, algebraic identities, branches on constants.

    %a = add a=%x, b=%zero; cond_br cond=%true, then=^bb1, other=^bb2   ->   br to=^bb1, with %x for %a

Only integers and bools are computed here: that decides indices and branches. Floats are left to LLVM, which
rounds for every format. Blocks that are no longer reached are dropped, and so are block parameters that every jump
gives the same value.

Needs: verified IR. Keeps: effects, in order; the value of every result.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Block, Function, Value, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ops.arith import Const
from cutelite.ops.control import Br, CondBr
from cutelite.ops.index import Special
from cutelite.ops.known import COMPUTED, evaluate
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
        numbers = [constant(rewrite.value(v)) for v in op.operands]
        known = None if None in numbers else evaluate(op, numbers)
    if known is not None:
        rewrite.replace(op.result, rewrite.emit(Const(known, op.result.type)))
        return
    new = rewrite.mapped(op)
    simpler = simplify(new, rewrite.emit)
    if simpler is None:
        rewrite.builder.block.ops.append(new)
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


FOLDED = COMPUTED | {"special"}
"""Ops that may be folded: all are pure, but for special registers, which are folded only where they are known."""
