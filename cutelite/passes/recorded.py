"""Make a kernel keep the value of each op, for `kernel.compare_with_gpu(..., by="line")`.

    %x = ld p=%a              ->   %x = ld p=%a
    %y = mul a=%x, b=%x            record number=0, what="k.py:7: ld", value=%x
                                   %y = mul a=%x, b=%x
                                   record number=1, what="k.py:8: mul", value=%y

Values that may differ between runs are left out, with all that is computed from them: clocks, results of atomics and of
polls, tokens of barriers, numbers made from addresses. So are ops under a branch on such a value, since threads may
come there a different number of times. Ops that only move elements are left out too.

Needs: the frontend's IR. Keeps: every value and every op, in order.
"""

from __future__ import annotations

from cutelite.graphs import reached
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value, post_dominators, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr
from cutelite.ops.control import CondBr
from cutelite.ops.debug import Record, recordable
from cutelite.ops.index import Special
from cutelite.passes.rewrite import Rewrite

_CHANGING = (
    "activemask", "atom", "ld.strong", "mbarrier.", "clusterlaunchcontrol.", "multimem.ld_reduce", "createpolicy",
    "wgmma.descriptor", "tcgen05.descriptor", "tcgen05.smem_descriptor", "tcgen05.alloc",
)  # fmt: skip
"""Beginnings of the names of ops whose results may differ from run to run."""

_MOVES = ("vec.", "wgmma.fence")


def recorded(function: Function) -> Function:
    """Return `function` with the values of its ops recorded."""
    order = reverse_postorder(function.entry)
    changing, unsure = _changing(order)
    rewrite = Rewrite(function, order=order)
    number = 0
    for block in rewrite.blocks():
        for op in rewrite.ops(block):
            rewrite.keep(op)
            if block in unsure or op.span is None or not op.operands or op.name.startswith(_MOVES):
                continue
            for value in op.results:
                if value not in changing and recordable(value.type):
                    rewrite.emit(Record(number, f"{op.span.filename}:{op.span.line}: {op.name}", value))
                    number += 1
    return rewrite.function


def _changing(order: list[Block]) -> tuple[set[Value], set[Block]]:
    """Return the values that may differ from run to run, and the blocks whose number of visits may."""
    values: set[Value] = set()
    blocks: set[Block] = set()
    before, meets = predecessors(order), post_dominators(order)
    size = -1
    while size != len(values) + len(blocks):
        size = len(values) + len(blocks)
        for block in order:
            for number, param in enumerate(block.params):
                given = [(source, jump.args[number]) for source, jump in before[block]]
                parted = any(source in blocks for source, _ in given) and len({value for _, value in given}) > 1
                if parted or any(value in values for _, value in given):
                    values.add(param)
            for op in block.ops:
                if _begins(op) or (not op.effects & Effect.READS and any(value in values for value in op.operands)):
                    values.update(op.results)
            end = block.terminator
            if isinstance(end, CondBr) and end.cond in values:
                meet = meets.get(block)  # where its sides come together again
                blocks |= reached(block.successors, lambda each: each.successors, [meet] if meet else []) - {meet}
    return values, blocks


def _begins(op: Op) -> bool:
    """Tell whether the results of an op may differ from run to run, whatever its operands."""
    if isinstance(op, Special):
        return op.effects is not Effect.PURE or op.register in ("nsmid", "gridid")
    if op.name.startswith(_CHANGING):
        return True
    addresses = any(isinstance(value.type, Ptr) for value in op.operands)
    return addresses and op.is_pure and not any(isinstance(value.type, Ptr) for value in op.results)
