"""Reads whose results decide whether a loop goes on: a loop that waits for memory has one, one that counts has none.

In    a function
Out   for an op: whether what it reads can lead out of a loop that it is in
"""

from __future__ import annotations

from cutelite.graphs import reached
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value, dominated, dominates, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ops.arith import Add, Cmp, Const
from cutelite.ops.control import AssertFail, CondBr


class Deciders:
    """The answers for a function, found when asked for.

    A loop over a range ends in any case. A result follows from a read if it is computed from it, chosen by it, or
    loaded after a store of such a result. That may name reads that decide nothing, but misses none.
    """

    def __init__(self, function: Function) -> None:
        order = reverse_postorder(function.entry)
        self._order, self._home = order, {op: block for block in order for op in block.ops}
        bodies = _bodies(order)
        self._bodies = {header: body for header, body in bodies.items() if not _counts(header, body)}
        self._known = dict[Op, bool]()

    def __contains__(self, op: Op) -> bool:
        if op not in self._known:
            bodies = [(header, body) for header, body in self._bodies.items() if self._home[op] in body]
            self._known[op] = any(self._leads_out(op, header, body) for header, body in bodies)
        return self._known[op]

    def _leads_out(self, read: Op, header: Block, body: set[Block]) -> bool:
        blocks, stored = [block for block in self._order if block in body], False
        follow, before = set(read.results), (-1, False)
        while before != (len(follow), stored):
            before = len(follow), stored
            for block in blocks:
                for op in block.ops:
                    from_it = not follow.isdisjoint(op.operands)
                    stored = stored or (from_it and Effect.WRITES in op.effects)
                    if from_it or (stored and Effect.READS in op.effects):
                        follow.update(op.results)
                for jump in _jumps(block):
                    follow.update(p for p, x in zip(jump.block.params, jump.args, strict=True) if x in follow)
                if _chooses(block, follow):
                    follow |= _chosen(block, header, body)
        return any(_chooses(block, follow) and _leaves(block, body) for block in blocks)


def _bodies(order: list[Block]) -> dict[Block, set[Block]]:
    """Return the blocks of each loop by its header."""
    within, before, bodies = dominated(order), predecessors(order), dict[Block, set[Block]]()
    for block in order:
        for header in block.successors:
            if dominates(within[header], within[block]):
                body = bodies.setdefault(header, {header})
                body |= reached([block], lambda each: [above for above, _ in before[each]], [header])
    return bodies


def _counts(header: Block, body: set[Block]) -> bool:
    """Tell whether a loop ends in any case, as one over a range does: when a number that it steps equals another."""
    end = header.terminator
    if not isinstance(end, CondBr) or not isinstance(end.cond.op, Cmp) or end.cond.op.predicate != "ne":
        return False
    changing = {param for block in body for param in block.params}
    changing |= {x for block in body for op in block.ops if not isinstance(op, Const) for x in op.results}
    for index, last in ((end.cond.op.a, end.cond.op.b), (end.cond.op.b, end.cond.op.a)):
        if index in header.params and last not in changing:
            at = header.params.index(index)
            steps = [jump.args[at].op for block in body for jump in _jumps(block) if jump.block is header]
            return all(isinstance(step, Add) and changing.intersection(step.operands) == {index} for step in steps)
    return False


def _jumps(block: Block) -> tuple:  # type: ignore[type-arg]
    return block.terminator.jumps if block.terminator else ()


def _chooses(block: Block, follow: set[Value]) -> bool:
    return isinstance(block.terminator, CondBr) and block.terminator.cond in follow


def _leaves(block: Block, body: set[Block]) -> bool:
    return any(out not in body and not isinstance(out.terminator, AssertFail) for out in block.successors)


def _chosen(block: Block, header: Block, body: set[Block]) -> set[Value]:
    """Return the parameters of blocks that get different values from the ways that part in `block`."""
    inside = body - {header}
    sources = reached([block], lambda each: [after for after in each.successors if after in inside])
    given: dict[Value, set[Value]] = {}
    for source in sources:
        for jump in _jumps(source):
            for param, value in zip(jump.block.params, jump.args, strict=True):
                given.setdefault(param, set()).add(value)
    return {param for param, values in given.items() if len(values) > 1}
