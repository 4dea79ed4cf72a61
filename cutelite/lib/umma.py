"""Pipelines for tcgen05: rings whose buffers MMAs read, or whose accumulators MMAs fill.

    loads = cl.PipelineTmaUmma.create(STAGES, tx_bytes)           TMA fills buffers, one thread's MMAs read them
    sums = cl.PipelineUmmaAsync.create(2, consumers=128)          one thread's MMAs fill accumulators, threads read them
    parts = cl.PipelineAsyncUmma.create(STAGES, producers=128)    threads fill buffers, one thread's MMAs read them

They are used as the pipelines of `lib.pipelines` are, with the same states. An MMA is complete when the mbarrier of a
`tcgen05.commit` says so: that commit is `consumer_release` of the first and the third, and `producer_commit` of the
second. The fences that order tcgen05 between threads are inside the methods too.
"""

from __future__ import annotations

from typing import Any

from cutelite.lang import profile, tcgen05
from cutelite.lang.index import block_rank_in_cluster
from cutelite.lang.pipeline_checks import arrivals_of
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.tma import fence_proxy_async
from cutelite.lib.epilogue import ResultRing
from cutelite.lib.pipelines import PipelineTmaAsync, Ring, barriers, lane_of_met_warp, pipeline_init_sync, warp_arrives
from cutelite.records import dataclass


def leader() -> Any:
    """Return the rank of the leader of this pair, the block that starts its MMAs: the even one."""
    return block_rank_in_cluster() // 2 * 2


@dataclass(frozen=True)
class PipelineTmaUmma(PipelineTmaAsync):
    """One thread fills buffers by TMA; one thread's MMAs read them.

    cta_group, mask  arguments of `tcgen05.commit`
    """

    cta_group: int = 1
    mask: Any = None

    @classmethod
    def create(  # type: ignore[override]
        cls, stages: int, tx_bytes: int, cta_group: int = 1, mask: Any = None, sync: bool = True, peers: int = 1
    ) -> PipelineTmaUmma:
        """A pipeline fed by TMA.

        stages     how many buffers
        tx_bytes   bytes that fill one block's buffer
        cta_group  2 for MMAs of pairs of blocks
        mask       a bit for the rank of each block that is told when a buffer is empty: 3 for a pair; None: this block
        sync       end with a barrier of the block, or for pairs of the cluster
        peers      with multicast: how many blocks fill this block's buffers, itself included. `mask` has their bits,
                   and `tx_bytes` counts the bytes of all
        Who        all threads of the block
        """
        full, empty = barriers(stages, 1), barriers(stages, peers)
        if sync:
            pipeline_init_sync(cta_group == 2)
        return PipelineTmaUmma(full, empty, stages, tx_bytes, cta_group=cta_group, mask=mask)

    def barrier(self, state: PipelineState) -> Any:
        """Return the mbarrier for copies into the buffer; for a pair the leader's, with ``tma_load(pair=True)``."""
        full = self.full[state.index]
        return full if self.cta_group == 1 else full.remote(leader())

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is empty, then expect its bytes; a pair's leader expects both blocks'. One thread."""
        self._wait("acquire", self.empty, state, seen)
        if self.cta_group == 1 or block_rank_in_cluster() % 2 == 0:
            self.full[state.index].arrive_expect_tx(self.tx_bytes * self.cta_group)

    def consumer_release(self, state: PipelineState) -> None:
        """Report the buffer empty as soon as all MMAs that this thread has started are complete. One thread."""
        profile.mark("release", state.index)
        tcgen05.commit(self.empty[state.index], self.mask, self.cta_group)


@dataclass(frozen=True)
class PipelineUmmaAsync(Ring):
    """One thread's MMAs fill accumulators in tensor memory; threads read them."""

    cta_group: int = 1
    mask: Any = None

    @classmethod
    def create(
        cls, stages: int, consumers: int, cta_group: int = 1, mask: Any = None, sync: bool = True
    ) -> PipelineUmmaAsync:
        """A pipeline of accumulators.

        stages     how many accumulators
        consumers  how many threads of a block call `consumer_release`, in whole warps
        mask       a bit for the rank of each block that is told when an accumulator is full; None: this block
        sync       end with a barrier of the block, or for pairs of the cluster
        Who        all threads of the block
        """
        full, empty = barriers(stages, 1), barriers(stages, arrivals_of(consumers) * cta_group)
        if sync:
            pipeline_init_sync(cta_group == 2)
        return PipelineUmmaAsync(full, empty, stages, cta_group, mask)

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the accumulator has been read; not if it was `seen` to be. One thread."""
        self._wait("acquire", self.empty, state, seen, cluster=self.cta_group == 2)
        tcgen05.fence_after_thread_sync()

    def producer_commit(self, state: PipelineState) -> None:
        """Report the accumulator full as soon as all MMAs that this thread has started are complete. One thread."""
        profile.mark("commit", state.index)
        tcgen05.commit(self.full[state.index], self.mask, self.cta_group)

    def consumer_wait(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the accumulator is full; not if it was `seen` to be."""
        self._wait("wait", self.full, state, seen)
        tcgen05.fence_after_thread_sync()

    def consumer_release(self, state: PipelineState) -> None:
        """Say that this thread has read the accumulator; it has waited for its loads."""
        profile.mark("release", state.index)
        tcgen05.fence_before_thread_sync()
        if self.cta_group == 1:
            warp_arrives(self.empty[state.index])
        elif lane_of_met_warp() == 0:
            self.empty[state.index].remote(leader()).arrive(cluster=True)


@dataclass(frozen=True)
class PipelineAsyncUmma(Ring):
    """Threads fill buffers in shared or tensor memory by stores; one thread's MMAs read them."""

    @classmethod
    def create(cls, stages: int, producers: int, sync: bool = True) -> PipelineAsyncUmma:
        """A pipeline from threads to MMAs.

        stages     how many buffers
        producers  how many threads call `producer_commit`, in whole warps
        Who        all threads of the block
        """
        full, empty = barriers(stages, arrivals_of(producers)), barriers(stages, 1)
        if sync:
            pipeline_init_sync()
        return PipelineAsyncUmma(full, empty, stages)

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is empty; not if it was `seen` to be."""
        self._wait("acquire", self.empty, state, seen)
        tcgen05.fence_after_thread_sync()

    def producer_commit(self, state: PipelineState) -> None:
        """Say that this thread's part of the buffer is full; it has waited for its stores to tensor memory."""
        profile.mark("commit", state.index)
        fence_proxy_async("shared::cta")
        tcgen05.fence_before_thread_sync()
        warp_arrives(self.full[state.index])

    def consumer_wait(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is full; not if it was `seen` to be. One thread."""
        self._wait("wait", self.full, state, seen)
        tcgen05.fence_after_thread_sync()

    def consumer_release(self, state: PipelineState) -> None:
        """Report the buffer empty as soon as all MMAs that this thread has started are complete. One thread."""
        profile.mark("release", state.index)
        tcgen05.commit(self.empty[state.index])


@dataclass(frozen=True)
class RowRing(ResultRing):
    """A `ResultRing` for results of which each thread has a whole row, as after 32x32b loads of tensor memory.

    ring    shared memory (128, columns, buffers)
    thread  this thread's index in the warpgroup, 0 to 127, which is also its row
    """

    @classmethod
    def create(cls, ring: Any, thread: Any, group: Any) -> RowRing:  # type: ignore[override]
        """Return the ring, with all buffers free."""
        return RowRing(ring, None, thread, group)

    def put(self, i: int, values: Any) -> None:
        """Write this thread's row of piece `i`, a vector, to the piece's buffer."""
        self.buffer(i)[self.thread, None].store(values)
        fence_proxy_async("shared::cta")
        self.group.sync()
