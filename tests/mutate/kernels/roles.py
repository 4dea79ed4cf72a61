"""Blocks whose warps have roles: some load, some compute, some store, and they synchronise with each other.

Each function without a parameter launches a kernel and compares with NumPy.
"""

import numpy as np
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import PipelineState, Tensor, TmaTensor, bf16, f32, i32

STEPS = 5
STAGES = 2


@cl.kernel(block=96)
def three(src: Tensor[f32, (STEPS, 64)], out: Tensor[f32, (STEPS, 64)]) -> None:
    """One warp loads rows by bulk copies, one computes, one stores them by bulk copies: two rings in a row."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    came, made = cl.shared(f32, (STAGES, 64), align=128), cl.shared(f32, (STAGES, 64), align=128)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    ready, free = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(32)
            ready[s].init(32)
            free[s].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    if warp == 0:
        if lane == 0:
            slot = PipelineState.producer(STAGES)
            for n in range(STEPS):
                empty[slot.index].wait(slot.phase)
                full[slot.index].arrive_expect_tx(256)
                cl.cp_async_bulk(came[slot.index, None], src[n, None], 256, barrier=full[slot.index])
                slot = slot.advance()
    elif warp == 1:
        given, put = PipelineState.consumer(STAGES), PipelineState.producer(STAGES)
        for _ in range(STEPS):
            full[given.index].wait(given.phase)
            a, b = came[given.index, lane], came[given.index, lane + 32]
            empty[given.index].arrive()
            free[put.index].wait(put.phase)
            made[put.index, lane] = a + b
            made[put.index, lane + 32] = a - b
            cl.fence_proxy_async("shared::cta")
            ready[put.index].arrive()
            given, put = given.advance(), put.advance()
    elif lane == 0:
        slot = PipelineState.consumer(STAGES)
        for n in range(STEPS):
            ready[slot.index].wait(slot.phase)
            cl.cp_async_bulk(out[n, None], made[slot.index, None], 256)
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0, read=True)
            free[slot.index].arrive()
            slot = slot.advance()


def three_roles() -> None:
    src = np.arange(STEPS * 64, dtype=np.float32).reshape(STEPS, 64)
    out = np.zeros_like(src)
    three[1, 96](src, out)
    a, b = src[:, :32], src[:, 32:]
    assert (out == np.concatenate([a + b, a - b], 1)).all()


@cl.kernel(block=64)
def pingpong(src: Tensor[i32, (STEPS, 32)], out: Tensor[i32, (STEPS, 32)]) -> None:
    """One warp writes a buffer, the other reads it, in turn: named barriers mean 'written' (1) and 'read' (2)."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    row = cl.shared(i32, (32,))
    for n in range(STEPS):
        if warp == 0:
            if n > 0:
                cl.barrier_sync(2, 64)
            row[lane] = src[n, lane] + 7
            cl.barrier_arrive(1, 64)
        else:
            cl.barrier_sync(1, 64)
            out[n, lane] = row[31 - lane]
            if n + 1 < STEPS:
                cl.barrier_arrive(2, 64)


def named_turns() -> None:
    src = np.arange(STEPS * 32, dtype=np.int32).reshape(STEPS, 32)
    out = np.zeros_like(src)
    pingpong[1, 64](src, out)
    assert (out == src[:, ::-1] + 7).all()


@cl.kernel(block=32)
def buffered(src: Tensor[f32, (STEPS, 32)], out: Tensor[f32, (STEPS, 32)]) -> None:
    """Rows leave by bulk stores from two buffers: a buffer is written again once its store has read it."""
    rows, lane = cl.shared(f32, (2, 32), align=128), cl.thread_idx.x
    for n in range(STEPS):
        if lane == 0:
            cl.cp_async_bulk_wait_group(1, read=True)
        cl.syncwarp()
        rows[n % 2, 31 - lane] = src[n, lane]
        cl.fence_proxy_async("shared::cta")
        cl.syncwarp()
        if lane == 0:
            cl.cp_async_bulk(out[n, None], rows[n % 2, None], 128)
            cl.cp_async_bulk_commit_group()
    if lane == 0:
        cl.cp_async_bulk_wait_group(0)


def two_buffers() -> None:
    src = np.arange(STEPS * 32, dtype=np.float32).reshape(STEPS, 32)
    out = np.zeros_like(src)
    buffered[1, 32](src, out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=128)
def fed(a: Tensor[bf16, (64, 128)], b: Tensor[bf16, (16, 128)], out: Tensor[f32, (64, 16)]) -> None:
    """wgmma on operands that cp.async loads, in steps of 64 along K, with two stages."""
    t = cl.thread_idx.x
    a_ring = cl.shared(bf16, cl.make_smem_layout(bf16, (64, 64, 2)))
    b_ring = cl.shared(bf16, cl.make_smem_layout(bf16, (16, 64, 2)))
    acc = cl.wgmma.zeros_accumulator(16)
    for s in cl.static_range(2):
        for i in cl.static_range(4):
            row, chunk = i * 16 + t // 8, t % 8
            cl.cp_async(a_ring[None, None, s].tile((1, 8), (row, chunk)), a.tile((1, 8), (row, s * 8 + chunk)))
        cl.cp_async(b_ring[None, None, s].tile((1, 8), (t // 8, t % 8)), b.tile((1, 8), (t // 8, s * 8 + t % 8)))
        cl.cp_async_commit_group()
    for s in cl.static_range(2):
        cl.cp_async_wait_group(1 - s)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        acc = cl.wgmma.mma_async(a_ring[None, None, s], b_ring[None, None, s], acc)
        cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)
    cl.wgmma.partition(out).store(acc)


def fed_by_cp_async() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (rows, 128)).astype(bfloat16) for rows in (64, 16))
    out = np.zeros((64, 16), np.float32)
    fed[1, 128](a, b, out)
    assert (out == a.astype(np.float32) @ b.astype(np.float32).T).all()


@cl.kernel(block=64)
def counted(src: Tensor[i32, (STEPS, 32)], out: Tensor[i32, (STEPS, 32)]) -> None:
    """A warp copies by cp.async, whose completion arrives on `full`; the other reads, and arrives on `empty`."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    ring = cl.shared(i32, (STAGES, 32))
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(32)
            empty[s].init(1)
    cl.syncthreads()
    if warp == 0:
        slot = PipelineState.producer(STAGES)
        for n in range(STEPS):
            empty[slot.index].wait(slot.phase)
            cl.cp_async(ring.at(slot.index, lane), src.at(n, lane), 4)
            full[slot.index].arrive_after_copies()
            slot = slot.advance()
    else:
        slot = PipelineState.consumer(STAGES)
        for n in range(STEPS):
            full[slot.index].wait(slot.phase)
            out[n, lane] = ring[slot.index, 31 - lane]
            cl.syncwarp()
            if lane == 0:
                empty[slot.index].arrive()
            slot = slot.advance()


def arrivals_of_copies() -> None:
    src = np.arange(STEPS * 32, dtype=np.int32).reshape(STEPS, 32)
    out = np.zeros_like(src)
    counted[1, 64](src, out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=64)
def twice(src: Tensor[f32, (2, 64)], out: Tensor[f32, (2, 64)]) -> None:
    """An mbarrier is invalidated, initialised again with another count, and the same row is filled once more."""
    t = cl.thread_idx.x
    row, bar = cl.shared(f32, (64,), align=128), cl.shared(cl.mbarrier, (1,))
    for n in cl.static_range(2):
        if t == 0:
            bar[0].init(1 + n)
            cl.fence_mbarrier_init()
        cl.syncthreads()
        if t == 0:
            bar[0].arrive_expect_tx(256)
            cl.cp_async_bulk(row, src[n, None], 256, barrier=bar[0])
        elif n == 1 and t == 32:
            bar[0].arrive()
        bar[0].wait(0)
        out[n, t] = row[63 - t]
        cl.syncthreads()
        if t == 0:
            bar[0].inval()


def barrier_again() -> None:
    src = np.arange(128, dtype=np.float32).reshape(2, 64)
    out = np.zeros_like(src)
    twice[1, 64](src, out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=384)
def specialised(src: Tensor[f32, (STEPS, 256)], out: Tensor[f32, (STEPS, 256)]) -> None:
    """One warpgroup gives registers back and starts copies; two others take these registers and compute."""
    group, t = cl.thread_idx.x // 128, cl.thread_idx.x % 256
    ring = cl.shared(f32, (STAGES, 256), align=128)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(8)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    if group == 2:
        cl.setmaxnreg_dec(40)
        if t == 0:
            slot = PipelineState.producer(STAGES)
            for n in range(STEPS):
                empty[slot.index].wait(slot.phase)
                full[slot.index].expect_tx(1024)
                cl.cp_async_bulk(ring[slot.index, None], src[n, None], 1024, barrier=full[slot.index])
                full[slot.index].arrive()
                slot = slot.advance()
    else:
        cl.setmaxnreg_inc(232)
        slot = PipelineState.consumer(STAGES)
        for n in range(STEPS):
            full[slot.index].wait(slot.phase)
            x = ring[slot.index, 255 - t]
            cl.syncwarp()
            if t % 32 == 0:
                empty[slot.index].arrive()
            out[n, t] = x * 2
            slot = slot.advance()


def registers_move() -> None:
    src = np.arange(STEPS * 256, dtype=np.float32).reshape(STEPS, 256)
    out = np.zeros_like(src)
    specialised[1, 384](src, out)
    assert (out == src[:, ::-1] * 2).all()


@cl.kernel(block=64)
def shuffled(src: Tensor[i32, (4, 32)], out: Tensor[i32, (4, 32)]) -> None:
    """Each warp transposes 4 x 8 numbers through its own shared memory, again and again; lanes exchange by shuffles."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    own = cl.shared(i32, (2, 32))
    for n in range(2):
        x = src[2 * n + warp, lane]
        own[warp, lane % 8 * 4 + lane // 8] = x + cl.shuffle_xor(x, 1)
        cl.syncwarp()
        y = own[warp, lane]
        cl.syncwarp()
        out[2 * n + warp, lane] = y


def within_warps() -> None:
    src = np.arange(128, dtype=np.int32).reshape(4, 32)
    out = np.zeros_like(src)
    shuffled[1, 64](src, out)
    pairs = src.reshape(4, 16, 2).sum(2).repeat(2, 1)
    assert (out == pairs.reshape(4, 4, 8).transpose(0, 2, 1).reshape(4, 32)).all()


@cl.kernel(block=64)
def polled(src: Tensor[f32, (3, 32)], out: Tensor[f32, (3, 32)]) -> None:
    """One warp polls until a row has come, the other until the row before it has been read."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    row, full, empty = cl.shared(f32, (32,), align=128), cl.shared(cl.mbarrier, (1,)), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        empty[0].init(32)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for n in range(3):
        phase = n % 2
        if warp == 0:
            if lane == 0:
                while not empty[0].test_wait(1 - phase):
                    pass
                full[0].arrive_expect_tx(128)
                cl.cp_async_bulk(row, src[n, None], 128, barrier=full[0])
        else:
            while not full[0].try_wait(phase):
                pass
            out[n, lane] = row[31 - lane]
            empty[0].arrive()


def asked_for() -> None:
    src = np.arange(96, dtype=np.float32).reshape(3, 32)
    out = np.zeros_like(src)
    polled[1, 64](src, out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=128)
def leaving(out: Tensor[i32, (4, 32)]) -> None:
    """Warps write in turn, each in one phase less than the one before: a warp that is done drops out of the barrier."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    sums, bar = cl.shared(i32, (4, 32)), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        bar[0].init(128)
    cl.syncthreads()
    sums[warp, lane] = cl.thread_idx.x
    for n in cl.static_range(3):
        if warp == 3 - n:
            bar[0].arrive_drop()
        elif warp < 3 - n:
            bar[0].arrive()
            bar[0].wait(n % 2)
            if warp == 2 - n:
                sums[warp, lane] = sums[warp, lane] + sums[warp + 1, 31 - lane]
    out[warp, lane] = sums[warp, lane]


def fewer_and_fewer() -> None:
    out = np.zeros((4, 32), np.int32)
    leaving[1, 128](out)
    sums = np.arange(128, dtype=np.int32).reshape(4, 32)
    for warp in (2, 1, 0):
        sums[warp] += sums[warp + 1, ::-1]
    assert (out == sums).all()


@cl.kernel(block=64)
def reduced(
    src: Tensor[f32, (4, 8, 32)], total: TmaTensor[f32, (8, 32), (8, 32)], sums: Tensor[f32, (8, 32)],
    count: Tensor[i32, (1,)], out: Tensor[f32, (8, 32)],
) -> None:  # fmt: skip
    """Blocks add up their tiles by TMA; the last one reads the sums by ordinary loads."""
    t = cl.thread_idx.x
    tile, last = cl.tma_shared(total), cl.shared(i32, (1,))
    for i in cl.static_range(4):
        tile[i * 2 + t // 32, t % 32] = src[cl.block_idx.x, i * 2 + t // 32, t % 32]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if t == 0:
        cl.tma_reduce(tile, total, "add", at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
        last[0] = cl.atomic_add(count, 0, 1, semantic="acq_rel")
    cl.syncthreads()
    if last[0] == cl.grid_dim.x - 1:
        for i in cl.static_range(4):
            out[i * 2 + t // 32, t % 32] = sums[i * 2 + t // 32, t % 32]


def tma_sums() -> None:
    src = np.arange(4 * 8 * 32, dtype=np.float32).reshape(4, 8, 32)
    sums, out = np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32)
    reduced[4, 64](src, sums, sums, np.zeros(1, np.int32), out)
    assert (out == src.sum(0)).all()


@cl.kernel(block=64)
def by_both(src: Tensor[f32, (8, 32)], total: TmaTensor[f32, (8, 32), (8, 32)], sums: Tensor[f32, (8, 32)]) -> None:
    """A block adds to the same numbers by threads, then by TMA, then by threads again."""
    t = cl.thread_idx.x
    tile = cl.tma_shared(total)
    for i in cl.static_range(4):
        tile[i * 2 + t // 32, t % 32] = src[i * 2 + t // 32, t % 32]
    cl.atomic_add(sums, (t // 32, t % 32), 1.0)
    cl.fence_proxy_async()
    cl.syncthreads()
    if t == 0:
        cl.tma_reduce(tile, total, "add", at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
    cl.syncthreads()
    cl.atomic_add(sums, (7 - t // 32, t % 32), 1.0)


def sums_by_both() -> None:
    src = np.arange(8 * 32, dtype=np.float32).reshape(8, 32)
    sums = np.zeros_like(src)
    by_both[1, 64](src, sums, sums)
    ones = np.ones((8, 1), np.float32)
    ones[2:6] = 0
    assert (sums == src + ones).all()


@cl.kernel(block=64)
def dependent(before: Tensor[f32, (64,)], weights: Tensor[f32, (64,)], out: Tensor[f32, (64,)]) -> None:
    """Overlaps with the previous kernel: reads constant weights early, and that kernel's results after the wait."""
    t = cl.thread_idx.x
    row = cl.shared(f32, (64,))
    row[t] = weights.load(t, cache="nc")
    cl.griddepcontrol_launch_dependents()
    cl.syncthreads()
    cl.griddepcontrol_wait()
    out[t] = before[t] * row[63 - t]


def overlapping_launch() -> None:
    before, weights = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32) + 1
    out = np.zeros_like(before)
    dependent[cl.Launch(1, 64, pdl=True)](before, weights, out)
    assert (out == before * weights[::-1]).all()


@cl.kernel(block=64)
def tokens(src: Tensor[i32, (STEPS, 64)], out: Tensor[i32, (STEPS, 64)]) -> None:
    """All threads write, arrive, and wait by the arrival's state for the phase that it was in; bytes are counted."""
    t = cl.thread_idx.x
    row, bar = cl.shared(i32, (2, 64)), cl.shared(cl.mbarrier, (1,))
    if t == 0:
        bar[0].init(65)
    cl.syncthreads()
    for n in range(STEPS):
        row[n % 2, t] = src[n, t] + 1
        if t == 32:
            bar[0].expect_tx(64)
            bar[0].complete_tx(64)
            state = bar[0].arrive(2)
        else:
            state = bar[0].arrive()
        bar[0].wait(state)
        out[n, t] = row[n % 2, 63 - t]


def states_of_phases() -> None:
    src = np.arange(STEPS * 64, dtype=np.int32).reshape(STEPS, 64)
    out = np.zeros_like(src)
    tokens[1, 64](src, out)
    assert (out == src[:, ::-1] + 1).all()


@cl.kernel(block=64)
def transposed(src: TmaTensor[bf16, (64, 64), (16, 64)], out: TmaTensor[bf16, (64, 64), (16, 64)]) -> None:
    """TMA loads tiles, two warps move them by ldmatrix and stmatrix to another buffer, and TMA stores them."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    came, made = cl.tma_shared(src), cl.tma_shared(out, 2)
    full = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for n in range(4):
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(src.tile_bytes)
            cl.tma_load(src, came, at=(n * 16, 0), barrier=full[0])
            cl.cp_async_bulk_wait_group(1, read=True)
        full[0].wait(n % 2)
        cl.syncthreads()
        target = made[n % 2, None, None]
        for m in cl.static_range(2):
            row, chunk = lane % 16, warp * 4 + m * 2 + lane // 16
            held = cl.ldmatrix(came.tile((1, 8), (row, chunk)))
            cl.stmatrix(target.tile((1, 8), (15 - row, chunk)), held)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        if cl.thread_idx.x == 0:
            cl.tma_store(target, out, at=(n * 16, 0))
            cl.cp_async_bulk_commit_group()
    if cl.thread_idx.x == 0:
        cl.cp_async_bulk_wait_group(0)


def matrices_through_tma() -> None:
    src = (np.arange(64 * 64) % 251).reshape(64, 64).astype(bfloat16)
    out = np.zeros_like(src)
    transposed[1, 64](src, out)
    assert (out.reshape(4, 16, 64) == src.reshape(4, 16, 64)[:, ::-1]).all()
