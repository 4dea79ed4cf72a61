"""Pipelines: a ring of buffers that producers fill and consumers empty, with the barriers that tell each of the other.

    pipe = cl.PipelineTmaAsync.create(STAGES, tx_bytes=a.tile_bytes, consumers=128)
    state = pipe.producer_state()                       state = pipe.consumer_state()
    for k in range(steps):                              for k in range(steps):
        pipe.producer_acquire(state)                        pipe.consumer_wait(state)
        cl.tma_load(..., barrier=pipe.barrier(state))       ... use the buffer state.index ...
        state = state.advance()                             pipe.consumer_release(state)
    pipe.producer_tail(state)                               state = state.advance()

``state = pipe.load(state, (tensor, tiles, at), ...)`` is what this producer's loop does. `make_participants` gives the
same with the state inside: `lib.participants`.

`create` is called by all threads of the block. Every consumer thread calls `consumer_wait` and `consumer_release`; a
warp of them arrives once, so consumers come in whole warps. A state is a frozen value: it says which buffer is next and
which phase of its barriers to wait for.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.types import mbarrier
from cutelite.lang import profile
from cutelite.lang.cluster import cluster_arrive, cluster_wait
from cutelite.lang.cp_async import cp_async_bulk_commit_group, cp_async_bulk_wait_group
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.pipeline_checks import WARP, WARPGROUP, arrivals_of, check_bytes, check_peers, check_stages
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.sync import barrier_arrive, barrier_sync, syncthreads
from cutelite.lang.tensor import shared
from cutelite.lang.tma import tma_load
from cutelite.lang.values import where
from cutelite.lang.warp import syncwarp
from cutelite.lib.participants import PipelineConsumer, PipelineProducer
from cutelite.records import dataclass


def pipeline_init_sync(cluster: bool = False) -> None:
    """Meet after pipelines were created with ``sync=False``: all threads of the block, or of the cluster."""
    pipeline_init_arrive(cluster)
    pipeline_init_wait(cluster)


def pipeline_init_arrive(cluster: bool = False) -> None:
    """The first half of `pipeline_init_sync`: what does not use the pipelines may be done before the second half."""
    if cluster:
        cluster_arrive(relaxed=True)  # `fence_mbarrier_init` has made the barriers visible


def pipeline_init_wait(cluster: bool = False) -> None:
    """Wait for what `pipeline_init_arrive` arrived at, with the same `cluster`."""
    if cluster:
        cluster_wait()
    else:
        syncthreads()


def barriers(stages: int, arrivals: Any) -> Any:
    """Make an mbarrier for each stage; other threads may not use them yet.

    arrivals  how many complete a phase: a number for all, or a list with one for each stage
    """
    check_stages(stages)
    return initialised(shared(mbarrier, (stages,)), stages, arrivals)


def initialised(made: Any, stages: int, arrivals: Any) -> Any:
    """Return mbarriers, initialised. They are a parameter here so that reports name them as who asks for them does."""
    if linear_thread_idx() == 0:
        for s in static_range(stages):
            made[s].init(arrivals[s] if isinstance(arrivals, list) else arrivals)
        fence_mbarrier_init()
    return made


def warp_arrives(barrier: Any) -> None:
    """One arrival for all threads of a warp, after what they have done."""
    if lane_of_met_warp() == 0:
        barrier.arrive()


def lane_of_met_warp() -> Any:
    """This thread's lane, once all threads of its warp are here. Unlike `lane_idx`, ptxas moves it out of loops."""
    syncwarp()
    return linear_thread_idx() % WARP


@dataclass(frozen=True)
class Ring:
    """The base of all pipelines.

    full, empty   an mbarrier for each stage
    stages        number of buffers
    """

    full: Any
    empty: Any
    stages: int

    def producer_state(self) -> PipelineState:
        """Return the state in which producers start."""
        return PipelineState.producer(self.stages)

    def consumer_state(self) -> PipelineState:
        """Return the state in which consumers start."""
        return PipelineState.consumer(self.stages)

    def producer_state_at(self, number: Any) -> PipelineState:
        """Return a producer's state at a buffer, by the number, u32, of the buffers before it."""
        return PipelineState.at(self.stages, number, 1)

    def consumer_state_at(self, number: Any) -> PipelineState:
        """Return a consumer's state at a buffer, by the number, u32, of the buffers before it."""
        return PipelineState.at(self.stages, number, 0)

    def make_participants(self) -> tuple[PipelineProducer, PipelineConsumer]:
        """Return a producer and a consumer, each at its start; each carries the pipeline and its state."""
        return PipelineProducer(self, self.producer_state()), PipelineConsumer(self, self.consumer_state())

    def producer_try_acquire(self, state: PipelineState) -> Any:
        """Return whether the buffer is empty; may sleep for a while before it says no."""
        return self.empty[state.index].try_wait(state.phase)

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is empty; not if it was `seen` to be, by `producer_try_acquire` of this state."""
        self._wait("acquire", self.empty, state, seen)

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until every buffer is empty: before what owns them exits (others may still arrive) or reuses them."""
        self._wait_all(self.empty, state)

    def _wait(self, name: str, barriers: Any, state: PipelineState, seen: Any, cluster: bool = False) -> None:
        """Wait for the phase of a stage's barrier, in a range of this name. `cluster`: other blocks arrive too."""
        with profile.range(name, state.index):
            if not seen:
                barriers[state.index].wait(state.phase, cluster=cluster)

    def _wait_all(self, barriers: Any, state: PipelineState) -> None:
        for _ in static_range(self.stages):
            barriers[state.index].wait(state.phase)
            state = state.advance()

    def consumer_wait(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is full; not if it was `seen` to be, by `consumer_try_wait` or `_test_wait`."""
        self._wait("wait", self.full, state, seen)

    def consumer_try_wait(self, state: PipelineState) -> Any:
        """Return whether the buffer is full; may sleep for a while before it says no."""
        return self.full[state.index].try_wait(state.phase)

    def consumer_test_wait(self, state: PipelineState) -> Any:
        """Return whether the buffer is full, without blocking; may be asked ahead, even past the last buffer."""
        return self.full[state.index].test_wait(state.phase)

    def consumer_release(self, state: PipelineState) -> None:
        """Say that this thread has done with the buffer."""
        profile.mark("release", state.index)
        warp_arrives(self.empty[state.index])


@dataclass(frozen=True)
class PipelineAsync(Ring):
    """Producers and consumers are ordinary threads; producers write buffers by ordinary stores.

    single   one thread is the producer, not whole warps
    reads    how consumers read: 'generic' or 'wgmma', see `create`
    """

    single: bool = False
    reads: str = "generic"

    @classmethod
    def create(
        cls,
        stages: int,
        producers: int,
        consumers: int,
        sync: bool = True,
        reads: Literal["generic", "wgmma"] = "generic",
    ) -> PipelineAsync:
        """A pipeline of threads.

        stages      how many buffers
        producers   how many threads call `producer_commit`: one, or whole warps
        consumers   how many threads call `consumer_release`, in whole warps
        sync        meet at a barrier at the end; False: call `pipeline_init_sync` after several are created
        reads       'wgmma': consumers are whole warpgroups that read buffers by wgmma alone, and have waited for it:
                    one thread of each says so, and its warp need not meet. 'generic': by any loads
        Who         all threads of the block
        """
        single = producers == 1
        full = barriers(stages, 1 if single else arrivals_of(producers))
        empty = barriers(stages, arrivals_of(consumers, reads))
        if sync:
            pipeline_init_sync()
        return PipelineAsync(full, empty, stages, single, reads)

    def producer_commit(self, state: PipelineState) -> None:
        """Say that the buffer is full: this thread's part of it."""
        profile.mark("commit", state.index)
        if self.single:
            self.full[state.index].arrive()
        else:
            warp_arrives(self.full[state.index])

    def consumer_release(self, state: PipelineState) -> None:
        """Say that this thread has done with the buffer."""
        profile.mark("release", state.index)
        if self.reads == "generic":
            warp_arrives(self.empty[state.index])
        elif linear_thread_idx() % WARPGROUP == 0:
            self.empty[state.index].arrive()


@dataclass(frozen=True)
class PipelineCpAsync(Ring):
    """Producers fill buffers by cp.async: a buffer is full once the copies that they started have come."""

    @classmethod
    def create(cls, stages: int, producers: int, consumers: int, sync: bool = True) -> PipelineCpAsync:
        """As `PipelineAsync.create`; each of the `producers` threads arrives by itself."""
        full, empty = barriers(stages, producers), barriers(stages, arrivals_of(consumers))
        if sync:
            pipeline_init_sync()
        return PipelineCpAsync(full, empty, stages)

    def producer_commit(self, state: PipelineState) -> None:
        """Say that the buffer is full once all of this thread's cp.async copies so far are complete."""
        profile.mark("commit", state.index)
        self.full[state.index].arrive_after_copies()


@dataclass(frozen=True)
class PipelineTmaAsync(Ring):
    """One producer thread fills buffers by TMA (or bulk copies), which count their bytes on the buffer's barrier.

    tx_bytes   bytes that fill one buffer, those that arrive by multicast from other blocks included
    peers      ranks of the blocks of the cluster that fill this block's buffers (multicast); () for itself only
    reads      how consumers read: 'generic', 'wgmma' or 'both', see `create`
    loaded     with 'both', an mbarrier for each stage more: loads of it are done
    """

    tx_bytes: int
    peers: tuple[Any, ...] = ()
    reads: str = "generic"
    loaded: Any = None

    @classmethod
    def create(
        cls,
        stages: int,
        tx_bytes: int,
        consumers: int,
        peers: tuple[Any, ...] = (),
        sync: bool = True,
        reads: Literal["generic", "wgmma", "both"] = "generic",
    ) -> PipelineTmaAsync:
        """A pipeline fed by TMA.

        stages      how many buffers
        tx_bytes    bytes that fill one buffer
        consumers   how many threads of a block call `consumer_release`, in whole warps
        peers       with multicast: ranks of the blocks that fill this block's buffers, itself included, as many in each
                    block (`multicast_peers`). They wait for this block's consumers as well as for their own. No others:
                    nothing would keep arrivals from a block that shares nothing out of an earlier phase
        sync        meet at a barrier at the end: of the block, or of the cluster if there are peers
        reads       'wgmma': consumers are whole warpgroups that read buffers by wgmma alone, and have waited for it
                    before they release them. Groups of wgmma complete for a warpgroup as a whole, so that one of its
                    threads says so, and there is nothing to order. 'generic': by any loads; each warp says so, and to
                    peers through a fence of the whole cluster, which takes hundreds of cycles. 'both': as 'wgmma', but
                    for parts of the buffer that this block alone brings: those are read by loads, each warp calls
                    `consumer_loaded` after its own, and `consumer_release` later says so of the rest
        """
        check_stages(stages)
        check_bytes(tx_bytes)
        check_peers(peers)
        full, empty = barriers(stages, 1), barriers(stages, arrivals_of(consumers, reads) * max(1, len(peers)))
        loaded = barriers(stages, arrivals_of(consumers)) if reads == "both" else None
        if sync:
            pipeline_init_sync(len(peers) > 0)
        return PipelineTmaAsync(full, empty, stages, tx_bytes, peers, reads, loaded)

    def barrier(self, state: PipelineState) -> Any:
        """Return the mbarrier on which copies into the buffer count their bytes."""
        return self.full[state.index]

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until the buffer is empty, in every block that this one fills, then expect its bytes. One thread."""
        with profile.range("acquire", state.index):
            if not seen:
                self.empty[state.index].wait(state.phase)
            if self.loaded is not None:
                self.loaded[state.index].wait(state.phase)
        self.full[state.index].arrive_expect_tx(self.tx_bytes)

    def load(self, state: PipelineState, *boxes: tuple[Any, Any, tuple[Any, ...]]) -> PipelineState:
        """Acquire a buffer, load it as `tma_load` does, and return the next state. One thread.

        boxes   the tensor, its tiles in shared memory (rows, columns, stages), and where to load from: of each that
                belongs to a buffer
        """
        self.producer_acquire(state)
        barrier = self.barrier(state)
        for tensor, tiles, at in boxes:
            tma_load(tensor, tiles[None, None, state.index], at=at, barrier=barrier)
        return state.advance()

    def producer_tail(self, state: PipelineState) -> None:
        """As of any pipeline; loads of the buffers are done as well."""
        self._wait_all(self.empty, state)
        if self.loaded is not None:
            self._wait_all(self.loaded, state)

    def producer_commit(self, state: PipelineState) -> None:
        """Nothing: the copies arrive by themselves."""
        profile.mark("commit", state.index)

    def consumer_loaded(self, state: PipelineState) -> None:
        """Say that this thread has loaded what it needs of the buffer's parts for loads; with ``reads="both"``."""
        warp_arrives(self.loaded[state.index])

    def consumer_release(self, state: PipelineState) -> None:
        """Say that this thread has done with the buffer, to every block that fills it."""
        profile.mark("release", state.index)
        empty, alone = self.empty[state.index], len(self.peers) == 0
        place = lane_of_met_warp() if self.reads == "generic" else linear_thread_idx() % WARPGROUP
        if alone and place == 0:
            empty.arrive()
        if not alone and place < len(self.peers):  # a thread for each of them
            rank = place
            if self.peers != tuple(range(len(self.peers))):
                rank = self.peers[0]
                for i in static_range(1, len(self.peers)):
                    rank = where(place == i, self.peers[i], rank)
            empty.remote(rank).arrive(cluster=True, relaxed=self.reads != "generic")


@dataclass(frozen=True)
class PipelineTmaStore:
    """Buffers that are filled by ordinary stores and emptied by TMA stores of one thread.

    All of it is called by the thread that starts the stores; others learn of it by a barrier.
    """

    stages: int

    @classmethod
    def create(cls, stages: int) -> PipelineTmaStore:
        """Make a ring of `stages` buffers. It needs no barriers of its own."""
        check_stages(stages)
        return PipelineTmaStore(stages)

    def producer_acquire(self) -> None:
        """Wait until the oldest of the buffers has been read."""
        cp_async_bulk_wait_group(self.stages - 1, read=True)

    def producer_commit(self) -> None:
        """The stores since the last call are those of one buffer."""
        cp_async_bulk_commit_group()

    def producer_tail(self) -> None:
        """Wait until all stores are complete."""
        cp_async_bulk_wait_group(0)


@dataclass(frozen=True)
class PipelineOrder:
    """Groups of threads that take turns: group 0, 1, ..., then 0 again, at each of `depth` places of a round.

    bars    mbarriers (depth, groups)
    group   which group this thread belongs to, and `state` where it is
    """

    CHANGING = ("state",)

    bars: Any
    depth: int
    groups: int
    group: Any
    state: PipelineState

    @classmethod
    def create(cls, depth: int, groups: int, group: Any, threads: int, sync: bool = True) -> PipelineOrder:
        """An order of groups.

        depth     how many places of a round are ordered (say: the products, and the epilogue)
        groups    how many groups take turns
        group     of this thread, 0 to `groups` - 1
        threads   of one group, in whole warps
        Who       all threads of the block
        """
        bars = shared(mbarrier, (depth, groups))
        if linear_thread_idx() == 0:
            for d in static_range(depth):
                for g in static_range(groups):
                    bars[d, g].init(arrivals_of(threads))
            fence_mbarrier_init()
        if sync:
            pipeline_init_sync()
        first = 1 if group == 0 else 0  # the first group need not wait for anybody in the first round
        return PipelineOrder(bars, depth, groups, group, PipelineState(depth, 0, first))

    def wait(self) -> None:
        """Wait for this group's turn."""
        self.bars[self.state.index, self.group].wait(self.state.phase)

    def arrive(self) -> PipelineOrder:
        """Pass the turn on to the next group; the order at the place after this one."""
        following = (self.group + 1) % self.groups
        warp_arrives(self.bars[self.state.index, following])
        return PipelineOrder(self.bars, self.depth, self.groups, self.group, self.state.advance())


@dataclass(frozen=True)
class NamedBarrier:
    """One of the block's 16 barriers, for `threads` threads.

    id   0 to 15; 0 is also that of `syncthreads`
    """

    id: Any
    threads: int

    def sync(self) -> None:
        """Arrive and wait for all."""
        barrier_sync(self.id, self.threads)

    def arrive(self) -> None:
        """Arrive, and go on."""
        barrier_arrive(self.id, self.threads)


def multicast_mask(ranks: tuple[Any, ...]) -> Any:
    """The mask that names the blocks of the cluster whose numbers are `ranks`."""
    mask: Any = 0
    for rank in ranks:
        mask = mask | (1 << rank)
    return mask
