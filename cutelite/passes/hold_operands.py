"""Hold what wgmma reads in registers there until the wait that ends the products, and refuse what cannot be held.

    %a = cvt a=%p, type=bf16                           %a = cvt a=%p, type=bf16
    %d = wgmma.mma_async d=%c, a=%a, ...               %d = wgmma.mma_async d=%c, a=%a, ...
    wgmma.commit_group                           ->    wgmma.commit_group
    %e = wgmma.wait_group n=0, values=(%d,)            %e = wgmma.wait_group n=0, values=(%d,), read=(%a,)

A product reads A, and a sparse one its metadata, while the warps go on. Without a use at the wait, a register is free
behind the product, and may become that of another value which merges with A. In a loop, the next iteration's A is in
the registers of this one's: no use makes them others, so there has to be a wait before it is computed.

A wait for all but n groups ends a product if more than n have been closed since it was started, on every way there.

Errors: `wgmma-operand` if they may be computed again first. Needs: `promote_rmem`. Keeps: every op, in order.
"""

from __future__ import annotations

from cutelite.diag import CompileError, Mistake, Note
from cutelite.graphs import reached
from cutelite.ir.function import Block, Function, Value, dominated, dominates, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Vec
from cutelite.ops.arith import Const
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

# By name: most kernels have none, and need not import `ops.wgmma`.
SPARSE = "wgmma.mma_async.sp"
PRODUCTS = ("wgmma.mma_async", SPARSE)


def hold_operands(function: Function, context: Context) -> Function:
    if not any(map(_read, function.ops())):
        return function
    order = reverse_postorder(function.entry)
    home = {value: block for block in order for value in block.params}
    home |= {value: block for block in order for op in block.ops for value in op.results}
    inside = dominated(order)
    held: dict[Op, dict[Value, None]] = {}
    for block in order:
        for i, op in enumerate(block.ops):
            for name, a in _read(op).items():
                for wait, at in _waits(op, name, a, block, i + 1):
                    first = home[a] is at and (a.op is None or at.ops.index(a.op) < at.ops.index(wait))
                    if first or (home[a] is not at and dominates(inside[home[a]], inside[at])):
                        held.setdefault(wait, {})[a] = None
    if not held:
        return function
    rewrite = Rewrite(function, order=order)
    for op in rewrite:
        new = rewrite.keep(op)
        if op in held:
            read = tuple(map(rewrite.value, held[op]))
            rewrite.builder.block.ops[-1] = rewrite.with_results(new.with_fields(read=read), new)
    return rewrite.function


def _read(op: Op) -> dict[str, Value]:
    """Return what a product reads in registers, by the words for it."""
    if op.name not in PRODUCTS:
        return {}
    read = {"A": op["a"], **({"the metadata": op["meta"]} if op.name == SPARSE else {})}
    return {name: value for name, value in read.items() if isinstance(value.type, (Vec, InFlight))}


def _waits(product: Op, name: str, a: Value, block: Block, start: int) -> list[tuple[Op, Block]]:
    """Return the waits that end a product, each the first on some way from it; raise if `a` is written before."""
    found: dict[Op, Block] = {}
    makers = _makers(a)
    least: dict[Block, int] = {}  # groups that have been closed since the product, where a block begins
    left = [(block, start, 0)]
    while left:
        block, start, closed = left.pop()
        for op in block.ops[start:]:
            if not makers.isdisjoint(op.results):
                raise _written(name, product, op)
            if op.name == "wgmma.commit_group":
                closed += 1
            if op is product or (op.name == "wgmma.wait_group" and closed > op["n"]):
                if op is not product:
                    found[op] = block
                break
        else:
            for jump in block.terminator.jumps if block.terminator else ():
                target = jump.block
                for param, given in zip(target.params, jump.args, strict=True):
                    if param in makers and given is not param:
                        raise _written(name, product, given.op)
                if closed < least.get(target, closed + 1):
                    least[target] = closed
                    left.append((target, 0, closed))
    return list(found.items())


def _makers(a: Value) -> set[Value]:
    """Return the values whose registers a vector consists of: those that vectors are made of take no instruction."""

    def parts(value: Value) -> tuple[Value, ...]:
        return value.op.operands if value.op is not None and value.op.name.startswith("vec.") else ()

    return {value for value in reached([a], parts) if not isinstance(value.op, Const) and not parts(value)}


def _written(name: str, product: Op, again: Op | None) -> CompileError:
    """Return the error for registers that are written again too early."""
    mistake = Mistake(
        "wgmma-operand",
        f"{name} is computed again in its registers while this product may still read them",
        help=(
            "wait for the product first, in the same iteration: `acc = cl.wgmma.wait_group(0, acc)`",
            *(["or bring A through shared memory"] if name == "A" else []),
        ),
    )
    notes = [Note(f"{name} is computed again here", again.span)] if again is not None and again.span else []
    return CompileError(mistake, product.span, notes)
