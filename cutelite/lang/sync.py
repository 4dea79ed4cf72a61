"""Barriers of the block, fences, and sleep."""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.types import i32, u32
from cutelite.lang.emit import emit
from cutelite.lang.promotion import as_integer
from cutelite.lang.values import Scalar, truth
from cutelite.ops import sync as ops
from cutelite.ops.sync import Scope


def syncthreads() -> None:
    """Wait for all threads of the block; what they wrote to memory before is then visible to all of them.

    Who      every thread of the block that has not left the kernel, each warp as a whole
    Source   PTX ISA: barrier.cta.sync
    """
    emit(ops.BarSync())


def syncthreads_count(condition: Any) -> Scalar:
    """Execute `syncthreads`, and count the threads for which `condition` holds: an i32. PTX: barrier.cta.red.popc."""
    return emit(ops.BarRed(a=truth(condition).value, operation="popc"))  # type: ignore[no-any-return]


def syncthreads_and(condition: Any) -> Scalar:
    """Execute `syncthreads`, and return whether `condition` holds for all threads. PTX: barrier.cta.red.and."""
    return emit(ops.BarRed(a=truth(condition).value, operation="and"))  # type: ignore[no-any-return]


def syncthreads_or(condition: Any) -> Scalar:
    """Execute `syncthreads`, and return whether `condition` holds for any thread. PTX: barrier.cta.red.or."""
    return emit(ops.BarRed(a=truth(condition).value, operation="or"))  # type: ignore[no-any-return]


def barrier_sync(id: int | Scalar, threads: int = 0) -> None:
    """Wait at barrier `id` until `threads` threads have arrived at it, those of `barrier_arrive` included.

    id        0 to 15; `syncthreads` uses 0. If it is known only at run time, ptxas reserves all 16
    threads   a multiple of 32; 0 for all of the block
    Who       whole warps
    Source    PTX ISA: barrier.cta.sync
    """
    emit(ops.BarSync(**_identity(id), count=threads))


def barrier_arrive(id: int | Scalar, threads: int) -> None:
    """Arrive at barrier `id` and go on at once.

    id, threads  as for `barrier_sync`, whose threads wait for these
    Who          whole warps
    Source       PTX ISA: barrier.cta.arrive
    """
    emit(ops.BarArrive(**_identity(id), count=threads))


def fence(scope: Scope = "gpu", semantic: Literal["acq_rel", "sc", "acquire", "release"] = "acq_rel") -> None:
    """Order this thread's memory accesses before the fence before those after it, as threads of the scope see them.

    scope      'cta', 'cluster', 'gpu' (CUDA's __threadfence) or 'sys'
    semantic   'acq_rel' is what passing data with a flag needs; 'sc' also puts all such fences in one order
    Who        each thread for itself
    Source     PTX ISA: fence
    """
    emit(ops.Fence(semantic, scope))


def nanosleep(ns: int | Scalar) -> None:
    """Do nothing for about `ns` nanoseconds, at most twice as long or a millisecond. PTX: nanosleep."""
    emit(ops.Nanosleep(as_integer(ns, u32, i32)))


def _identity(id: int | Scalar) -> dict[str, Any]:
    return {"id": id} if isinstance(id, int) else {"number": as_integer(id, i32, u32)}
