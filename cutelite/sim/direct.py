"""Fast execution of the most common ops, by functions bound to the values that they read and define.

In    an op; the values of a strand, all of whose lanes are active
Out   a function that does the same as `op.simulate` in a third of the time; None for other ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.types import Vec, boolean
from cutelite.ops.arith import Binary, Cmp, Select, VecGather
from cutelite.ops.tensor import TensorView, tensor_type

Execute = Callable[[Any], None]


def direct(op: Op) -> Execute | None:
    """Return the function by which a strand executes `op`; None if `op.simulate` has to do it."""
    if isinstance(op, Binary) and type(op).simulate is Binary.simulate:
        return _binary(op)
    if isinstance(op, Cmp):
        return _comparison(op)
    if isinstance(op, Select) and op.cond.type == boolean and not isinstance(op.a.type, Vec):
        return _choice(op)
    if isinstance(op, TensorView) and not op.inside:
        return _view(op)
    return _gather(op) if isinstance(op, VecGather) else None


def _binary(op: Binary) -> Execute:
    a, b, out, compute = op.a, op.b, op.result, op.compute

    def execute(strand: Any) -> None:
        regs = strand.regs
        x = regs[a]
        found = compute(x, regs[b])
        regs[out] = found if found.dtype is x.dtype else found.astype(x.dtype, copy=False)

    return execute


def _comparison(op: Cmp) -> Execute:
    a, b, out, compare = op.a, op.b, op.result, op.compare

    def execute(strand: Any) -> None:
        regs = strand.regs
        regs[out] = compare(regs[a], regs[b])

    return execute


def _choice(op: Select) -> Execute:
    cond, a, b, out, choose = op.cond, op.a, op.b, op.result, np.where

    def execute(strand: Any) -> None:
        regs = strand.regs
        regs[out] = choose(regs[cond], regs[a], regs[b])

    return execute


def _view(op: TensorView) -> Execute:
    base, offset, out, distance = op.t, op.offset, op.result, tensor_type(op.t).distance

    def execute(strand: Any) -> None:
        regs = strand.regs
        at = regs[base]
        regs[out] = at if offset is None else at + distance(regs[offset].astype(np.int64, copy=False))

    return execute


def _gather(op: VecGather) -> Execute:
    a, out, where = op.a, op.result, op.where

    def execute(strand: Any) -> None:
        regs = strand.regs
        regs[out] = regs[a][where]

    return execute
