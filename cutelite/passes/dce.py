"""Drop ops without a visible effect whose results are unused, and unused block parameters.

    %a = add a=%x, b=%y   with no use of %a   ->   nothing

A value is used if an op with an effect needs it, directly or through others; so a number that is only passed around
a loop is dropped too.

Needs: verified IR. Keeps: every op with an effect that others can see, in order.
"""

from __future__ import annotations

from collections.abc import Iterable

from cutelite import graphs
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

SEEN = ~(Effect.READS | Effect.UNMERGEABLE | Effect.CONVERGENT)
"""Effects that are visible if the result is unused: all but reading memory or a clock, allocating, shuffling."""


def dce(function: Function, context: Context) -> Function:
    order = reverse_postorder(function.entry)
    used = _used(order)
    unused = {param for block in order[1:] for param in block.params if param not in used}
    rewrite = Rewrite(function, unused, order)
    for op in rewrite:
        if op.terminator or not used.isdisjoint(op.results) or _seen(op):
            rewrite.keep(op)
    return rewrite.function


def _seen(op: Op) -> bool:
    return not op.results or bool(op.effects & SEEN)


def _used(order: list[Block]) -> set[Value]:
    before = predecessors(order)
    place: dict[Value, tuple[Block, int]] = {}
    defined: dict[Value, Op] = {}
    work: list[Value] = []
    for block in order:
        for index, param in enumerate(block.params):
            place[param] = block, index
        for op in block.ops:
            if op.terminator:
                work += _own_operands(op)
            elif _seen(op):
                work += op.operands
            for value in op.results:
                defined[value] = op

    def needs(value: Value) -> Iterable[Value]:
        if value in defined:
            return defined[value].operands
        if value not in place:
            return ()
        block, index = place[value]
        return [jump.args[index] for _, jump in before[block]]

    return graphs.reached(work, needs)


def _own_operands(op: Op) -> tuple[Value, ...]:
    """Return the operands that a terminator itself needs, which are not the arguments of its jumps."""
    if not any(jump.args for jump in op.jumps):
        return op.operands
    return op.map_operands(lambda value: value, lambda jump: type(jump)(jump.block)).operands
