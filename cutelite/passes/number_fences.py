"""Number the `wgmma.fence_operand`s of a kernel, so that each can be found in machine code.

    wgmma.fence_operand values=(%a,)   wgmma.fence_operand values=(%b,)
        ->   wgmma.fence_operand values=(%a,), number=0   wgmma.fence_operand values=(%b,), number=1

Needs: verified IR. Keeps: everything else, and fences that emit no instruction. A kernel without a fence is returned
unchanged.
"""

from __future__ import annotations

from cutelite.ir.function import Function
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

FENCE = "wgmma.fence_operand"  # by name: kernels without one need not import `ops.wgmma`


def number_fences(function: Function, context: Context) -> Function:
    if not any(op.name == FENCE and op["held"] for op in function.ops()):
        return function
    rewrite, count = Rewrite(function), 0
    for op in rewrite:
        new = rewrite.keep(op)
        if op.name == FENCE and op["held"]:
            numbered = rewrite.with_results(new.with_fields(number=count), new)
            rewrite.builder.block.ops[-1] = numbered
            count += 1
    return rewrite.function
