"""Clusters whose blocks hand data to each other through shared memory: stores and copies to others, multicast, rings.

Each function without a parameter launches a kernel and compares with NumPy.
"""

import numpy as np

import cutelite as cl
from cutelite import PipelineState, Tensor, TmaTensor, f32, i32

BLOCKS = 2
STEPS = 4
STAGES = 2


@cl.kernel(block=32, cluster=4)
def split(src: Tensor[f32, (4, 3, 32)], out: Tensor[f32, (3, 32)]) -> None:
    """Each block sums up its part; all but the first send their sums to it, round by round, by st.async."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    inbox, full, empty = cl.shared(f32, (3, 32)), cl.shared(cl.mbarrier, (1,)), cl.shared(cl.mbarrier, (1,))
    if lane == 0:
        full[0].init(1)
        empty[0].init(1)
        cl.fence_mbarrier_init()
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    for n in cl.static_range(3):
        x = src[rank, n, lane]
        if rank == 0:
            if lane == 0:
                full[0].arrive_expect_tx(3 * 128)
            full[0].wait(n % 2, cluster=True)
            for other in cl.static_range(3):
                x += inbox[other, lane]
            out[n, lane] = x
            if n < 2:
                cl.syncwarp()
                if lane > 0 and lane < 4:
                    empty[0].remote(lane).arrive()
        else:
            if n > 0:
                empty[0].wait(1 - n % 2, cluster=True)
            cl.st_async(cl.mapa(inbox, 0).at(rank - 1, lane), x, full[0].remote(0))


def split_sums() -> None:
    src = np.random.default_rng(0).integers(0, 100, (4, 3, 32)).astype(np.float32)
    out = np.zeros((3, 32), np.float32)
    split[4, 32](src, out)
    assert (out == src.sum(0)).all()


@cl.kernel(block=64, cluster=2)
def spread(src: TmaTensor[f32, (STEPS * 8, 32), (4, 32)], out: Tensor[f32, (2, STEPS, 8, 32)]) -> None:
    """Each block copies half of each tile into both blocks: a stage is free once the consumers of both have read it."""
    warp, lane, rank = cl.thread_idx.x // 32, cl.thread_idx.x % 32, cl.block_rank_in_cluster()
    halves = cl.tma_shared(src, STAGES * BLOCKS)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(BLOCKS)
        cl.fence_mbarrier_init()
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    if warp == 0:
        if lane == 0:
            slot = PipelineState.producer(STAGES)
            for n in range(STEPS):
                empty[slot.index].wait(slot.phase)
                full[slot.index].arrive_expect_tx(BLOCKS * src.tile_bytes)
                half = halves[slot.index * BLOCKS + rank, None, None]
                cl.tma_load(src, half, at=(n * 8 + rank * 4, 0), barrier=full[slot.index], multicast=0b11)
                slot = slot.advance()
    else:
        slot = PipelineState.consumer(STAGES)
        for n in range(STEPS):
            full[slot.index].wait(slot.phase)
            for row in cl.static_range(8):
                out[rank, n, row, lane] = halves[slot.index * BLOCKS + row // 4, row % 4, lane]
            cl.syncwarp()
            if lane < BLOCKS:
                empty[slot.index].remote(lane).arrive()
            slot = slot.advance()
    cl.cluster_sync()


def multicast_ring() -> None:
    src = np.arange(STEPS * 256, dtype=np.float32).reshape(STEPS * 8, 32)
    out = np.zeros((2, STEPS, 8, 32), np.float32)
    spread[2, 64](src, out)
    assert (out == src.reshape(1, STEPS, 8, 32)).all()


@cl.kernel(block=32, cluster=4)
def passed(src: Tensor[i32, (4, 32)], out: Tensor[i32, (4, 32)]) -> None:
    """Rows go round: each block writes into the next one's buffer by ordinary stores, then arrives on its mbarrier.

    A block may overwrite the next one's buffer once that block has arrived to say that it has read it.
    """
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    following, before = (rank + 1) % 4, (rank + 3) % 4
    inbox = cl.shared(i32, (32,))
    came, read = cl.shared(cl.mbarrier, (1,)), cl.shared(cl.mbarrier, (1,))
    if lane == 0:
        came[0].init(32)
        read[0].init(32)
        cl.fence_mbarrier_init()
    cl.cluster_sync()
    x = src[rank, lane]
    total = x
    for n in range(3):
        if n > 0:
            read[0].wait((n - 1) % 2, cluster=True)
        there = cl.mapa(inbox, following)
        there[lane] = x
        came[0].remote(following).arrive(cluster=True)
        came[0].wait(n % 2, cluster=True)
        x = inbox[lane]
        total += x * (n + 2)
        read[0].remote(before).arrive(cluster=True)
    out[rank, lane] = total
    cl.cluster_sync()


def systolic_ring() -> None:
    src = np.arange(128, dtype=np.int32).reshape(4, 32)
    out = np.zeros_like(src)
    passed[4, 32](src, out)
    assert (out == src + sum(np.roll(src, n + 1, 0) * (n + 2) for n in range(3))).all()


@cl.kernel(block=32, cluster=2)
def swapped(src: Tensor[f32, (2, 2, 32)], out: Tensor[f32, (2, 2, 32)]) -> None:
    """Each block writes a row and copies it into the other's shared memory by a bulk copy, twice."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    mine, inbox = cl.shared(f32, (32,), align=128), cl.shared(f32, (32,), align=128)
    full = cl.shared(cl.mbarrier, (1,))
    if lane == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    for n in cl.static_range(2):
        mine[31 - lane] = src[rank, n, lane]
        cl.fence_proxy_async("shared::cta")
        cl.syncwarp()
        if lane == 0:
            full[0].arrive_expect_tx(128)
            cl.cp_async_bulk(cl.mapa(inbox, 1 - rank), mine, 128, barrier=full[0].remote(1 - rank))
        full[0].wait(n)
        out[rank, n, lane] = inbox[lane]
        cl.cluster_sync()


def bulk_exchange() -> None:
    src = np.arange(128, dtype=np.float32).reshape(2, 2, 32)
    out = np.zeros_like(src)
    swapped[2, 32](src, out)
    assert (out == src[::-1, :, ::-1]).all()


@cl.kernel(block=32, cluster=2)
def tallied(src: Tensor[i32, (2, 64)], out: Tensor[i32, (2, 16)]) -> None:
    """A histogram whose bins are split between the blocks: each adds to the bins of both by atomics of the cluster."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    bins = cl.shared(i32, (16,))
    if lane < 16:
        bins[lane] = 0
    cl.cluster_sync()
    for n in cl.static_range(2):
        x = src[rank, n * 32 + lane]
        cl.atomic_add(cl.mapa(bins, x // 16), x % 16, 1, scope="cluster")
    cl.cluster_sync()
    if lane < 16:
        out[rank, lane] = bins[lane]


def split_histogram() -> None:
    src = np.random.default_rng(1).integers(0, 32, (2, 64)).astype(np.int32)
    out = np.zeros((2, 16), np.int32)
    tallied[2, 32](src, out)
    assert (out.ravel() == np.bincount(src.ravel(), minlength=32)).all()


@cl.kernel(block=32, cluster=2)
def flagged(src: Tensor[i32, (3, 32)], out: Tensor[i32, (3, 32)]) -> None:
    """Block 0 writes into block 1's shared memory and sets a flag there; block 1 answers by a flag in block 0's."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    row, flag = cl.shared(i32, (32,)), cl.shared(i32, (1,))
    if lane == 0:
        flag[0] = 0
    cl.cluster_sync()
    there, theirs = cl.mapa(row, 1 - rank), cl.mapa(flag, 1 - rank)
    for n in range(3):
        if rank == 0:
            if lane == 0:
                while cl.load_acquire(flag, 0, scope="cluster") < n:
                    pass
            cl.syncwarp()
            there[lane] = src[n, lane]
            cl.syncwarp()
            if lane == 0:
                cl.store_release(theirs, 0, n + 1, scope="cluster")
        else:
            if lane == 0:
                while cl.load_acquire(flag, 0, scope="cluster") <= n:
                    pass
            cl.syncwarp()
            out[n, lane] = row[31 - lane]
            cl.syncwarp()
            if lane == 0:
                cl.store_release(theirs, 0, n + 1, scope="cluster")
    cl.cluster_sync()


def flags_in_shared_memory() -> None:
    src = np.arange(96, dtype=np.int32).reshape(3, 32)
    out = np.zeros_like(src)
    flagged[2, 32](src, out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=32, cluster=4)
def overlapped(src: Tensor[i32, (3, 4, 32)], out: Tensor[i32, (3, 4, 32)]) -> None:
    """Blocks write, arrive, do something of their own, and wait before they read what their neighbours wrote."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    rows = cl.shared(i32, (2, 32))
    for n in range(3):
        rows[n % 2, lane] = src[n, rank, lane]
        cl.cluster_arrive()
        own = src[n, rank, 31 - lane] * 2
        cl.cluster_wait()
        out[n, rank, lane] = own + cl.mapa(rows, (rank + 1) % 4)[n % 2, lane]
    cl.cluster_sync()


def split_barrier() -> None:
    src = np.arange(3 * 4 * 32, dtype=np.int32).reshape(3, 4, 32)
    out = np.zeros_like(src)
    overlapped[4, 32](src, out)
    assert (out == 2 * src[:, :, ::-1] + np.roll(src, -1, 1)).all()


@cl.kernel(block=32, cluster=2)
def voted(src: Tensor[i32, (3, 2, 32)], out: Tensor[i32, (3, 2)]) -> None:
    """Counts by red.async into the other block, whose mbarrier counts the bytes, and by atomics, for rounds."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    counts, full = cl.shared(i32, (3,)), cl.shared(cl.mbarrier, (1,))
    if lane == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        for n in cl.static_range(3):
            counts[n] = 0
    cl.cluster_sync()
    for n in range(3):
        if lane == 0:
            full[0].arrive_expect_tx(32 * 4)
        cl.red_async(cl.mapa(counts, 1 - rank).at(n), src[n, rank, lane], full[0].remote(1 - rank))
        cl.atomic_add(counts, n, src[n, rank, lane], scope="cluster")
        cl.syncwarp()
        full[0].wait(n % 2, cluster=True)
        if lane == 0:
            out[n, rank] = counts[n]
        cl.cluster_sync()


def votes_in_both() -> None:
    src = np.arange(3 * 2 * 32, dtype=np.int32).reshape(3, 2, 32) % 5
    out = np.zeros((3, 2), np.int32)
    voted[2, 32](src, out)
    assert (out == src.sum((1, 2))[:, None]).all()
