"""Drop accumulators that a product of wgmma overwrites without reading them.

    %b = wgmma.fence values=(%a,)   %d = wgmma.mma_async d=%b, accumulate=False
        ->   wgmma.fence values=()   %d = wgmma.mma_async accumulate=False

%a would be written into registers, zeros mostly, and each be an operand of the fence and of the product, tied to a
result: for a GEMM of `kernels` this is a sixth of what LLVM does (docs/lab/compile-time.md).

Needs: verified IR, with known numbers folded. Keeps: each fence, if of nothing; an accumulator that other products may
still write.
"""

from __future__ import annotations

from cutelite.ir.function import Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Vec
from cutelite.passes.context import Context
from cutelite.passes.fold import constant
from cutelite.passes.rewrite import Rewrite

FENCE = "wgmma.fence"  # by name: most kernels import no `ops.wgmma`
PRODUCTS = ("wgmma.mma_async", "wgmma.mma_async.sp")


def drop_overwritten(function: Function, context: Context) -> Function:
    products = {op for op in function.ops() if op.name in PRODUCTS and _overwrites(op)}
    if not products:
        return function
    read = {value for op in function.ops() for value in op.operands if op not in products or value is not op["d"]}
    rewrite = Rewrite(function)
    for op in rewrite:
        new = rewrite.keep(op)
        if op in products:
            rewrite.builder.block.ops[-1] = rewrite.with_results(new.with_fields(d=None), new)
        elif op.name == FENCE and not read.issuperset(op.results):
            rewrite.builder.block.ops[-1] = _without(new, read)
    return rewrite.function


def _overwrites(product: Op) -> bool:
    """Tell whether a product reads nothing of its accumulator, which no other product may still be writing."""
    d: Value | None = product["d"]
    ordinary = d is not None and (isinstance(d.type, Vec) or (d.op is not None and d.op.name == FENCE))
    return ordinary and constant(product["accumulate"]) is False


def _without(fence: Op, read: set[Value]) -> Op:
    """Return the fence without the values whose results nobody reads."""
    kept = [pair for pair in zip(fence["values"], fence.results, strict=True) if pair[1] in read]
    new = fence.with_fields(values=tuple(value for value, _ in kept))
    new.results = tuple(result for _, result in kept)
    for result in new.results:
        result.op = new
    return new
