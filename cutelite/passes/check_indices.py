"""Refuse an index that is known at compile time and lies outside its tensor.

Needs: verified IR, `fold` so that constants are seen. Keeps: everything.
Errors: `index-out-of-bounds`, at the line of the access.
"""

from __future__ import annotations

from cutelite.diag import CompileError, Diagnostic, Note
from cutelite.ir.function import Function
from cutelite.layout import prove_le, size
from cutelite.ops.arith import Const
from cutelite.ops.tensor import ElementAccess, tensor_type
from cutelite.passes.context import Context


class IndexOutOfBounds(Diagnostic):
    title = "index {d.index} is out of bounds"
    label = "mode {d.mode} of {d.tensor} has indices from 0 to {d.extent} - 1"
    index: int
    mode: int
    tensor: str
    extent: str


def check_indices(function: Function, context: Context) -> Function:
    for op in function.ops():
        if isinstance(op, ElementAccess):
            _check(op)
    return function


def _check(op: ElementAccess) -> None:
    t = tensor_type(op.t)
    for mode, index in enumerate(op.coord):
        if not isinstance(index.op, Const):
            continue
        extent = size(t.layout) if len(op.coord) == 1 else size(t.layout, mode)
        number = int(index.op.value)
        if number < 0 or prove_le(extent, number):
            name = f"`{op.t.hint}`, {t.layout}," if op.t.hint else str(t.layout)
            notes = [Note("the tensor is made here", op.t.op.span)] if op.t.op is not None and op.t.op.span else []
            raise CompileError(IndexOutOfBounds(number, mode, name, str(extent)), op.span, notes)
