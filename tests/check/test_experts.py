"""Mistakes of people who know the hardware well, and kernels beside them that are right: by a word, the slip."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, PipelineState, Tensor, TmaTensor, bf16, f32, i32
from tests.check.slips import report
from tests.pieces import barriers

ROWS = np.arange(256, dtype=np.float32).reshape(8, 32)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


@cl.kernel(block=32, cluster=2)
def exchanged(out: Tensor[i32, (2, 32)], slip: Constexpr[str]) -> None:
    """Each block copies a row into the other one's memory, and writes its own row again when it has been read."""
    mine, got, t = cl.shared(i32, (32,), align=128), cl.shared(i32, (32,), align=128), cl.thread_idx.x
    bar, rank = barriers(1, 1), cl.block_rank_in_cluster()
    if t == 0:
        bar[0].arrive_expect_tx(128)
    mine[t] = 100 * rank + t
    cl.fence_proxy_async("shared::cta")
    cl.cluster_sync()
    if t == 0:
        cl.cp_async_bulk(cl.mapa(got, 1 - rank), mine, 128, barrier=bar[0].remote(1 - rank))
        if slip == "waits for groups":  # the copy is in none: an mbarrier of the other block counts it
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)
    if slip != "waits for groups":
        bar[0].wait(0, cluster=True)
    if slip != "its own has come":
        if t == 0:
            bar[1].remote(1 - rank).arrive()
        if not slip:
            bar[1].wait(0, cluster=True)
    cl.syncwarp()
    mine[t] = -1
    if slip == "waits for groups":
        bar[0].wait(0, cluster=True)
    out[rank, t] = got[t]
    cl.cluster_sync()


@cl.kernel(block=64)
def flagged(out: Tensor[i32, (3, 32)], slip: Constexpr[str]) -> None:
    """One warp hands rows to another by flags in shared memory."""
    row, flag, t = cl.shared(i32, (32,)), cl.shared(i32, (2,)), cl.thread_idx.x
    if t < 2:
        flag[t] = 0
    cl.syncthreads()
    for n in range(3):
        if t < 32:
            while cl.load_acquire(flag, 1, scope="cta") < n:
                pass
            row[t] = n * 100 + t
            if slip != "released before all have written":
                cl.syncwarp()
            if t == 0:
                if slip == "volatile":
                    cl.store_volatile(flag, 0, n + 1)
                elif slip == "volatile behind a fence":
                    cl.fence("cta")
                    cl.store_volatile(flag, 0, n + 1)
                else:
                    cl.store_release(flag, 0, n + 1, scope="cta")
        else:
            if slip == "volatile behind a fence":
                while cl.load_volatile(flag, 0) <= n:
                    pass
                cl.fence("cta")
            elif slip.startswith("one lane polls"):
                if t == 32:
                    while cl.load_acquire(flag, 0, scope="cta") <= n:
                        pass
                if slip == "one lane polls":
                    cl.syncwarp()
            else:
                while cl.load_acquire(flag, 0, scope="cta") <= n:
                    pass
            out[n, t - 32] = row[63 - t]
            if slip != "freed before all have read":
                cl.syncwarp()
            if t == 32:
                cl.store_release(flag, 1, n + 1, scope="cta")


@cl.kernel(block=32)
def stored(out: TmaTensor[f32, (8, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """A warp writes a tile, and one thread stores it: whose proxy fence is enough depends on where it stands."""
    tile, t = cl.tma_shared(out), cl.thread_idx.x
    for i in cl.static_range(8):
        tile[i, t] = 1.0
    if slip == "the one before all have written":
        if t == 0:
            cl.fence_proxy_async("shared::cta")
    elif not slip:
        cl.fence_proxy_async("shared::cta")
    cl.syncwarp()
    if slip == "the one":
        if t == 0:
            cl.fence_proxy_async("shared::cta")
    elif slip.startswith("another"):
        if t == 5:
            cl.fence_proxy_async("shared::cta")
        if slip == "another, and they meet":
            cl.syncwarp()
    if t == 0:
        cl.tma_store(tile, out, at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0, read=True)


@cl.kernel(block=32)
def relayed(
    mid: TmaTensor[f32, (8, 32), (8, 32)], flag: Tensor[i32, (1,)], out: Tensor[f32, (8, 32)], slip: Constexpr[str]
) -> None:
    """A block stores a tile by TMA, and another one, which polls a flag, loads it by TMA."""
    tile, bar, t = cl.tma_shared(mid), barriers(1), cl.thread_idx.x
    cl.syncwarp()
    if cl.block_idx.x == 0:
        for i in cl.static_range(8):
            tile[i, t] = 1.0
        cl.fence_proxy_async("shared::cta")
        cl.syncwarp()
        if t == 0:
            cl.tma_store(tile, mid, at=(0, 0))
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0, read=slip == "has been read, not written")
            if slip == "told by a relaxed store":
                cl.store_relaxed(flag, 0, 1)
            else:
                cl.store_release(flag, 0, 1)
            cl.cp_async_bulk_wait_group(0)
    else:
        if t == 0:
            if slip == "seen by a relaxed load":
                while cl.load_relaxed(flag, 0) == 0:
                    pass
            else:
                while cl.load_acquire(flag, 0) == 0:
                    pass
            bar[0].arrive_expect_tx(mid.tile_bytes)
            cl.tma_load(mid, tile, at=(0, 0), barrier=bar[0])
        bar[0].wait(0)
        for i in cl.static_range(8):
            out[i, t] = tile[i, t]


@cl.kernel(block=32)
def written(data: Tensor[f32, (256,)], flag: Tensor[i32, (1,)], out: Tensor[f32, (256,)], slip: Constexpr[str]) -> None:
    """Threads write global memory, and another block, which polls a flag, copies it by a bulk copy."""
    row, bar, t = cl.shared(f32, (256,), align=128), barriers(1), cl.thread_idx.x
    cl.syncwarp()
    if cl.block_idx.x == 0:
        for i in cl.static_range(8):
            data[32 * i + t] = cl.f32(t)
        if slip in ("", "of shared memory"):
            cl.fence_proxy_async("shared::cta" if slip else "global")
        cl.syncwarp()
        if t == 0:
            if slip == "the one that tells":
                cl.fence_proxy_async("global")
            cl.store_release(flag, 0, 1)
        if slip == "behind the flag":
            cl.fence_proxy_async("global")
    else:
        if t == 0:
            if slip == "the reader's, too early":
                cl.fence_proxy_async("global")
            while cl.load_acquire(flag, 0) == 0:
                pass
            if slip == "the reader's":
                cl.fence_proxy_async("global")
        if slip.startswith("another lane's"):
            if slip == "another lane's, and they meet":
                cl.syncwarp()
            if t == 1:
                cl.fence_proxy_async("global")
            if slip == "another lane's, and they meet":
                cl.syncwarp()
        if t == 0:
            bar[0].arrive_expect_tx(1024)
            cl.cp_async_bulk(row, data, 1024, barrier=bar[0])
        bar[0].wait(0)
        for i in cl.static_range(8):
            out[32 * i + t] = row[32 * i + t]


@cl.kernel(block=64)
def staged(src: Tensor[f32, (1024,)], out: Tensor[f32, (1024,)], slip: Constexpr[str]) -> None:
    """Three stages of cp.async; groups are committed where nothing is copied too, so that their number is right."""
    rows, t = cl.shared(f32, (3, 256)), cl.thread_idx.x
    for n in cl.static_range(2):
        cl.cp_async(rows[n, None].tile((4,), (t,)), src.tile((4,), (n * 64 + t,)))
        cl.cp_async_commit_group()
    for n in cl.static_range(4):
        cl.cp_async_wait_group(2 if slip == "one more may be left" else 1)
        if slip != "no barrier":
            cl.syncthreads()
        for i in cl.static_range(4):
            out[n * 256 + 4 * t + i] = rows[n % 3, (4 * t + i + 4) % 256]
        if n < 2:
            stage = n % 3 if slip == "over what is read" else (n + 2) % 3
            cl.cp_async(rows[stage, None].tile((4,), (t,)), src.tile((4,), ((n + 2) * 64 + t,)))
        if n < 2 or slip != "no empty groups":
            cl.cp_async_commit_group()


@cl.kernel(block=64)
def counted(src: Tensor[f32, (256,)], out: Tensor[f32, (256,)], slip: Constexpr[str]) -> None:
    """Copies that arrive on an mbarrier: in place of their thread, or beside it."""
    row, bar, t = cl.shared(f32, (256,)), cl.shared(cl.mbarrier, (1,)), cl.thread_idx.x
    if t == 0:
        bar[0].init(64)
    cl.syncthreads()
    cl.cp_async(row.tile((4,), (t,)), src.tile((4,), (t,)))
    if slip != "threads arrive":
        bar[0].arrive_after_copies(noinc=not slip)
    if slip in ("threads arrive", "beside threads"):
        bar[0].arrive()
    bar[0].wait(0)
    for i in cl.static_range(4):
        out[4 * t + i] = row[(4 * t + i + 4) % 256]


@cl.kernel(block=32)
def released(data: Tensor[i32, (32,)], flag: Tensor[i32, (1,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """What was released with a value passes on with atomics and the same thread's stores, not with others' stores."""
    t = cl.thread_idx.x
    if cl.block_idx.x == 0:
        data[t] = t
        cl.syncwarp()
        if t == 0:
            cl.store_release(flag, 0, 1)
            if slip == "an atomic":
                cl.atomic_add(flag, 0, 1)
            elif slip != "another block's store":
                cl.store_relaxed(flag, 0, 2)
    elif cl.block_idx.x == 1:
        if slip == "a lane told by a shuffle":
            seen = i32(0)
            if t == 0:
                while cl.load_acquire(flag, 0) != 2:
                    pass
                seen = i32(1)
            if cl.shuffle(seen, 0) == 1:
                out[t] = data[31 - t]
        else:
            while cl.load_acquire(flag, 0) != 2:
                pass
            out[t] = data[31 - t]
    elif slip == "another block's store" and t == 0:
        while cl.load_relaxed(flag, 0) != 1:
            pass
        cl.store_relaxed(flag, 0, 2)


@cl.kernel(block=64)
def loaded(src: TmaTensor[f32, (32, 32), (8, 32)], out: Tensor[f32, (32, 32)], slip: Constexpr[str]) -> None:
    """All threads wait for tiles that come to one place, each in its own way."""
    tile, full, t = cl.tma_shared(src), barriers(1), cl.thread_idx.x
    cl.syncthreads()
    for n in range(4):
        if t == 0:
            if slip == "expects behind its arrival":
                full[0].arrive()
                full[0].expect_tx(src.tile_bytes)
            elif slip == "expects before its arrival":
                full[0].expect_tx(src.tile_bytes)
                full[0].arrive()
            else:
                full[0].arrive_expect_tx(src.tile_bytes)
            cl.tma_load(src, tile, at=(8 * n, 0), barrier=full[0])
        if slip == "tries once":
            full[0].try_wait(n % 2)
        elif slip == "polls":
            while not full[0].test_wait(n % 2):
                pass
        elif slip.startswith("a lane waits"):
            if t % 32 == 0:
                full[0].wait(n % 2)
            if slip == "a lane waits, and they vote":
                cl.vote_any(t > 3)
            elif slip == "a lane waits, and they meet":
                cl.syncwarp()
        else:
            full[0].wait(n % 2, relaxed=slip == "relaxed")
        for i in cl.static_range(4):
            out[8 * n + (t + 64 * i) // 32, t % 32] = tile[(t + 64 * i) // 32, t % 32]
        cl.syncthreads()


@cl.kernel(block=64)
def kept(src: TmaTensor[f32, (48, 32), (8, 32)], out: Tensor[f32, (48, 32)], slip: Constexpr[str]) -> None:
    """Two work items of three tiles each through a ring of two: where it stands is kept from one to the next."""
    tiles, t = cl.tma_shared(src, 2), cl.thread_idx.x
    full, empty = cl.shared(cl.mbarrier, (2,)), cl.shared(cl.mbarrier, (2,))
    if t == 0:
        for s in cl.static_range(2):
            full[s].init(1)
            empty[s].init(32)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    if t < 32:
        if t == 0:
            state = PipelineState.producer(2)
            for n in range(6):
                if slip == "the producer begins anew" and n == 3:
                    state = PipelineState.producer(2)
                empty[state.index].wait(state.phase)
                full[state.index].arrive_expect_tx(src.tile_bytes)
                cl.tma_load(src, tiles[state.index, None, None], at=(8 * n, 0), barrier=full[state.index])
                state = state.advance()
    else:
        state = PipelineState.consumer(2)
        for n in range(6):
            if slip == "the consumer begins anew" and n == 3:
                state = PipelineState.consumer(2)
            full[state.index].wait(state.phase)
            for i in cl.static_range(8):
                out[8 * n + i, t - 32] = tiles[state.index, i, t - 32]
            empty[state.index].arrive()
            state = state.advance()


@cl.kernel(block=32, cluster=2)
def handed(out: Tensor[i32, (2, 32)], slip: Constexpr[str]) -> None:
    """Each block writes into the other's memory, and tells it by the cluster's barrier, or by an mbarrier."""
    row, bar, t, rank = cl.shared(i32, (32,)), barriers(1), cl.thread_idx.x, cl.block_rank_in_cluster()
    row[t] = -1
    cl.cluster_sync()
    cl.mapa(row, 1 - rank)[t] = 100 * rank + t
    if "relaxed" in slip:
        cl.fence("cta" if slip == "relaxed, behind a fence of the block" else "cluster")
        cl.cluster_arrive(relaxed=True)
        cl.cluster_wait()
    elif slip:
        if slip != "no syncwarp":
            cl.syncwarp()
        if t == 0:
            bar[0].remote(rank if slip == "told at home" else 1 - rank).arrive()
        bar[0].wait(0, cluster=slip != "a wait of the block's scope")
    else:
        cl.cluster_sync()
    out[rank, t] = row[31 - t]
    cl.cluster_sync()


@cl.kernel(block=256)
def multiplied(
    a: TmaTensor[bf16, (64, 256), (64, 64)], b: TmaTensor[bf16, (64, 256), (64, 64)],
    out: Tensor[f32, (2, 64, 64)], slip: Constexpr[str],
) -> None:  # fmt: skip
    """Two warpgroups multiply the same tiles, of which one thread brings the next when both have freed a stage."""
    tiles, others = cl.tma_shared(a, 2), cl.tma_shared(b, 2)
    full, empty, t = cl.shared(cl.mbarrier, (2,)), cl.shared(cl.mbarrier, (2,)), cl.thread_idx.x
    if t == 0:
        for s in cl.static_range(2):
            full[s].init(1)
            empty[s].init(1 if slip == "freed by one" else 2)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    group, acc = cl.warpgroup_idx(), cl.wgmma.zeros_accumulator(64)
    for k in cl.static_range(4):
        s = k % 2
        for n in cl.static_range(2 * (k == 0) + (0 < k < 3)):
            if t == 0:
                ahead = k + 1 if k else n
                if ahead >= 2:
                    empty[ahead % 2].wait(0)
                full[ahead % 2].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
                cl.tma_load(a, tiles[ahead % 2, None, None], at=(0, 64 * ahead), barrier=full[ahead % 2])
                cl.tma_load(b, others[ahead % 2, None, None], at=(0, 64 * ahead), barrier=full[ahead % 2])
        full[s].wait(k // 2)
        run = cl.wgmma.mma_async(tiles[s, None, None], others[s, None, None], acc)
        cl.wgmma.commit_group()
        if slip == "freed before the wait" and t % 128 == 0:
            empty[s].arrive()
        acc = cl.wgmma.wait_group(0, run)
        if t == 0 if slip == "freed by one" else t % 128 == 0 and slip != "freed before the wait":
            empty[s].arrive()
    cl.wgmma.partition(out[group, None, None]).store(acc)


INTS, ONES = zeros(32, dtype=np.int32), np.ones((64, 256), ml_dtypes.bfloat16)
FLAG = zeros(1, dtype=np.int32)
CASES: dict[Any, tuple[int, tuple[Any, ...], str, str]] = {
    exchanged: (2, (zeros(2, 32, dtype=np.int32),), "", "waits for groups|its own has come"),
    flagged: (
        1, (zeros(3, 32, dtype=np.int32),), "|volatile behind a fence|one lane polls",
        "volatile|released before all have written|freed before all have read|one lane polls, and they go on",
    ),
    stored: (1, (zeros(8, 32),), "|the one|another, and they meet", "the one before all have written|another"),
    relayed: (
        2, (zeros(8, 32), FLAG, zeros(8, 32)), "",
        "has been read, not written|told by a relaxed store|seen by a relaxed load",
    ),
    written: (
        2, (zeros(256), FLAG, zeros(256)), "|the one that tells|the reader's|another lane's, and they meet",
        "none|of shared memory|behind the flag|the reader's, too early|another lane's",
    ),
    staged: (
        1, (np.arange(1024, dtype=np.float32), zeros(1024)), "",
        "one more may be left|no barrier|over what is read|no empty groups",
    ),
    counted: (1, (ROWS.reshape(-1), zeros(256)), "|beside threads", "threads arrive|alone, counted as beside threads"),
    released: (3, (INTS, FLAG, INTS), "|an atomic", "another block's store|a lane told by a shuffle"),
    loaded: (
        1, (np.tile(ROWS, (4, 1)), zeros(32, 32)),
        "|expects before its arrival|polls|a lane waits, and they meet",
        "expects behind its arrival|tries once|relaxed|a lane waits, and they vote|a lane waits, and they go on",
    ),
    kept: (1, (np.tile(ROWS, (6, 1)), zeros(48, 32)), "", "the producer begins anew|the consumer begins anew"),
    handed: (
        2, (zeros(2, 32, dtype=np.int32),), "|relaxed, behind a fence|one lane",
        "relaxed, behind a fence of the block|told at home|a wait of the block's scope|no syncwarp",
    ),
    multiplied: (1, (ONES, ONES, zeros(2, 64, 64)), "", "freed by one|freed before the wait"),
}  # fmt: skip
SEEDS = {"another block's store": 3}  # of which polls of other schedules see the value before, too, and so are in order


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_slips_of_experts(kernel: Any) -> None:
    grid, arrays, right, wrong = CASES[kernel]
    for slip in right.split("|"):
        found = report(kernel, grid, arrays, slip, [0, 1])
        assert found, f"an alarm of {slip!r}: {found}"
    for number, slip in enumerate(wrong.split("|")):
        assert report(kernel, grid, arrays, slip, [SEEDS.get(slip, number % 2)]).findings, slip
