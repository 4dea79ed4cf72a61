"""Proxy fences and their state spaces, blocks that have not started, mbarriers that end while they are used."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, f32, i32
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

N = cl.dims("N")


@cl.kernel(block=128)
def product(
    a: Tensor[cl.bf16, (64, 64)], b: Tensor[cl.bf16, (64, 64)], out: Tensor[f32, (64, 64)], slip: Constexpr[str]
) -> None:
    """wgmma of operands that cp.async brings."""
    layout = cl.make_smem_layout(cl.bf16, (64, 64))
    left, right = cl.shared(cl.bf16, layout), cl.shared(cl.bf16, layout)
    t, eight = cl.thread_idx.x, (1, 8)
    for i in cl.static_range(4):
        row, piece = (t + i * 128) // 8, t % 8
        for tile, src in ((left, a), (right, b)):
            cl.cp_async(tile.at(row, piece * 8), src.tile(eight, (row, piece)), 16)
    cl.cp_async_commit_group()
    if slip != "no wait":
        cl.cp_async_wait_group(0 if slip != "wait for fewer" else 1)
    if slip == "fence before the wait":
        cl.cp_async_wait_group(0)
    if slip not in ("no fence", "fence of global memory"):
        cl.fence_proxy_async("shared::cta")
    if slip == "fence of global memory":
        cl.fence_proxy_async("global")
    if slip != "no barrier":
        cl.syncthreads()
    acc = cl.wgmma.mma_async(left, right, cl.wgmma.zeros_accumulator(64))
    cl.wgmma.commit_group()
    cl.wgmma.partition(out).store(cl.wgmma.wait_group(0, acc))


@pytest.mark.parametrize(
    ("slip", "kind"),
    [
        ("no wait", "race"),
        ("wait for fewer", "race"),
        ("no fence", "proxy-fence"),
        ("fence of global memory", "proxy-fence"),
        ("no barrier", "race"),
    ],
)
def test_wgmma_of_what_cp_async_brings(slip: str, kind: str) -> None:
    ones = np.ones((64, 64), ml_dtypes.bfloat16)
    assert_caught(product, 1, (ones, ones.copy(), np.zeros((64, 64), np.float32)), slip, kind)


@cl.kernel(block=32, cluster=2)
def posted(out: TmaTensor[f32, (16, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """Each block writes into the other one, which stores that by TMA."""
    tile = cl.tma_shared(out)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    theirs = cl.mapa(tile, 1 - rank)
    for row in cl.static_range(8):
        theirs[row, t] = cl.f32(t)
    if slip == "":
        cl.fence_proxy_async("shared::cluster")
    elif slip == "of all":
        cl.fence_proxy_async()
    elif slip == "of the block":
        cl.fence_proxy_async("shared::cta")
    cl.cluster_sync()
    if slip == "there":  # the block whose memory it is fences before it starts the store
        cl.fence_proxy_async("shared::cta")
    if t == 0:
        cl.tma_store(tile, out, at=(cl.block_idx.x * 8, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize("where", ["of all", "there"])
def test_stores_to_another_block_before_its_copies(where: str) -> None:
    assert report(posted, 2, (np.zeros((16, 32), np.float32),), where)


@pytest.mark.parametrize("slip", ["of the block", "none"])
def test_a_fence_of_the_blocks_own_memory_is_none_for_that_of_another(slip: str) -> None:
    assert_caught(posted, 2, (np.zeros((16, 32), np.float32),), slip, "proxy-fence")


@cl.kernel(block=32, cluster=2)
def relayed(out: TmaTensor[f32, (16, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """Each block sends the other one a tile by st.async, which that stores by TMA."""
    tile, bar = cl.tma_shared(out), barriers(1)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    cl.cluster_arrive(relaxed=True)
    cl.cluster_wait()
    if t == 0:
        bar[0].arrive_expect_tx(8 * 128)
    for row in cl.static_range(8):
        cl.st_async(cl.mapa(tile, 1 - rank).at(row, t), cl.f32(t), bar[0].remote(1 - rank))
    if t == 0:
        if slip != "wait":
            bar[0].wait(0, cluster=True)
        if slip != "fence":
            cl.fence_proxy_async("shared::cta")
        cl.tma_store(tile, out, at=(cl.block_idx.x * 8, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
    cl.cluster_sync()


@cl.kernel(block=32, cluster=2)
def overwritten(src: Tensor[i32, (8,), cl.align(16)], out: Tensor[i32, (2, 4)], slip: Constexpr[str]) -> None:
    """A bulk copy overwrites a row that cp.async or st.async brought, asynchronously but in the generic proxy."""
    row, bars, rank = cl.shared(i32, 4, align=16), cl.shared(cl.mbarrier, 2), cl.block_rank_in_cluster()
    if cl.thread_idx.x == 0:
        for i in cl.static_range(2):
            bars[i].init(1)
        cl.fence_mbarrier_init()
        bars[0].arrive_expect_tx(16)
    cl.cluster_sync()
    if cl.thread_idx.x == 0:
        cl.st_async(cl.mapa(row, 1 - rank).tile(4, 0), cl.full(4, 1, i32), bars[0].remote(1 - rank))
        bars[0].wait(0)
        if "st.async" not in slip:
            cl.fence_proxy_async("shared::cta")
            cl.cp_async(row, src)
            cl.cp_async_commit_group()
            cl.cp_async_wait_group(0)
        if not slip:
            cl.fence_proxy_async("shared::cta")
        bars[1].arrive_expect_tx(16)
        cl.cp_async_bulk(row, src.tile(4, 1), 16, barrier=bars[1])
        bars[1].wait(0)
        for i in cl.static_range(4):
            out[rank, i] = row[i]


@pytest.mark.parametrize("slip", ["of cp.async", "of st.async"])
def test_what_came_asynchronously_in_the_generic_proxy_is_fenced_before_it_is_overwritten(slip: str) -> None:
    arrays = np.arange(8, dtype=np.int32), np.zeros((2, 4), np.int32)
    assert_caught(overwritten, 2, arrays, slip, "proxy-fence", ("cl.cp_async_bulk(row",))


def test_what_st_async_brings_is_fenced_before_copies_of_it() -> None:
    arrays = (np.zeros((16, 32), np.float32),)
    assert_caught(relayed, 2, arrays, "fence", "proxy-fence")
    for seed in range(2):
        assert report(relayed, 2, arrays, "wait", [seed]).kinds & {"race", "uninitialised"}


@cl.kernel(block=64)
def rewritten(
    data: TmaTensor[f32, (8, 32), (8, 32)], raw: Tensor[f32, (8, 32)], out: Tensor[f32, (64,)], slip: Constexpr[str]
) -> None:
    """Threads write global memory, and a tile of shared memory; then both are a copy's."""
    tile, full = cl.tma_shared(data), barriers(1)
    t = cl.thread_idx.x
    raw[t // 32, t % 32] = cl.f32(t)
    if slip == "tile first":
        tile[t // 32, t % 32] = 0.0
    if slip == "shared alone":
        cl.fence_proxy_async("shared::cta")
    elif slip != "no fence":
        cl.fence_proxy_async("global")
    cl.syncthreads()
    if t == 0:
        full[0].arrive_expect_tx(data.tile_bytes)
        cl.tma_load(data, tile, at=(0, 0), barrier=full[0])
    full[0].wait(0)
    out[t] = tile[t // 32, t % 32]


@pytest.mark.parametrize("slip", ["tile first", "shared alone", "no fence"])
def test_copies_of_and_over_what_threads_wrote(slip: str) -> None:
    data = np.zeros((8, 32), np.float32)
    right = rewritten.check(1, None, data, data, np.zeros(64, np.float32), "", seeds=4)
    assert right, right
    for seed in (0, 1):
        found = rewritten.check(1, None, data, data, np.zeros(64, np.float32), slip, seeds=[seed])
        assert found.kinds == {"proxy-fence"}, found


@cl.kernel(block=32, cluster=2)
def mailed(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Each block sends the other one numbers by st.async."""
    inbox, bar = cl.shared(i32, (32,)), cl.shared(cl.mbarrier, (1,))
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if t == 0:
        bar[0].init(1)
        if slip != "init fence":
            cl.fence_mbarrier_init()
    if slip != "meeting":
        cl.cluster_arrive(relaxed=True)
        cl.cluster_wait()
    if t == 0:
        bar[0].arrive_expect_tx(128)
    cl.st_async(cl.mapa(inbox, 1 - rank).at(t), t, bar[0].remote(1 - rank))
    bar[0].wait(0, cluster=True)
    out[cl.block_idx.x * 32 + t] = inbox[31 - t]
    cl.cluster_sync()


def test_a_fence_of_inits_and_a_relaxed_meeting_are_enough_for_st_async() -> None:
    arrays = (np.zeros(64, np.int32),)
    assert_caught(mailed, 2, arrays, "init fence", "mbarrier-init")
    for seed in range(4):
        assert report(mailed, 2, arrays, "meeting", [seed]).kinds & {"mbarrier-init", "block-not-started", "mbarrier"}


@cl.kernel(block=32, cluster=2)
def early(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Uses of another block's memory, which are right once it has started."""
    inbox, bar = cl.shared(i32, (32,)), cl.shared(cl.mbarrier, (1,))
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    way, _, when = slip.partition(", ")
    if way == "arrival" and t == 0:
        bar[0].init(32)
        cl.fence_mbarrier_init()
    if when != "at once":
        cl.cluster_arrive(relaxed=True)
        cl.cluster_wait()
    elif way == "arrival":
        cl.syncthreads()
    if way == "atomic":
        if rank == 0:
            inbox[t] = 0
        cl.cluster_sync() if when != "at once" else cl.syncthreads()
        if rank == 0:
            cl.atomic_add(cl.mapa(inbox, 0), t, 1, scope="cluster")
    elif way == "arrival":
        bar[0].remote(1 - rank).arrive(cluster=True)
        bar[0].wait(0, cluster=True)
    else:
        cl.mapa(inbox, 1 - rank)[t] = t
    cl.cluster_sync()
    out[cl.block_idx.x * 32 + t] = t


@pytest.mark.parametrize("way", ["store", "arrival"])
def test_a_block_must_have_started_before_others_use_its_memory(way: str) -> None:
    arrays = (np.zeros(64, np.int32),)
    assert report(early, 2, arrays, f"{way}, after it has"), report(early, 2, arrays, f"{way}, after it has")
    for seed in range(4):
        found = report(early, 2, arrays, f"{way}, at once", [seed])
        assert found.kinds & {"block-not-started", "mbarrier"}, found
    assert "block-not-started" in report(early, 2, arrays, f"{way}, at once").kinds


@cl.kernel(block=64)
def ended(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """An mbarrier that all arrive at and wait for is ended, and its memory used for numbers."""
    words = barriers(64)
    numbers = cl.shared(i32, (64,))
    t = cl.thread_idx.x
    cl.syncthreads()
    words[0].arrive()
    if slip != "who ends it waits" or t == 0:
        words[0].wait(0)
    if slip == "":
        cl.syncthreads()
    elif slip == "of its warp":
        cl.syncwarp()
    if t == 0:
        words[0].inval()
    numbers[t] = t
    out[t] = numbers[t]


@pytest.mark.parametrize("slip", ["at once", "of its warp"])
def test_an_mbarrier_is_not_ended_before_all_waits_are_over(slip: str) -> None:
    assert_caught(ended, 1, (np.zeros(64, np.int32),), slip, "mbarrier-reuse")


@cl.kernel(block=32)
def unwaited(src: TmaTensor[f32, (8, 32), (8, 32)], out: Tensor[f32, (32,)], slip: Constexpr[str]) -> None:
    """A thread ends the mbarrier that its copy counts on."""
    tile, full = cl.tma_shared(src), barriers(1)
    t = cl.thread_idx.x
    if t == 0:
        full[0].arrive_expect_tx(src.tile_bytes)
        cl.tma_load(src, tile, at=(0, 0), barrier=full[0])
        if slip == "":
            full[0].wait(0)
        full[0].inval()
    out[t] = cl.f32(t)


def test_an_mbarrier_is_not_ended_before_its_copies_are_complete() -> None:
    arrays: Any = (np.zeros((8, 32), np.float32), np.zeros(32, np.float32))
    assert_caught(unwaited, 1, arrays, "no wait", "mbarrier-reuse")
