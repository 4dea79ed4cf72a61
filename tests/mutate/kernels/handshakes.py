"""Blocks that hand data to each other through global memory: queues, locks, scans, tiles for the next free block.

Each function without a parameter launches a kernel and compares with NumPy.
"""

import numpy as np

import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")
SLOTS = 2


@cl.kernel(block=32)
def queue(
    src: Tensor[i32, (6, 32)], ring: Tensor[i32, (SLOTS, 32)], out: Tensor[i32, (6, 32)], ends: Tensor[i32, (2,)]
) -> None:
    """Block 0 puts rows into a ring, block 1 takes them out; `ends` counts rows that were taken, and rows put."""
    lane = cl.thread_idx.x
    for n in range(6):
        if cl.block_idx.x == 0:
            if lane == 0:
                while cl.load_acquire(ends, 0) + SLOTS <= n:
                    pass
            cl.syncwarp()
            ring[n % SLOTS, lane] = src[n, lane] * 3
            cl.syncwarp()
            if lane == 0:
                cl.store_release(ends, 1, n + 1)
        else:
            if lane == 0:
                while cl.load_acquire(ends, 1) <= n:
                    pass
            cl.syncwarp()
            out[n, lane] = ring[n % SLOTS, lane]
            cl.syncwarp()
            if lane == 0:
                cl.store_release(ends, 0, n + 1)


def single_queue() -> None:
    src = np.arange(6 * 32, dtype=np.int32).reshape(6, 32)
    out = np.zeros_like(src)
    queue[2, 32](src, np.zeros((SLOTS, 32), np.int32), out, np.zeros(2, np.int32))
    assert (out == src * 3).all()


@cl.kernel(block=32)
def gathering(
    slots: Tensor[i32, (8, 32)], ready: Tensor[i32, (8,)], tail: Tensor[i32, (1,)], out: Tensor[i32, (32,)]
) -> None:
    """Three blocks take places of a queue by a counter and fill them; the last block sums up what comes."""
    lane = cl.thread_idx.x
    place = cl.shared(i32, (1,))
    if cl.block_idx.x < 3:
        for n in range(2):
            if lane == 0:
                place[0] = cl.atomic_add(tail, 0, 1)
            cl.syncthreads()
            slots[place[0], lane] = 100 * cl.block_idx.x + 10 * n + lane
            cl.syncthreads()
            if lane == 0:
                cl.fence("gpu")
                cl.store_relaxed(ready, place[0], 1)
    else:
        total = i32(0)
        for n in range(6):
            if lane == 0:
                while cl.load_relaxed(ready, n) == 0:
                    pass
                cl.fence("gpu")
            cl.syncwarp()
            total += slots[n, lane]
        out[lane] = total


def many_producers() -> None:
    out = np.zeros(32, np.int32)
    gathering[4, 32](np.zeros((8, 32), np.int32), np.zeros(8, np.int32), np.zeros(1, np.int32), out)
    assert (out == 2 * 300 + 3 * 10 + 6 * np.arange(32)).all()


@cl.kernel(block=32)
def ticketed(turn: Tensor[i32, (2,)], held: Tensor[i32, (32,)]) -> None:
    """Each block draws a ticket, waits for its turn, and then updates memory by plain loads and stores."""
    lane = cl.thread_idx.x
    for _ in range(2):
        ticket = i32(0)
        if lane == 0:
            ticket = cl.atomic_add(turn, 0, 1)
            while cl.load_acquire(turn, 1) != ticket:
                pass
        cl.syncwarp()
        held[lane] = held[lane] * 2 + 1
        cl.syncwarp()
        if lane == 0:
            cl.store_release(turn, 1, ticket + 1)


def turnstile() -> None:
    held = np.zeros(32, np.int32)
    ticketed[3, 32](np.zeros(2, np.int32), held)
    assert (held == 63).all()


@cl.kernel(block=32)
def locked(lock: Tensor[i32, (1,)], held: Tensor[i32, (2,)]) -> None:
    """One thread of each block takes a lock by compare and swap, and gives it back by an exchange."""
    if cl.thread_idx.x == 0:
        for _ in range(2):
            while cl.atomic_cas(lock, 0, 0, 1, semantic="acquire") != 0:
                pass
            before = held[0]
            held[1] = held[1] + before
            held[0] = before + 1
            cl.atomic_exch(lock, 0, 0, semantic="release")


def spin_lock() -> None:
    held = np.zeros(2, np.int32)
    locked[3, 32](np.zeros(1, np.int32), held)
    assert held.tolist() == [6, 15]


@cl.kernel(block=64)
def summed(src: Tensor[f32, (N,)], parts: Tensor[f32, (4,)], count: Tensor[i32, (1,)], out: Tensor[f32, (1,)]) -> None:
    """The block that is done last adds the parts of all."""
    t = cl.thread_idx.x
    both, last = cl.shared(f32, (2,)), cl.shared(i32, (1,))
    x = cl.warp_reduce(src[cl.block_idx.x * 64 + t], "add")
    if t % 32 == 0:
        both[t // 32] = x
    cl.syncthreads()
    if t == 0:
        parts[cl.block_idx.x] = both[0] + both[1]
        cl.fence("gpu")
        last[0] = cl.atomic_add(count, 0, 1)
        cl.fence("gpu")
    cl.syncthreads()
    if last[0] == cl.grid_dim.x - 1 and t == 0:
        total = f32(0)
        for i in cl.static_range(4):
            total += parts[i]
        out[0] = total


def last_block() -> None:
    src, out = np.arange(256, dtype=np.float32), np.zeros(1, np.float32)
    summed[4, 64](src, np.zeros(4, np.float32), np.zeros(1, np.int32), out)
    assert out[0] == src.sum()


NOTHING, OWN, ALL = 0, 1, 2


@cl.kernel(block=32)
def scanned(
    src: Tensor[i32, (N,)],
    out: Tensor[i32, (N,)],
    state: Tensor[i32, (8,)],
    own: Tensor[i32, (8,)],
    all: Tensor[i32, (8,)],
) -> None:
    """Prefix sums in one pass: each block adds up what earlier blocks published, back to one with a full prefix."""
    lane, block = cl.thread_idx.x, cl.block_idx.x
    x = src[block * 32 + lane]
    for step in cl.static_range(5):
        below = cl.shuffle_up(x, 1 << step)
        if lane >= 1 << step:
            x = x + below
    whole = cl.shuffle(x, 31)
    before = i32(0)
    if lane == 0:
        if block == 0:
            all[0] = whole
            cl.store_release(state, 0, ALL)
        else:
            own[block] = whole
            cl.store_release(state, block, OWN)
            at = block - 1
            seen = i32(NOTHING)
            while seen != ALL:
                seen = cl.load_acquire(state, at)
                if seen == OWN:
                    before += own[at]
                    at -= 1
                elif seen == ALL:
                    before += all[at]
            all[block] = before + whole
            cl.store_release(state, block, ALL)
    out[block * 32 + lane] = x + cl.shuffle(before, 0)


def look_back() -> None:
    src = np.arange(4 * 32, dtype=np.int32) % 7
    out = np.zeros_like(src)
    scanned[4, 32](src, out, *(np.zeros(8, np.int32) for _ in range(3)))
    assert (out == np.cumsum(src)).all()


@cl.kernel(block=64)
def taken(src: Tensor[i32, (7, 64)], out: Tensor[i32, (7, 64)], next: Tensor[i32, (1,)]) -> None:
    """Blocks stay, and take the next tile from a counter until there is none; threads exchange what they loaded."""
    t = cl.thread_idx.x
    tile, row = cl.shared(i32, (1,)), cl.shared(i32, (64,))
    more = cl.boolean(True)
    while more:
        if t == 0:
            tile[0] = cl.atomic_add(next, 0, 1)
        cl.syncthreads()
        at = tile[0]
        more = at < 7
        if more:
            row[t] = src[at, t]
        cl.syncthreads()
        if more:
            out[at, t] = row[63 - t]


def tile_counter() -> None:
    src = np.arange(7 * 64, dtype=np.int32).reshape(7, 64)
    out = np.zeros_like(src)
    taken[3, 64](src, out, np.zeros(1, np.int32))
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=32, cluster=2)
def forwarded(buffer: Tensor[i32, (2, 32)], flag: Tensor[i32, (1,)], out: Tensor[i32, (2, 32)]) -> None:
    """The first cluster writes, meets, and one of its threads raises a flag, which one of the second cluster awaits."""
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if cl.block_idx.x < 2:
        buffer[rank, lane] = 1000 * rank + lane
        cl.cluster_sync()
        if rank == 0 and lane == 0:
            cl.store_release(flag, 0, 1)
    else:
        if rank == 1 and lane == 0:
            while cl.load_acquire(flag, 0) == 0:
                pass
        cl.cluster_sync()
        out[rank, lane] = buffer[1 - rank, 31 - lane]


def between_clusters() -> None:
    out = np.zeros((2, 32), np.int32)
    forwarded[4, 32](np.zeros((2, 32), np.int32), np.zeros(1, np.int32), out)
    assert (out == (1000 * np.arange(2)[:, None] + np.arange(32))[::-1, ::-1]).all()


@cl.kernel(block=32)
def stencil(a: Tensor[i32, (2, 32)], b: Tensor[i32, (2, 32)], met: Tensor[i32, (1,)]) -> None:
    """All blocks meet between steps, each of which reads what the other blocks wrote in the one before."""
    lane, block = cl.thread_idx.x, cl.block_idx.x
    for step in cl.static_range(3):
        src, dst = (b, a) if step % 2 else (a, b)
        dst[block, lane] = src[block, lane] + src[1 - block, lane] * 2
        if step == 2:
            return
        cl.syncthreads()
        if lane == 0:
            cl.red(met, 0, "add", 1, semantic="release")
            while cl.load_acquire(met, 0) < 2 * (step + 1):
                pass
        cl.syncthreads()


def grid_barrier() -> None:
    a = np.arange(64, dtype=np.int32).reshape(2, 32)
    wanted, b = a, np.zeros_like(a)
    for _ in range(3):
        wanted = wanted + 2 * wanted[::-1]
    stencil[2, 32](a, b, np.zeros(1, np.int32))
    assert (b == wanted).all()


@cl.kernel(block=64)
def stolen(out: Tensor[i32, (8,)]) -> None:
    """Two warps take work from a queue in shared memory, which the first lane of warp 0 fills at the same time."""
    work, tail, head = cl.shared(i32, (8,)), cl.shared(i32, (1,)), cl.shared(i32, (1,))
    t = cl.thread_idx.x
    if t == 0:
        tail[0] = 0
        head[0] = 0
    cl.syncthreads()
    if t == 0:
        for n in range(8):
            work[n] = n * n
            cl.store_release(tail, 0, n + 1, scope="cta")
    elif t % 32 == 1:
        mine = cl.atomic_add(head, 0, 1, scope="cta")
        while mine < 8:
            while cl.load_acquire(tail, 0, scope="cta") <= mine:
                pass
            out[mine] = work[mine] + 1
            mine = cl.atomic_add(head, 0, 1, scope="cta")


def shared_queue() -> None:
    out = np.zeros(8, np.int32)
    stolen[1, 64](out)
    assert (out == np.arange(8) ** 2 + 1).all()


@cl.kernel(block=64)
def sent(
    src: Tensor[f32, (3, 64)], ring: Tensor[f32, (3, 64)], flags: Tensor[i32, (3,)], out: Tensor[f32, (3, 64)]
) -> None:
    """Rows that threads of one block store and a bulk copy of the other one fetches: a flag, then a proxy fence."""
    t = cl.thread_idx.x
    row, full = cl.shared(f32, (64,), align=128), cl.shared(cl.mbarrier, (1,))
    if t == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for n in range(3):
        if cl.block_idx.x == 0:
            ring[n, t] = src[n, 63 - t]
            cl.syncthreads()
            if t == 0:
                cl.store_release(flags, n, 1)
        else:
            if t == 0:
                while cl.load_acquire(flags, n) == 0:
                    pass
                cl.fence_proxy_async("global")
                full[0].arrive_expect_tx(256)
                cl.cp_async_bulk(row, ring[n, None], 256, barrier=full[0])
            full[0].wait(n % 2)
            out[n, t] = row[t]
            cl.syncthreads()


def between_proxies() -> None:
    src = np.arange(3 * 64, dtype=np.float32).reshape(3, 64)
    out = np.zeros_like(src)
    sent[2, 64](src, np.zeros_like(src), np.zeros(3, np.int32), out)
    assert (out == src[:, ::-1]).all()


@cl.kernel(block=32)
def announced(
    src: Tensor[i32, (32,)], held: Tensor[i32, (32,)], flag: Tensor[i32, (1,)], out: Tensor[i32, (2, 32)]
) -> None:
    """One block writes for two others, who poll a volatile flag: fences do what the flag does not."""
    lane = cl.thread_idx.x
    if cl.block_idx.x == 0:
        held[lane] = src[lane] + 5
        cl.syncwarp()
        if lane == 0:
            cl.fence("gpu", "release")
            cl.store_volatile(flag, 0, 1)
    else:
        while cl.load_volatile(flag, 0) == 0:
            cl.nanosleep(20)
        cl.fence("gpu", "acquire")
        out[cl.block_idx.x - 1, lane] = held[31 - lane]


def volatile_flag() -> None:
    src = np.arange(32, dtype=np.int32)
    out = np.zeros((2, 32), np.int32)
    announced[3, 32](src, np.zeros_like(src), np.zeros(1, np.int32), out)
    assert (out == src[::-1] + 5).all()
