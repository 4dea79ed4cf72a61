"""Unroll loops with few iterations, known in number, whose body is short and without branches.

    br ^loop(0); ^loop(%i): cond_br %i != 3, then=^body, other=^out; ^body: ...; br ^loop(%i + 1)
        ->   the body for 0, for 1 and for 2, one after the other; br ^out

Numbers that depend on the counter are then constants: indices into register tensors, offsets of addresses. Loops with
barriers, asynchronous work or inline PTX stay as they are, and so do longer ones: `cl.range(n, unroll=)` unrolls those.

Constants that this creates are folded.

Needs: folded IR. Keeps: effects, in order.
"""

from __future__ import annotations

from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Jump, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import Vec
from cutelite.ops.arith import Add, Cmp
from cutelite.ops.control import Br, CondBr
from cutelite.passes.algebra import known_integer
from cutelite.passes.context import Context
from cutelite.passes.fold import fold
from cutelite.passes.rewrite import Rewrite
from cutelite.tuples import NamedTuple

MAX_ITERATIONS = 8
MAX_SIZE = 64  # scalar operations in all iterations together
MEMORY = Effect.READS | Effect.WRITES


class Short(NamedTuple):
    """A loop to unroll: its two blocks, the jump that enters it, and how many times the body is executed."""

    header: Block
    body: Block
    entry: Jump
    times: int


def unroll_loops(function: Function, context: Context) -> Function:
    order = reverse_postorder(function.entry)
    before = predecessors(order)
    loops = {block: loop for block in order if (loop := _short(block, before)) is not None}
    if not loops:
        return function
    bodies = {loop.body for loop in loops.values()}
    dropped = {param for header in loops for param in header.params}
    rewrite = Rewrite(function, dropped, [block for block in order if block not in bodies])
    for block in rewrite.blocks():
        if block in loops:
            _unroll(rewrite, loops[block])
        else:
            for op in rewrite.ops(block):
                rewrite.keep(op)
    return fold(rewrite.function, context)


def _unroll(rewrite: Rewrite, loop: Short) -> None:
    """Emit all iterations into the block of the header."""
    back = _only_jump(loop.body)
    assert back is not None
    values = loop.entry.args
    for turn in range(loop.times + 1):
        news = [rewrite.value(value) for value in values]
        for param, value in zip(loop.header.params, news, strict=True):
            rewrite.replace(param, value)
        _copy(rewrite, loop.header.ops[:-1])
        if turn < loop.times:
            _copy(rewrite, loop.body.ops[:-1])
            values = back.args
    end = loop.header.terminator
    assert isinstance(end, CondBr)
    rewrite.keep(Br(end.other))


def _copy(rewrite: Rewrite, ops: list[Op]) -> None:
    for op in ops:
        rewrite.builder.span = op.span
        made = rewrite.emit(op.map_operands(rewrite.value))
        for old, new in zip(op.results, made if isinstance(made, tuple) else (made,), strict=False):
            new.hint, new.shape = old.hint, old.shape
            rewrite.replace(old, new)


def _short(header: Block, before: dict[Block, list[tuple[Block, Jump]]]) -> Short | None:
    """Return the loop of a header, if it is one to unroll."""
    end, ways = header.terminator, before[header]
    if not isinstance(end, CondBr) or not header.params or len(ways) != 2:
        return None
    body = end.then.block
    back = _only_jump(body)
    if back is None or back.block is not header or body.params or len(before[body]) != 1 or end.other.block is body:
        return None
    entry = next(jump for source, jump in ways if source is not body)
    count = _iterations(header, end, entry, back)
    ops = [*header.ops[:-1], *body.ops[:-1]]
    if count is None or any(op.effects & ~MEMORY for op in ops):
        return None
    size = sum(max((x.type.n if isinstance(x.type, Vec) else 1 for x in op.results), default=1) for op in ops)
    return Short(header, body, entry, count) if count * size <= MAX_SIZE else None


def _iterations(header: Block, end: CondBr, entry: Jump, back: Jump) -> int | None:
    """Return the number of iterations, if known and small, of a counter that goes on until it equals a constant."""
    test = end.cond.op
    if not isinstance(test, Cmp) or test.predicate != "ne" or test.a not in header.params:
        return None
    place = header.params.index(test.a)
    step = back.args[place].op
    if not isinstance(step, Add) or step.a is not test.a:
        return None
    first, last, by = map(known_integer, (entry.args[place], test.b, step.b))
    if first is None or last is None or not by or (last - first) % by:
        return None
    count = (last - first) // by
    return count if 0 <= count <= MAX_ITERATIONS else None


def _only_jump(block: Block) -> Jump | None:
    end = block.terminator
    return end.to if isinstance(end, Br) else None
