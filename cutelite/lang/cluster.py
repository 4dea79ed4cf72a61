"""Thread block clusters: their barrier, distributed shared memory, dependent launches, and cluster launch control.

A remote tensor (`mapa`) is read and written like any other; `st_async` writes without waiting and counts the bytes on
an mbarrier of the block it writes to.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Tensor as TensorType
from cutelite.ir.types import Vec, elem_of
from cutelite.lang.address import address, place_of
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.mbarrier import Barrier, barrier_value, block_rank
from cutelite.lang.promotion import as_value
from cutelite.lang.values import Scalar, Vector
from cutelite.ops import cluster as ops


def cluster_arrive(*, relaxed: bool = False) -> None:
    """Arrive on the cluster's barrier; `cluster_wait` must follow before the next one.

    relaxed  order no memory accesses: enough if the others have to see only initialised mbarriers
    Who      every thread of the cluster
    Source   PTX ISA: barrier.cluster.arrive
    """
    emit(ops.ClusterArrive(relaxed))


def cluster_wait() -> None:
    """Wait until every thread of the cluster has arrived. PTX: barrier.cluster.wait."""
    emit(ops.ClusterWait())


def cluster_sync() -> None:
    """Wait for all threads of the cluster; what they wrote before is then visible to all of them.

    It also keeps a block from leaving while others still access its shared memory.
    """
    cluster_arrive()
    cluster_wait()


def mapa(p: Any, rank: int | Scalar) -> Any:
    """Return the address of `p`, a tensor, a pointer or an mbarrier, in the shared memory of block `rank`.

    Source   PTX ISA: mapa
    """
    if isinstance(p, Barrier):
        return p.remote(rank)
    return emit(ops.Mapa(place_of(p), block_rank(rank)))


def getctarank(p: Any) -> Scalar:
    """Return the rank of the block whose shared memory `p` is in. PTX: getctarank."""
    return emit(ops.Getctarank(place_of(p)))  # type: ignore[no-any-return]


def st_async(p: Any, x: Any, barrier: Barrier) -> None:
    """Start storing `x` in another block's shared memory; the bytes are counted on `barrier`, in that block.

    p        an address in another block (of `mapa(t, rank)`), a multiple of the size of `x`; PTX leaves
             undefined what happens in the own block
    x        a scalar of 32 or 64 bits, or a vector of 2 or 4 such, of at most 16 bytes
    Who      each thread for itself
    Source   PTX ISA: st.async
    """
    data = _stored(p, x)
    emit(ops.StAsync(address(p, _width(data)), data, barrier_value(barrier)))


def red_async(
    p: Any,
    x: Any,
    barrier: Barrier,
    kind: Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"] = "add",
) -> None:
    """Start combining, by `kind`, the integer `x` into another block's shared memory, atomically; else like `st_async`.

    Source   PTX ISA: red.async
    """
    data = _stored(p, x)
    emit(ops.RedAsync(kind, address(p, _width(data)), data, barrier_value(barrier)))


def _width(data: Value) -> int:
    """Return the bytes of a number or vector."""
    t = data.type
    return elem_of(t).bytes * (t.n if isinstance(t, Vec) else 1)


def _stored(p: Any, x: Any) -> Value:
    """Return what goes to a place: numbers of the type of the tensor there; to a bare address, a number as it is."""
    where = place_of(p).type
    if isinstance(where, TensorType):
        return as_value(x, Vec(where.elem, x.n) if isinstance(x, Vector) else where.elem)
    if not isinstance(x, Scalar | Vector):
        raise mistake("dtype", f"the type of {describe(x)} is not known", help="convert it: `cl.f32(x)`")
    return as_value(x)


def griddepcontrol_wait() -> None:
    """Wait until the kernels that this launch depends on are complete, and their writes visible.

    In an ordinary launch it returns at once. Source: PTX ISA: griddepcontrol.wait
    """
    emit(ops.GridWait())


def griddepcontrol_launch_dependents() -> None:
    """Let the next kernel of the stream start, if it was launched to overlap with this one.

    Source   PTX ISA: griddepcontrol.launch_dependents
    """
    emit(ops.LaunchDependents())


def clusterlaunchcontrol_try_cancel(response: Any, barrier: Barrier, *, multicast: bool = False) -> None:
    """Try to cancel a cluster of this launch that has not started, so that this one can do its work.

    response   two u64 in shared memory, aligned to 16 bytes, to which the async proxy writes the answer later
    barrier    an mbarrier of this block, which counts these 16 bytes
    multicast  write the response in each block of the cluster, and count it on the barrier of each
    Who        one thread of the cluster; no thread once a response said that a request failed
    Source     PTX ISA: clusterlaunchcontrol.try_cancel
    """
    emit(ops.TryCancel(address(response, ops.RESPONSE), barrier_value(barrier), multicast))


def clusterlaunchcontrol_is_canceled(response: Vector) -> Scalar:
    """Return whether a cluster was cancelled.

    response   the two u64, loaded after a wait for `barrier`
    Source     PTX ISA: clusterlaunchcontrol.query_cancel.is_canceled
    """
    return emit(ops.IsCanceled(response.value))  # type: ignore[no-any-return]


def clusterlaunchcontrol_get_first_ctaid(response: Vector, axis: Literal["x", "y", "z"] = "x") -> Scalar:
    """Return `block_idx` along `axis`, a u32, of the first block of the cancelled cluster; undefined if none was.

    response   as `clusterlaunchcontrol_is_canceled` takes it
    Source     PTX ISA: clusterlaunchcontrol.query_cancel.get_first_ctaid
    """
    return emit(ops.GetFirstCtaid(response.value, axis))  # type: ignore[no-any-return]
