"""Clusters in the simulator, on kernels: each other's shared memory, barriers across blocks, multicast."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32, i32, u32
from cutelite.sim import SimError
from tests.places import Place

M, K, P = cl.dims("M K P")


@cl.kernel(block=64, cluster=4)
def gather(out: Tensor[i32, (P, 64)]) -> None:
    """Each block reads its right neighbour's shared memory."""
    mine = cl.shared(i32, (64,))
    mine[cl.thread_idx.x] = cl.block_idx.x * 100 + cl.thread_idx.x
    cl.cluster_sync()
    rank = (cl.block_rank_in_cluster() + 1) % 4
    theirs = cl.mapa(mine, rank)
    out[cl.block_idx.x, cl.thread_idx.x] = theirs[cl.thread_idx.x] + 1000 * cl.getctarank(theirs)
    cl.cluster_sync()


def test_distributed_shared_memory(scheduled: Place) -> None:
    out = np.zeros((8, 64), np.int32)
    scheduled(gather[8, 64], out)
    for block in range(8):
        other = block // 4 * 4 + (block + 1) % 4
        assert (out[block] == other * 100 + np.arange(64) + 1000 * (other % 4)).all()


@cl.kernel(block=32, cluster=2)
def reduce(src: Tensor[f32, (P, 32)], out: Tensor[f32, (P, 32)], counts: Tensor[u32, (P,)]) -> None:
    """Sums by st.async and counts by red.async to the other block, told to an mbarrier there."""
    inbox, count = cl.shared(f32, (2, 32)), cl.shared(u32, (1,))
    bar = cl.shared(cl.mbarrier, (1,))
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if lane == 0:
        bar[0].init(1)
        cl.fence_mbarrier_init()
        bar[0].arrive_expect_tx(32 * 4 + 32 * 4)
        count[0] = cl.u32(sum(range(32)))
    x = src[cl.block_idx.x, lane]
    inbox[rank, lane] = x
    cl.cluster_sync()
    there = cl.mapa(bar[0], 1 - rank)
    cl.st_async(cl.mapa(inbox, 1 - rank).at(rank, lane), x, there)
    cl.red_async(cl.mapa(count, 1 - rank).at(0), cl.u32(lane), there)
    bar[0].wait(0, cluster=True)
    out[cl.block_idx.x, lane] = inbox[0, lane] + inbox[1, lane]
    if lane == 0:
        counts[cl.block_idx.x] = count[0]
    cl.cluster_sync()


def test_asynchronous_stores_and_reductions(scheduled: Place) -> None:
    source = np.random.default_rng(0).integers(0, 100, (4, 32)).astype(np.float32)
    out, counts = np.zeros_like(source), np.zeros(4, np.uint32)
    scheduled(reduce[4, 32], source, out, counts)
    sums = source.reshape(2, 2, 32).sum(1)
    assert (out == np.repeat(sums, 2, axis=0)).all()
    assert (counts == 2 * sum(range(32))).all()


@cl.kernel(block=32, cluster=2)
def multicast(src: TmaTensor[f32, (M, K), (8, 32)], out: Tensor[f32, (P, 2, 8, 32)]) -> None:
    """Each block loads one tile into both; each waits for both tiles, then frees the other's buffers."""
    tiles, full, empty = cl.tma_shared(src, 2), cl.shared(cl.mbarrier, (2,)), cl.shared(cl.mbarrier, (2,))
    rank = cl.block_rank_in_cluster()
    if cl.thread_idx.x == 0:
        for s in cl.static_range(2):
            full[s].init(1)
            empty[s].init(2)
        cl.fence_mbarrier_init()
    cl.cluster_sync()
    if cl.thread_idx.x == 0:
        for s in cl.static_range(2):
            full[s].arrive_expect_tx(src.tile_bytes)
        for s in cl.static_range(2):
            if rank == s:
                cl.tma_load(src, tiles[s, None, None], at=(s * 8, 0), barrier=full[s], multicast=0b11)
    for s in cl.static_range(2):
        full[s].wait(0)
        for i in range(cl.thread_idx.x, 256, 32):
            out[cl.block_idx.x, s, i // 32, i % 32] = tiles[s, i // 32, i % 32]
        if cl.thread_idx.x == 0:
            for other in cl.static_range(2):
                empty[s].remote(other).arrive()
        empty[s].wait(0, cluster=True)
    cl.cluster_sync()


def test_multicast_fills_all_blocks(scheduled: Place) -> None:
    source = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    out = np.zeros((2, 2, 8, 32), np.float32)
    scheduled(multicast[2, 32], source, out)
    assert (out == source.reshape(1, 2, 8, 32)).all()


@cl.kernel(block=32, cluster=2)
def to_nobody(src: TmaTensor[f32, (M, K), (8, 32)], mask: i32) -> None:
    tile, full = cl.tma_shared(src), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        full[0].arrive_expect_tx(src.tile_bytes)
        cl.tma_load(src, tile, at=(0, 0), barrier=full[0], multicast=mask)


@pytest.mark.parametrize("mask", [0, 0b100])  # known when the kernel runs
def test_a_multicast_names_blocks_of_the_cluster(mask: int) -> None:
    with pytest.raises(SimError, match="names no block, or one that the cluster lacks"):
        to_nobody[2, 32](np.zeros((8, 32), np.float32), mask)


@cl.kernel(block=32, cluster=2)
def absent(out: Tensor[i32, (P,)], rank: i32) -> None:
    mine = cl.shared(i32, (32,))
    out[0] = cl.mapa(mine, rank)[0]


def test_mapa_stays_in_the_cluster() -> None:
    with pytest.raises(SimError, match="there is no such block in a cluster of 2"):
        absent[2, 32](np.zeros(4, np.int32), 2)


@cl.kernel(block=256)
def roles(out: Tensor[i32, (P,)], elected: Tensor[i32, (8,)]) -> None:
    """One warpgroup gives registers back, the other takes them; one thread of each warp is elected."""
    if cl.thread_idx.x < 128:
        cl.setmaxnreg_dec(40)
    else:
        cl.setmaxnreg_inc(232)
    if cl.elect_one():
        elected[cl.warp_idx()] = 1 + cl.thread_idx.x % 32
    cl.griddepcontrol_launch_dependents()
    cl.griddepcontrol_wait()
    out[cl.thread_idx.x] = cl.thread_idx.x


def test_registers_and_elections(scheduled: Place) -> None:
    out, elected = np.zeros(256, np.int32), np.zeros(8, np.int32)
    scheduled(roles[1, 256], out, elected)
    assert (out == np.arange(256)).all()
    assert (elected > 0).all()


@cl.kernel(block=256)
def greedy(out: Tensor[i32, (P,)]) -> None:
    cl.setmaxnreg_inc(256)
    out[cl.thread_idx.x] = 1


def test_registers_that_nobody_gives_back() -> None:
    with pytest.raises(SimError, match="other warps must give theirs back first"):
        greedy[1, 256](np.zeros(256, np.int32))
