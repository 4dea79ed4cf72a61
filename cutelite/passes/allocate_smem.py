"""Give every shared-memory tensor its place: offsets in bytes from the start of the CTA's shared memory.

    %a = smem.alloc type=tensor<f16,smem,64:1,128>     ->   %a = smem.alloc type=..., offset=0

Tensors of the coarsest alignment come first, so that little is lost between; dynamic tensors lie behind all
others, at the same offset. The launcher reads the sum from ``attrs["smem_bytes"]``.

Errors: `shared-memory` when the sum exceeds what a block of the target may use, with the list of tensors;
`constant-memory` when a kernel's arrays in constant memory exceed that.
Needs: verified IR. Keeps: every op, in order.
"""

from __future__ import annotations

from cutelite.diag import CompileError, Diagnostic, Mistake, Note
from cutelite.ir.function import Function
from cutelite.ir.op import Op
from cutelite.ops.tensor import CONSTANT_BYTES, SMEM_ALIGN, ConstArray, SmemAlloc
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite


class SharedMemory(Diagnostic):
    title = "the kernel needs {d.need} bytes of shared memory, and a block on {d.arch} may use {d.limit}"
    label = "{d.over} bytes too many with this tensor"
    help = "use smaller tiles or fewer stages"
    need: int
    limit: int
    over: int
    arch: str


class SharedMemoryAlignment(Diagnostic):
    title = "shared memory cannot be aligned to {d.align} bytes"
    label = "{d.limit} is the most"
    help = "swizzles of layouts count elements: the one of 128 bytes is `Swizzle(3, 3, 3)` for elements of 16 bits"
    align: int
    limit: int = SMEM_ALIGN


def allocate_smem(function: Function, context: Context) -> Function:
    found = [op for op in function.ops() if isinstance(op, (SmemAlloc, ConstArray))]
    _check_constants([op for op in found if isinstance(op, ConstArray)])
    allocs = [op for op in found if isinstance(op, SmemAlloc)]
    allocs.sort(key=lambda op: (op.dynamic, -op.type.align))
    offsets: dict[Op, int] = {}
    total = 0
    for alloc in allocs:
        if alloc.type.align > SMEM_ALIGN:
            raise CompileError(SharedMemoryAlignment(alloc.type.align), alloc.span)
        offsets[alloc] = total = -(-total // alloc.type.align) * alloc.type.align
        total += alloc.bytes
        if total > context.target.smem_per_block:
            raise _too_much(allocs, alloc, context)
    rewrite = Rewrite(function)
    rewrite.function.attrs["smem_bytes"] = total
    for op in rewrite:
        if op in offsets:
            rewrite.builder.block.ops.append(rewrite.with_results(op.with_fields(offset=offsets[op]), op))
        else:
            rewrite.keep(op)
    return rewrite.function


def _check_constants(arrays: list[ConstArray]) -> None:
    """Check that all arrays fit constant memory; equal ones are one. Errors: `constant-memory`."""
    seen: dict[str, ConstArray] = {}
    total = 0
    for array in arrays:
        if array.data not in seen:
            total += -(-len(array.data) // 32) * 16
            seen[array.data] = array
        if total > CONSTANT_BYTES:
            notes = [Note(f"{len(op.data) // 2} bytes", op.span) for op in seen.values()]
            text = f"a kernel has {CONSTANT_BYTES} bytes of constant memory, and its arrays need {total} up to here"
            help = "pass the larger ones as tensors"
            raise CompileError(Mistake("constant-memory", text, help=help), array.span, notes)


def _too_much(allocs: list[SmemAlloc], at: SmemAlloc, context: Context) -> CompileError:
    limit = context.target.smem_per_block
    need = 0
    for op in allocs:
        need = -(-need // op.type.align) * op.type.align + op.bytes
    notes = [Note(f"{op.bytes} bytes{f' for `{op.result.hint}`' if op.result.hint else ''}", op.span) for op in allocs]
    return CompileError(SharedMemory(need, limit, need - limit, context.target.arch), at.span, notes)
