"""Multimem operations, on addresses that stand for the same place in the memory of several GPUs. PTX ISA: multimem."""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Vec
from cutelite.lang.address import address
from cutelite.lang.emit import Runtime, describe, emit, mistake
from cutelite.lang.promotion import as_value, no_dtype
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector
from cutelite.ops import multimem as ops
from cutelite.ops.sync import Scope

Operation = Literal["add", "min", "max", "and", "or", "xor"]


def multimem_ld_reduce(
    p: Any,
    dtype: Any = None,
    n: int | None = None,
    operation: Operation = "add",
    *,
    semantic: Literal["relaxed", "acquire"] = "relaxed",
    scope: Scope = "sys",
    exact: bool = True,
) -> Any:
    """Return the numbers at a place in several GPUs' memory, combined by `operation`.

    p          an address in multimem memory, which the host has mapped; a multiple of the bytes read
    dtype, n   i32, u32, i64, u64, f32, f64; or a vector of n: 2 or 4 f32, 2, 4 or 8 f16 or bf16, on Blackwell also 4, 8
               or 16 e4m3 or e5m2. By default the dtype of the tensor that `p` is
    operation  'add' (not of i64), 'min' or 'max' (not of f32 and f64); of integers also 'and', 'or', 'xor'
    semantic, scope  as in `cutelite.lang.atomics`: what the read orders, and the threads that agree on it
    exact      f16 and bf16 are summed in f32, e4m3 and e5m2 in f16
    Who        each thread for itself. In the simulator there is one GPU
    Source     PTX ISA: multimem.ld_reduce
    """
    if dtype is None and not isinstance(p, Tensor):
        raise mistake("dtype", f"the dtype at {describe(p)} is not known", help="give it: `cl.f32`")
    elem = p.dtype if dtype is None else dtype
    if not isinstance(elem, DType):
        raise no_dtype(elem)
    t = elem if n is None else Vec(elem, n)
    return emit(ops.MultimemLoadReduce(address(p, ops.size(t)), t, operation, semantic, scope, exact))


def multimem_st(p: Any, x: Any, *, semantic: Literal["relaxed", "release"] = "relaxed", scope: Scope = "sys") -> None:
    """Write `x` to a place of several GPUs; types as for `multimem_ld_reduce`. Source: PTX ISA: multimem.st."""
    value = _value(p, x)
    emit(ops.MultimemStore(address(p, ops.size(value.type)), value, semantic, scope))


def multimem_red(
    p: Any,
    x: Any,
    operation: Operation = "add",
    *,
    semantic: Literal["relaxed", "release"] = "relaxed",
    scope: Scope = "sys",
) -> None:
    """Combine `x` into a place of several GPUs, atomically at each; otherwise as `multimem_st`. PTX: multimem.red."""
    value = _value(p, x)
    emit(ops.MultimemRed(address(p, ops.size(value.type)), value, operation, semantic, scope))


def _value(p: Any, x: Any) -> Value:
    """Return what goes to a place: a literal, in the type of the tensor there; else numbers of that type."""
    elem = p.dtype if isinstance(p, Tensor) else None
    if isinstance(x, Vector) and elem is not None:
        return as_value(x, Vec(elem, x.n))
    if not isinstance(x, Runtime) and elem is None:
        raise mistake("dtype", f"the type of {describe(x)} is not known", help="convert it: `cl.f32(x)`")
    return as_value(x, elem)
