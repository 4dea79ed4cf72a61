"""mbarriers in shared memory: ``bars = cl.shared(cl.mbarrier, 4)`` allocates four of them, and ``bars[i]`` is one.

    if cl.linear_thread_idx() == 0:
        bars[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    ...
    bars[0].arrive_expect_tx(tile.nbytes)      # the producer, before its copies
    bars[0].wait(phase)                        # the consumers

A phase is complete when all arrivals that `init` announced and all bytes that were expected have come; then the
next one begins. Phases have parity 0, 1, 0, ...: `wait(p)` returns once the latest phase of parity `p` is complete.
On a fresh barrier the phase "before the first", of parity 1, counts as complete, so a producer starts with 1.
"""

from __future__ import annotations

from math import prod
from typing import Any

from cutelite import ops
from cutelite.ir.function import Value
from cutelite.ir.types import Ptr, boolean, i32, u32, u64
from cutelite.lang.emit import Handle, builder_here, describe, emit, mistake
from cutelite.lang.promotion import as_integer, as_value, to_dtype
from cutelite.lang.values import Scalar


class Barrier(Handle):
    """One mbarrier, in this block's shared memory or (`remote`) in another's: an element ``bars[i]``."""

    __slots__ = ()

    def init(self, count: int | Scalar) -> None:
        """Make this memory a barrier, each phase of which expects `count` arrivals.

        count   1 to 1,048,575
        Who     one thread, once; then `fence_mbarrier_init` if TMA or other blocks use it, then a barrier of the block
        Source  PTX ISA: mbarrier.init
        """
        emit(ops.mbarrier.Init(self.value, arrivals(count)))

    def inval(self) -> None:
        """End the barrier's life: its memory may then be used for something else. One thread. PTX: mbarrier.inval."""
        emit(ops.mbarrier.Inval(self.value))

    def arrive(self, count: int | Scalar | None = None, *, cluster: bool = False, relaxed: bool = False) -> Any:
        """Arrive, `count` times at once if given; threads that wait for the phase see this thread's earlier accesses.

        cluster  order accesses for the whole cluster, as on a remote barrier always; otherwise for this block
        relaxed  order nothing
        Result   the state of the phase, a u64 that `wait` and `test_wait` take; None for a remote barrier
        Source   PTX ISA: mbarrier.arrive
        """
        number = None if count is None or (isinstance(count, int) and count == 1) else arrivals(count)
        return emit(ops.mbarrier.Arrive(self.value, number, reach(cluster), relaxed))

    def arrive_drop(self, count: int | Scalar | None = None, *, cluster: bool = False, relaxed: bool = False) -> Any:
        """Arrive, and leave later phases: they expect `count` (default 1) fewer arrivals. PTX: mbarrier.arrive_drop.

        Arguments and result as for `arrive`.
        """
        number = None if count is None or (isinstance(count, int) and count == 1) else arrivals(count)
        return emit(ops.mbarrier.ArriveDrop(self.value, number, reach(cluster), relaxed))

    def arrive_expect_tx(self, bytes: int | Scalar, *, cluster: bool = False, relaxed: bool = False) -> Any:
        """Let the current phase wait for `bytes` more bytes of asynchronous copies, and arrive once.

        Arguments and result otherwise as for `arrive`. Source: PTX ISA: mbarrier.arrive.expect_tx
        """
        return emit(ops.mbarrier.ArriveExpectTx(self.value, counted(bytes), reach(cluster), relaxed))

    def expect_tx(self, bytes: int | Scalar) -> None:
        """Let the current phase wait for `bytes` more bytes, without arriving. PTX: mbarrier.expect_tx."""
        emit(ops.mbarrier.ExpectTx(self.value, counted(bytes)))

    def complete_tx(self, bytes: int | Scalar) -> None:
        """Count `bytes` bytes as arrived, as a copy does when it is complete. PTX: mbarrier.complete_tx."""
        emit(ops.mbarrier.CompleteTx(self.value, counted(bytes)))

    def wait(self, phase: int | Scalar, *, cluster: bool = False, relaxed: bool = False) -> None:
        """Block until the phase is complete; what the arrivals released, and the copies brought, is then visible.

        phase    its parity, 0 or 1; or its state as `arrive` returned it
        Who      each thread for itself
        Errors   the simulator reports a deadlock, with the threads and what each waits for
        Source   PTX ISA: mbarrier.try_wait, in a loop
        """
        emit(ops.mbarrier.Wait(self.value, which(phase), reach(cluster), relaxed))

    def try_wait(
        self,
        phase: int | Scalar,
        *,
        hint_ns: int | Scalar | None = None,
        cluster: bool = False,
        relaxed: bool = False,
    ) -> Scalar:
        """Return whether the phase is complete; the thread may sleep, at most `hint_ns`, until it is.

        Arguments as for `wait`. Source: PTX ISA: mbarrier.try_wait
        """
        limit = None if hint_ns is None else amount(hint_ns, "a number of nanoseconds")
        return emit(ops.mbarrier.TryWait(self.value, which(phase), reach(cluster), relaxed, limit))  # type: ignore[no-any-return]

    def test_wait(self, phase: int | Scalar, *, cluster: bool = False, relaxed: bool = False) -> Scalar:
        """Return whether the phase is complete, without blocking. Arguments as for `wait`. PTX: mbarrier.test_wait."""
        return emit(ops.mbarrier.TestWait(self.value, which(phase), reach(cluster), relaxed))  # type: ignore[no-any-return]

    def remote(self, rank: int | Scalar) -> Barrier:
        """Return the barrier at the same offset in block `rank` of the cluster, to arrive on it and count bytes.

        Source   PTX ISA: mapa
        """
        return Barrier(emit(ops.cluster.Mapa(self.value, block_rank(rank))).value)

    def arrive_after_copies(self, *, noinc: bool = True) -> None:
        """Arrive when this thread's cp.async copies so far are complete.

        noinc   the arrival is one of those that `init` counts; False: it first adds one to the pending arrivals
        Source  PTX ISA: cp.async.mbarrier.arrive
        """
        emit(ops.cp_async.CpAsyncMbarrierArrive(self.value, noinc))


def amount(x: Any, what: str, least: int = 0, most: int = 0xFFFFFFFF) -> Value:
    """Return a count or a number of bytes as an operand: an i32, or a u32.

    what, least, most  what a literal is, in words, and from where to where it goes. Errors: `amount`
    """
    if isinstance(x, int):
        if not least <= x <= most:
            raise mistake("amount", f"{what} is from {least} to {most}, not {x}")
        return as_value(x, i32 if x <= i32.range[1] else u32)
    return as_integer(x, i32, u32)


def arrivals(count: Any) -> Value:
    return amount(count, "the number of arrivals that an mbarrier counts", 1, ops.mbarrier.MAX_COUNT)


def counted(bytes: Any) -> Value:
    return amount(bytes, "the number of bytes that an mbarrier counts", 0, ops.mbarrier.MAX_COUNT)


def block_rank(rank: Any) -> Value:
    """Return the rank of a block as an operand. Errors: `cluster-rank` for one that the cluster lacks."""
    if isinstance(rank, int) and not 0 <= rank < cluster_size():
        title = f"a cluster of {cluster_size()} has no block of rank {rank}"
        raise mistake("cluster-rank", title, help="`@cl.kernel(cluster=...)` says how many blocks it has")
    return as_integer(rank, i32)


def cluster_size() -> int:
    return prod(builder_here("a rank in a cluster").function.attrs.get("cluster", (1,)))


def which(phase: Any) -> Value:
    """Return a phase as an operand: a parity (i32 or u32) or a state (u64)."""
    if isinstance(phase, int) and phase not in (0, 1):
        raise mistake("mbarrier-parity", f"the parity of a phase is 0 or 1, not {phase}")
    if isinstance(phase, Scalar) and phase.dtype in (u64, u32, i32):
        return phase.value
    if isinstance(phase, Scalar) and (phase.dtype.is_int or phase.dtype == boolean):
        return to_dtype(phase, i32).value  # type: ignore[no-any-return]
    return as_value(int(phase) if isinstance(phase, bool) else phase, i32)


def reach(cluster: bool) -> str:
    return "cluster" if cluster else "cta"


def barrier_value(x: Any) -> Value:
    """Return the address of one mbarrier, from a `Barrier`."""
    if isinstance(x, Handle) and isinstance(x.value.type, Ptr):
        return x.value
    raise mistake("mbarrier", f"an mbarrier is needed here, not {describe(x)}", help="`bars[i]` is one")


def fence_mbarrier_init() -> None:
    """Make this thread's `init`s visible to the cluster and to TMA; a barrier must follow before they are used.

    Source   PTX ISA: fence.mbarrier_init
    """
    emit(ops.mbarrier.FenceMbarrierInit())


def mbarrier_pending_count(state: Scalar) -> Scalar:
    """Return the number of arrivals still missing in a state that `arrive` returned. PTX: mbarrier.pending_count."""
    return emit(ops.mbarrier.PendingCount(as_value(state, u64)))  # type: ignore[no-any-return]
